// SPDX-License-Identifier: BSD-3-Clause
//
// Where OpenMP's threads run, as a text by a format: %n or %{thread_num} and so on, with a
// width, a point if it is to stand at the right, and a zero in front to fill it with these.
// Host and processors are those of the node where the thread is.
#include "openmp.h"

#include "front.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { VALUE_MAX = 4096 }; // of a field: processors, each with its number

static const char usual_format[] = "level %L thread %i affinity %A";

static TM_SHARED struct {
    char *format;
    int are_shown; // OMP_DISPLAY_AFFINITY
    int is_read;
} settings;
static tm_mutex settings_mutex;

static char *copy_text(const char *text, size_t length)
{
    char *copy = front_allocate(length + 1);

    if (copy == NULL) {
        front_fatal("no memory for a format of %zu bytes", length);
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

extern __typeof__(getpid) tmf_getpid;

static long read_settings(void)
{
    const char *format = getenv("OMP_AFFINITY_FORMAT");
    const char *shown = getenv("OMP_DISPLAY_AFFINITY");

    (void)!tm_mutex_lock(&settings_mutex);
    if (!settings.is_read) {
        format = format == NULL ? usual_format : format;
        settings.format = copy_text(format, strlen(format));
        settings.are_shown = shown != NULL && (strcasecmp(shown, "true") == 0 ||
                                               strcmp(shown, "1") == 0);
        settings.is_read = 1;
    }
    (void)!tm_mutex_unlock(&settings_mutex);
    return 0;
}

static void await_settings(void)
{
    if (!settings.is_read) {
        FRONT_1(read_settings, 0);
    }
}

const char *openmp_affinity_format(void)
{
    await_settings();
    return settings.format;
}

bool openmp_shows_affinity(void)
{
    await_settings();
    return settings.are_shown;
}

// ---- fields

/** Numbers that are known of the caller; the others its node is asked for. */
enum fact {
    TEAM,
    N_TEAMS,
    LEVEL,
    NUMBER,
    N_THREADS,
    ANCESTOR,
    PROCESS,
    N_FACTS,
    KERNEL_THREAD,
    HOST,
    PROCESSORS,
};

struct facts {
    long numbers[N_FACTS];
};

struct field {
    char letter;
    const char *name;
    enum fact fact;
};

static const struct field fields[] = {
    {'t', "team_num", TEAM},
    {'T', "num_teams", N_TEAMS},
    {'L', "nesting_level", LEVEL},
    {'n', "thread_num", NUMBER},
    {'N', "num_threads", N_THREADS},
    {'a', "ancestor_tnum", ANCESTOR},
    {'H', "host", HOST},
    {'P', "process_id", PROCESS},
    {'i', "native_thread_id", KERNEL_THREAD},
    {'A', "thread_affinity", PROCESSORS},
};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };

/** A text that is cut off where its room ends. */
struct text {
    char *at;
    size_t room;
    size_t length; // of the whole
};

static void add(struct text *text, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, text->length++) {
        if (text->length + 1 < text->room) {
            text->at[text->length] = bytes[i];
        }
    }
}

static void add_many(struct text *text, char byte, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add(text, &byte, 1);
    }
}

static int last_of_run(const cpu_set_t *set, int first)
{
    int last = first;

    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set)) {
        last++;
    }
    return last;
}

// As 0-3,6.
static void put_processors(char *value)
{
    struct text text = {value, VALUE_MAX, 0};
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        CPU_ZERO(&set);
    }
    for (int i = 0; i < CPU_SETSIZE; i++) {
        char run[32];

        if (!CPU_ISSET(i, &set)) {
            continue;
        }
        snprintf(run, sizeof run, "%s%d", text.length > 0 ? "," : "", i);
        add(&text, run, strlen(run));
        if (last_of_run(&set, i) > i) {
            i = last_of_run(&set, i);
            snprintf(run, sizeof run, "-%d", i);
            add(&text, run, strlen(run));
        }
    }
    value[text.length < VALUE_MAX ? text.length : VALUE_MAX - 1] = '\0';
}

// @param field  NULL: none is named so @return is it a number?
static bool put_value(char *value, const struct field *field,
                      const struct facts *facts)
{
    const enum fact fact = field == NULL ? N_FACTS : field->fact;

    switch (fact) {
    case N_FACTS:
        snprintf(value, VALUE_MAX, "undefined");
        return false;
    case HOST:
        if (gethostname(value, VALUE_MAX) != 0) {
            value[0] = '\0';
        }
        return false;
    case PROCESSORS:
        put_processors(value);
        return false;
    default:
        snprintf(value, VALUE_MAX, "%ld",
                 fact == KERNEL_THREAD ? (long)gettid() : facts->numbers[fact]);
        return true;
    }
}

/** What stands between % and the letter. */
struct shape {
    bool has_zeros;
    bool is_right;
    size_t width;
};

static void add_value(struct text *text, const struct field *field,
                      struct shape shape, const struct facts *facts)
{
    char value[VALUE_MAX];
    const bool is_number = put_value(value, field, facts);
    const size_t length = strlen(value);
    const size_t n = length < shape.width ? shape.width - length : 0;
    const bool has_zeros = shape.has_zeros && shape.is_right && is_number;
    const bool has_sign = has_zeros && value[0] == '-';

    add(text, value, has_sign);
    add_many(text, has_zeros ? '0' : ' ', shape.is_right ? n : 0);
    add(text, value + has_sign, length - has_sign);
    add_many(text, ' ', shape.is_right ? 0 : n);
}

static struct shape read_shape(const char **at)
{
    struct shape shape = {0};

    shape.has_zeros = **at == '0';
    *at += shape.has_zeros;
    shape.is_right = **at == '.';
    *at += shape.is_right;
    for (; **at >= '0' && **at <= '9' && shape.width < INT_MAX / 10; ++*at) {
        shape.width = shape.width * 10 + (size_t)(**at - '0');
    }
    return shape;
}

static bool is_name_of(const struct field *field, const char *name,
                       size_t length)
{
    return strlen(field->name) == length &&
           strncmp(field->name, name, length) == 0;
}

// A letter, or {a name}. @return NULL: there is none of that name
static const struct field *read_field(const char **at)
{
    const char *first = *at;
    const char *end = *first == '{' ? strchr(first, '}') : NULL;

    *at = end != NULL ? end + 1 : first + (*first != '\0');
    for (unsigned i = 0; i < N_FIELDS; i++) {
        if (end != NULL
                ? is_name_of(&fields[i], first + 1, (size_t)(end - first) - 1)
                : fields[i].letter == *first) {
            return &fields[i];
        }
    }
    return NULL;
}

static void write_text(struct text *text, const char *format,
                       const struct facts *facts)
{
    while (*format != '\0') {
        struct shape shape;

        if (format[0] != '%' || format[1] == '%') {
            add(text, format, 1);
            format += 1 + (format[0] == '%');
            continue;
        }
        format++;
        shape = read_shape(&format);
        add_value(text, read_field(&format), shape, facts);
    }
    if (text->room > 0) {
        text->at[text->length < text->room ? text->length : text->room - 1] =
            '\0';
    }
}

static long show_line(const char *format, const struct facts *facts)
{
    struct text text = {NULL, 0, 0};

    write_text(&text, format, facts);
    text = (struct text){malloc(text.length + 1), text.length + 1, 0};
    if (text.at == NULL) {
        front_fatal("no memory for a text of %zu bytes", text.room);
    }
    write_text(&text, format, facts);
    fprintf(stderr, "%s\n", text.at);
    free(text.at);
    return 0;
}

// ---- calls; formats and buffers are the program's, read and written in its context

static struct facts facts_of_caller(void)
{
    const struct member *member = openmp_self();

    return (struct facts){{
        [TEAM] = member->team_number,
        [N_TEAMS] = member->n_teams > 0 ? member->n_teams : 1,
        [LEVEL] = member->level,
        [NUMBER] = openmp_index(member),
        [N_THREADS] = member->n,
        [ANCESTOR] = member->level == 0
                         ? -1
                         : (long)openmp_rank(member, member->level - 1).number,
        [PROCESS] = tmf_getpid(),
    }};
}

// A copy, to be freed: the format, or if there is none the one that is set.
static char *chosen(const char *format)
{
    char *copy;

    if (format != NULL && *format != '\0') {
        return copy_text(format, strlen(format));
    }
    await_settings();
    front_lock(&settings_mutex);
    copy = copy_text(settings.format, strlen(settings.format));
    front_unlock(&settings_mutex);
    return copy;
}

static size_t copy_out(char *to, size_t room, const char *from)
{
    struct text text = {to, room, 0};

    add(&text, from, strlen(from));
    if (room > 0) {
        to[text.length < room ? text.length : room - 1] = '\0';
    }
    return text.length;
}

void omp_set_affinity_format(const char *format);
void omp_set_affinity_format(const char *format)
{
    char *before;
    char *after = copy_text(format, strlen(format));

    await_settings();
    front_lock(&settings_mutex);
    before = settings.format;
    settings.format = after;
    front_unlock(&settings_mutex);
    front_free(before);
}

size_t omp_get_affinity_format(char *buffer, size_t size);
size_t omp_get_affinity_format(char *buffer, size_t size)
{
    char *own = chosen(NULL);
    const size_t length = copy_out(buffer, size, own);

    front_free(own);
    return length;
}

void omp_display_affinity(const char *format)
{
    char *own = chosen(format);
    const struct facts facts = facts_of_caller();

    FRONT_2(show_line, own, &facts);
    front_free(own);
}

static long write_line(struct text *text, const char *format,
                       const struct facts *facts)
{
    write_text(text, format, facts);
    return 0;
}

size_t omp_capture_affinity(char *buffer, size_t size, const char *format);
size_t omp_capture_affinity(char *buffer, size_t size, const char *format)
{
    char *own = chosen(format);
    struct text text = {buffer, size, 0};
    const struct facts facts = facts_of_caller();

    FRONT_3(write_line, &text, own, &facts);
    front_free(own);
    return text.length;
}

// ---- as Fortran has them: texts have a length, and blanks at their end

static char *take_text(const char *from, size_t length)
{
    while (length > 0 && from[length - 1] == ' ') {
        length--;
    }
    return copy_text(from, length);
}

static int give_text(char *to, size_t room, char *from)
{
    const size_t length = strlen(from);
    const size_t n = length < room ? length : room;

    memcpy(to, from, n);
    memset(to + n, ' ', room - n);
    front_free(from);
    return (int)length;
}

void omp_set_affinity_format_(const char *format, size_t length);
void omp_set_affinity_format_(const char *format, size_t length)
{
    char *own = take_text(format, length);

    omp_set_affinity_format(own);
    front_free(own);
}

int omp_get_affinity_format_(char *buffer, size_t room);
int omp_get_affinity_format_(char *buffer, size_t room)
{
    return give_text(buffer, room, chosen(NULL));
}

void omp_display_affinity_(const char *format, size_t length);
void omp_display_affinity_(const char *format, size_t length)
{
    char *own = take_text(format, length);

    omp_display_affinity(own);
    front_free(own);
}

int omp_capture_affinity_(char *buffer, const char *format, size_t room,
                          size_t length);
int omp_capture_affinity_(char *buffer, const char *format, size_t room,
                          size_t length)
{
    char *own = take_text(format, length);
    const size_t all = omp_capture_affinity(NULL, 0, own);
    char *line = front_allocate(all + 1);

    if (line == NULL) {
        front_fatal("no memory for a text of %zu bytes", all);
    }
    omp_capture_affinity(line, all + 1, own);
    front_free(own);
    return give_text(buffer, room, line);
}

// SPDX-License-Identifier: BSD-3-Clause
// Options travel from the command line to every node as variables, so that there
// is one way to read them: the launcher reads them with options_read() before it
// starts anything, and each node reads them again. Each row of options.def names its
// field of struct options and its type, which is a function here that reads such a
// value, and what it may be. What they read with is in base/reading.h; the message about
// a value that is refused is put together in one place.
#include "base/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/reading.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)
#define DAY_S (24u * 60 * 60)

/** Room for the stacks, from ULT_STACKS_BASE on. */
#define STACKS_MAX (2 * TIB)

// ---- types of options: how a value becomes a field

// The field of a row, which is of this type.
#define FIELD(row, options, type)                                              \
    (ensure((row)->size == sizeof(type)),                                      \
     (type *)((char *)(options) + (row)->offset))

static int read_switch(const struct option_row *row, struct reading *reading,
                       struct options *options)
{
    static const char *const names[] = {"0", "1"};

    return reading_word(reading, names, 2,
                        (unsigned *)FIELD(row, options, int));
}

static int read_unsigned(const struct option_row *row, struct reading *reading,
                         struct options *options)
{
    unsigned *field = FIELD(row, options, unsigned);

    if (row->word != NULL && strcmp(reading->text, row->word) == 0) {
        *field = 0;
        return 1;
    }
    if (reading_unsigned(reading, (unsigned)row->low, (unsigned)row->high,
                         field)) {
        return 1;
    }
    if (row->word != NULL) {
        snprintf(reading->allowed, sizeof reading->allowed,
                 "%s, or %ju to %ju%s", row->word, (uintmax_t)row->low,
                 (uintmax_t)row->high, row->unit);
    }
    return 0;
}

static int read_number(const struct option_row *row, struct reading *reading,
                       struct options *options)
{
    return reading_number(reading, row->low, row->high,
                          FIELD(row, options, uint64_t));
}

static int read_bytes(const struct option_row *row, struct reading *reading,
                      struct options *options)
{
    return reading_bytes(reading, row->word, row->low, row->high,
                         FIELD(row, options, uint64_t));
}

// Whole pages.
static int read_size(const struct option_row *row, struct reading *reading,
                     struct options *options)
{
    size_t *field = FIELD(row, options, size_t);
    uint64_t bytes;

    if (!reading_bytes(reading, NULL, row->low, row->high, &bytes)) {
        return 0;
    }
    *field = (bytes + TM_PAGE_SIZE - 1) / TM_PAGE_SIZE * TM_PAGE_SIZE;
    return 1;
}

static int read_path(const struct option_row *row, struct reading *reading,
                     struct options *options)
{
    return reading_path(reading, 1, row->word, (char *)options + row->offset,
                        row->size);
}

static int find_word(const struct option_row *row, struct reading *reading,
                     unsigned *index)
{
    unsigned n = 0;

    while (row->words[n] != NULL) {
        n++;
    }
    return reading_word(reading, row->words, n, index);
}

// An enumeration, in the order of the words.
static int read_words(const struct option_row *row, struct reading *reading,
                      struct options *options)
{
    return find_word(row, reading, FIELD(row, options, unsigned));
}

static int read_name(const struct option_row *row, struct reading *reading,
                     struct options *options)
{
    unsigned index;

    if (!find_word(row, reading, &index)) {
        return 0;
    }
    snprintf((char *)options + row->offset, row->size, "%s", row->words[index]);
    return 1;
}

static int read_own(const struct option_row *row, struct reading *reading,
                    struct options *options)
{
    return row->parse(reading, options);
}

// ---- options that are of no type

static int parse_speed(struct reading *reading, struct options *options)
{
    if (strcmp(reading->text, "auto") == 0) {
        options->speed = 0;
        return 1;
    }
    if (parse_decimal(reading->text, &options->speed) == TM_OK &&
        options->speed >= SPEED_MIN && options->speed <= SPEED_MAX) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed, "auto, or %g to %.0f",
             SPEED_MIN, SPEED_MAX);
    return 0;
}

static int parse_share(struct reading *reading, struct options *options)
{
    if (parse_decimal(reading->text, &options->share) == TM_OK &&
        options->share >= SHARE_MIN && options->share <= 1) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed, "%g to 1", SHARE_MIN);
    return 0;
}

#define SKIP(symbol, id, name, no_diffs)

#define PROTOCOL(symbol, id, name, no_diffs) name,
#define BLOCK_PROTOCOL SKIP
static const char *const protocol_names[] = {
#include "base/protocols.def"
    NULL,
};

#define PROTOCOL(symbol, id, name, no_diffs) {id, no_diffs},
#define BLOCK_PROTOCOL SKIP
static const struct {
    tm_protocol id;
    const char *no_diffs;
} protocols[] = {
#include "base/protocols.def"
};

// clang-format off
#define PROTOCOL(symbol, id, name, no_diffs) name ", "
#define BLOCK_PROTOCOL SKIP
static const char protocol_help[] = "consistency protocol: "
#include "base/protocols.def"
    "of memory that names none";
// clang-format on

#define PROTOCOL SKIP
#define BLOCK_PROTOCOL(symbol, id, name, no_diffs) name,
static const char *const block_protocols[] = {
#include "base/protocols.def"
};

enum { N_PROTOCOLS = sizeof protocols / sizeof protocols[0] };

static void refuse_block_protocol(struct reading *reading)
{
    for (unsigned i = 0; i < sizeof block_protocols / sizeof block_protocols[0];
         i++) {
        if (strcmp(reading->text, block_protocols[i]) == 0) {
            snprintf(reading->allowed, sizeof reading->allowed,
                     "one that keeps what teamster.h promises; %s is for "
                     "blocks (tm_alloc_attr.protocol)",
                     block_protocols[i]);
        }
    }
}

static int parse_protocol(struct reading *reading, struct options *options)
{
    unsigned index;

    if (!reading_word(reading, protocol_names, N_PROTOCOLS, &index)) {
        refuse_block_protocol(reading);
        return 0;
    }
    options->protocol = protocols[index].id;
    return 1;
}

static int parse_swap_dir(struct reading *reading, struct options *options)
{
    const int is_whole =
        reading->text[0] == '/' || strcmp(reading->text, "auto") == 0;

    return reading_path(reading, is_whole, "auto, or a path from / on",
                        options->swap_dir, sizeof options->swap_dir);
}

// "A-B", or one port.
static int parse_port_range(struct reading *reading, struct options *options)
{
    unsigned first = 0;
    unsigned last = 0;
    int n = 0;

    if (strcmp(reading->text, "any") != 0) {
        if (sscanf(reading->text, "%5u%n-%5u%n", &first, &n, &last, &n) == 1) {
            last = first;
        }
        if (!isdigit((unsigned char)reading->text[0]) || first < 1 ||
            reading->text[n] != '\0' || last < first || last > UINT16_MAX) {
            snprintf(reading->allowed, sizeof reading->allowed,
                     "any, or A-B with ports from 1 to 65535");
            return 0;
        }
    }
    options->port_range.first = (uint16_t)first;
    options->port_range.last = (uint16_t)last;
    return 1;
}

static int parse_counts(struct reading *reading, struct options *options)
{
    snprintf(reading->allowed, sizeof reading->allowed, "%s",
             THREAD_COUNTS_ALLOWED);
    return thread_counts_read(reading->text, &options->counts);
}

/** "5", "5:FILE", "/3" or "/3:FILE". */
static int parse_track(struct reading *reading, struct options *options)
{
    const char *text = reading->text;
    const char *file = strchr(text, ':');
    char number[16];
    struct reading rest = {.text = number};
    size_t length = file != NULL ? (size_t)(file - text) : strlen(text);

    options->track.repeats = text[0] == '/';
    length -= options->track.repeats;
    snprintf(number, sizeof number, "%.*s", (int)length,
             text + options->track.repeats);
    file = file == NULL ? "" : file + 1;
    snprintf(options->track.file, sizeof options->track.file, "%s", file);
    if (length < sizeof number &&
        reading_unsigned(&rest, 0, 1000000000, &options->track.iteration) &&
        (options->track.iteration >= 3 || strcmp(text, "0") == 0) &&
        strlen(file) < sizeof options->track.file) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed,
             "0, K or /N, from 3 on, :FILE (at most %zu bytes) behind",
             sizeof options->track.file - 1);
    return 0;
}

/** "grid+4096", "grid:story.svg" */
static int parse_story(struct reading *reading, struct options *options)
{
    const char *text = reading->text;
    const size_t n = strcspn(text, ":");
    const char *file = text[n] == ':' ? text + n + 1 : "";
    const char *plus = memchr(text, '+', n);
    char *end = NULL;

    snprintf(options->story.place, sizeof options->story.place, "%.*s", (int)n,
             text);
    snprintf(options->story.file, sizeof options->story.file, "%s", file);
    if (strcmp(text, "none") == 0) {
        options->story.place[0] = '\0';
        return 1;
    }
    if (strncmp(text, "0x", 2) == 0) {
        (void)strtoull(text, &end, 16);
    } else if (plus != NULL && plus[1] >= '0' && plus[1] <= '9') {
        (void)strtoull(plus + 1, &end, 0);
    }
    if (n < sizeof options->story.place &&
        strlen(file) < sizeof options->story.file &&
        (text[n] == '\0' || file[0] != '\0') && plus != text &&
        (end == NULL ? plus == NULL : end == text + n)) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed,
             "NAME, NAME+BYTE or 0xADDRESS, perhaps with :FILE behind");
    return 0;
}

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);

    return n > strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/** A page or a record, by its name. */
static int parse_report(struct reading *reading, struct options *options)
{
    static const char form[] = "none, or a path that ends with .html or .json";

    if (reading_path(reading, 1, form, options->report,
                     sizeof options->report) &&
        (strcmp(reading->text, "none") == 0 ||
         ends_with(reading->text, ".html") ||
         ends_with(reading->text, ".json"))) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed, "%s", form);
    return 0;
}

/** "every=60s" or "every=100". @return 0 if it is neither */
static int parse_every(const char *text, struct checkpoint_option *checkpoint)
{
    static const char every[] = "every=";
    struct reading number;
    char digits[16];
    size_t n;
    int is_time;

    if (strncmp(text, every, sizeof every - 1) != 0) {
        return 0;
    }
    text += sizeof every - 1;
    n = strlen(text);
    is_time = n > 0 && text[n - 1] == 's';
    snprintf(digits, sizeof digits, "%.*s", (int)(n - (size_t)is_time), text);
    number = (struct reading){.text = digits};
    checkpoint->seconds = 0;
    checkpoint->iterations = 0;
    return n - (size_t)is_time < sizeof digits &&
           (is_time ? reading_unsigned(&number, 1, DAY_S, &checkpoint->seconds)
                    : reading_unsigned(&number, 1, UINT32_MAX,
                                       &checkpoint->iterations));
}

/** "every=..." or "compress=...". @return 0 if it is neither */
static int parse_checkpoint_word(const char *text,
                                 struct checkpoint_option *checkpoint)
{
    if (strcmp(text, "compress=auto") == 0 ||
        strcmp(text, "compress=no") == 0) {
        checkpoint->is_compressed = strcmp(text, "compress=auto") == 0;
        return 1;
    }
    return parse_every(text, checkpoint);
}

// What is behind the last comma, again and again. @return 0 if one makes no sense
static int parse_checkpoint_words(char *text,
                                  struct checkpoint_option *checkpoint)
{
    char *comma;

    while ((comma = strrchr(text, ',')) != NULL) {
        *comma = '\0';
        if (!parse_checkpoint_word(comma + 1, checkpoint)) {
            return 0;
        }
    }
    return 1;
}

static int parse_checkpoint(struct reading *reading, struct options *options)
{
    struct checkpoint_option *checkpoint = &options->checkpoint;
    char text[sizeof checkpoint->folder + 64];
    const size_t n = strlen(reading->text);

    *checkpoint = (struct checkpoint_option){.seconds = 60, .is_compressed = 1};
    if (strcmp(reading->text, "none") == 0) {
        return 1;
    }
    if (n < sizeof text) {
        memcpy(text, reading->text, n + 1);
        if (parse_checkpoint_words(text, checkpoint) && text[0] != '\0' &&
            strlen(text) < sizeof checkpoint->folder) {
            memcpy(checkpoint->folder, text, strlen(text) + 1);
            return 1;
        }
    }
    snprintf(
        reading->allowed, sizeof reading->allowed,
        "none, or a folder, perhaps with ,every=Ns (up to a day), ,every=N "
        "or ,compress=auto|no");
    return 0;
}

// Behind parse_checkpoint(): the folder is each node's own (runtime/buddies.c).
static int parse_buddy(struct reading *reading, struct options *options)
{
    struct checkpoint_option *checkpoint = &options->checkpoint;
    const char *text = reading->text;

    options->buddy = 0;
    options->buddy_is_auto = strcmp(text, "auto") == 0;
    options->buddy_is_tried = strcmp(text, OPTIONS_BUDDY_TRIED) == 0;
    if (options->buddy_is_auto || strcmp(text, "off") == 0 ||
        strcmp(text, "none") == 0) {
        return 1;
    }
    options->buddy =
        parse_every(options->buddy_is_tried ? "every=60s" : text, checkpoint);
    snprintf(reading->allowed, sizeof reading->allowed,
             "auto, off, every=Ns (up to a day) or every=N");
    return options->buddy;
}

/** "90s", "5m" or "1h". */
static int parse_checkpoint_before(struct reading *reading,
                                   struct options *options)
{
    static const char units[] = "smh";
    static const unsigned seconds[] = {1, 60, 60 * 60};
    const size_t n = strlen(reading->text);
    const char *unit = n > 1 ? strchr(units, reading->text[n - 1]) : NULL;
    char digits[16];
    struct reading number = {.text = digits};

    snprintf(digits, sizeof digits, "%.*s", (int)n - 1, reading->text);
    options->checkpoint_before = 0;
    if (strcmp(reading->text, "none") == 0) {
        return 1;
    }
    if (unit != NULL && n <= sizeof digits &&
        reading_unsigned(&number, 1, DAY_S / seconds[unit - units],
                         &options->checkpoint_before)) {
        options->checkpoint_before *= seconds[unit - units];
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed,
             "none, or a time up to a day, as 90s, 5m or 1h");
    return 0;
}

static int parse_web(struct reading *reading, struct options *options)
{
    snprintf(reading->allowed, sizeof reading->allowed, "%s",
             WEB_ADDRESS_ALLOWED);
    return web_address_read(reading->text, &options->web);
}

// ---- the table

#define MODEL(name, equations, replacement) name,
static const char *const model_names[] = {
#include "base/models.def"
    NULL,
};

#define POLICY(symbol, name) name,
static const char *const policy_names[] = {
    "none",
#include "base/policies.def"
    NULL,
};

// clang-format off
#define WORD_LIST(...) (const char *const[]){__VA_ARGS__, NULL}
#define OF_A_NODE(...) .owner = OPTION_OF_A_NODE, __VA_ARGS__
#define OF_THE_LAUNCHER(...) .owner = OPTION_OF_THE_LAUNCHER, __VA_ARGS__
#define BARE(value, ...) .bare = (value), __VA_ARGS__
#define SWITCH .read = read_switch
#define UNSIGNED(least, most) .read = read_unsigned, .low = (least), .high = (most)
#define UNSIGNED_OR(zero, least, most, of)                                     \
    UNSIGNED(least, most), .word = (zero), .unit = (of)
#define NUMBER(least, most) .read = read_number, .low = (least), .high = (most)
#define BYTES(zero, least, most)                                               \
    .read = read_bytes, .word = (zero), .low = (least), .high = (most)
#define SIZE(least, most) .read = read_size, .low = (least), .high = (most)
#define PATH(form) .read = read_path, .word = (form)
#define WORDS(...) .read = read_words, .words = WORD_LIST(__VA_ARGS__)
#define NAME(...) .read = read_name, .words = WORD_LIST(__VA_ARGS__)
#define NAME_OF(names) .read = read_name, .words = (names)
#define OWN(function) .read = read_own, .parse = (function)
#define OWN_OF(function, names) OWN(function), .words = (names)

const struct option_row option_rows[] = {
#define OPTION(field, variable, name, letter, argument, default_value, type, help) \
    {name, "TEAMSTER_" #variable, letter, argument, default_value, help,       \
     offsetof(struct options, field), sizeof(((struct options *)0)->field), type},
#include "base/options.def"
#undef OPTION
};
// clang-format on

const unsigned n_option_rows = sizeof option_rows / sizeof option_rows[0];

// ---- reading them

/** Copy a value for a message of one line. */
static void copy_printable(char *text, size_t size, const char *value)
{
    snprintf(text, size, "%s", value);
    for (char *c = text; *c != '\0'; c++) {
        if (iscntrl((unsigned char)*c)) {
            *c = '?';
        }
    }
}

static int read_one(const struct option_row *row, struct options *options,
                    char *error, size_t size)
{
    const char *value = getenv(row->variable);
    int is_set = value != NULL && value[0] != '\0';
    struct reading reading = {.text = is_set ? value : row->default_value};
    char shown[64];

    if (row->read(row, &reading, options)) {
        return 1;
    }
    copy_printable(shown, sizeof shown, reading.text);
    snprintf(error, size, "%s (--%s) is '%s'; allowed: %s", row->variable,
             row->name, shown, reading.allowed);
    return 0;
}

static int stacks_fit(const struct options *options, char *error, size_t size)
{
    char stack_size[24];

    if (options->max_threads <= STACKS_MAX / options->stack_size) {
        return 1;
    }
    size_write(stack_size, sizeof stack_size, options->stack_size);
    snprintf(error, size,
             "TEAMSTER_MAX_THREADS (--max-threads) is '%u'; allowed: 1 to %ju "
             "with TEAMSTER_STACK_SIZE (--stack-size) %s",
             options->max_threads,
             (uintmax_t)(STACKS_MAX / options->stack_size), stack_size);
    return 0;
}

tm_status options_read(struct options *options, char *error, size_t size)
{
    struct options result = {0};

    for (unsigned i = 0; i < n_option_rows; i++) {
        if (!read_one(&option_rows[i], &result, error, size)) {
            return TM_ECONFIG;
        }
    }
    if (!stacks_fit(&result, error, size)) {
        return TM_ECONFIG;
    }
    if (result.buddy && result.recover == 0) {
        result.recover = OPTIONS_BUDDY_RECOVERIES;
    }
    *options = result;
    return TM_OK;
}

int options_contradict(const struct options *options, char *text, size_t size)
{
    unsigned i = 0;

    while (protocols[i].id != options->protocol) {
        i++;
    }
    if (!options->race_check || protocols[i].no_diffs == NULL) {
        return 0;
    }
    snprintf(text, size,
             "--race-check compares diffs, which --protocol=%s does not "
             "make%s; leave one of them out",
             protocol_names[i], protocols[i].no_diffs);
    return 1;
}

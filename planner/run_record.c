// SPDX-License-Identifier: BSD-3-Clause
//
// Records of runs, read and written. The root writes what it has found
// (src/runtime/findings_write.c), the launcher adds "run". A page has its record in it, in an
// element of its own, so a page can be read as well.
//
// Keys that are not known here are let pass: a later version may add some. What is known is
// checked as in profiles (json_in.h).
#include "planner/run_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planner/json_in.h"
#include "planner/profile_read.h"
#include "planner/report_page.h"

#define NUMBER_MOST 1e300
#define FILE_MOST ((size_t)512 << 20)

// ---- texts and numbers of structs ----

/** A number of a struct, by its key. */
struct number_field {
    const char *key;
    size_t offset; ///< of a double
};

#define FIELD(type, name)                                                      \
    {                                                                          \
#name, offsetof(struct type, name)                                     \
    }

static int read_numbers(const struct spot *object,
                        const struct number_field *fields, size_t n,
                        void *target)
{
    for (size_t i = 0; i < n; i++) {
        double value;

        if (!member_number(object, fields[i].key, 0, NUMBER_MOST, &value)) {
            return 0;
        }
        memcpy((char *)target + fields[i].offset, &value, sizeof value);
    }
    return 1;
}

#define READ_NUMBERS(object, fields, target)                                   \
    read_numbers(object, fields, sizeof(fields) / sizeof(fields)[0], target)

static int read_text(const struct spot *object, const char *key,
                     const char **text)
{
    struct spot member;

    if (!spot_member(object, key, JSON_STRING, &member)) {
        return 0;
    }
    *text = json_string_value(member.value);
    return 1;
}

/** Room for the elements of an array; at least one, so that NULL is no memory. */
static void *new_rows(const struct spot *array, size_t size, size_t *n)
{
    *n = json_array_size(array->value);
    return calloc(*n + 1, size);
}

static int refuse_memory(const struct spot *spot)
{
    return spot_refuse(spot, "no memory to read it");
}

// ---- nodes ----

static const struct number_field node_sums[] = {
    FIELD(record_sums, time_s),    FIELD(record_sums, computing_s),
    FIELD(record_sums, paging_s),  FIELD(record_sums, busy_s),
    FIELD(record_sums, release_s), FIELD(record_sums, pages_in),
    FIELD(record_sums, pages_out),
};

static const struct number_field node_stats[] = {
    FIELD(record_stats, n_threads),     FIELD(record_stats, compute_ns),
    FIELD(record_stats, read_faults),   FIELD(record_stats, write_faults),
    FIELD(record_stats, pages_fetched), FIELD(record_stats, pages_served),
    FIELD(record_stats, updates_sent),  FIELD(record_stats, messages_sent),
    FIELD(record_stats, bytes_sent),    FIELD(record_stats, fault_ns),
    FIELD(record_stats, sync_ns),       FIELD(record_stats, memory),
    FIELD(record_stats, resident),      FIELD(record_stats, lack),
    FIELD(record_stats, page_ins),      FIELD(record_stats, page_outs),
    FIELD(record_stats, swap_ns),       FIELD(record_stats, swap_out_ns),
    FIELD(record_stats, speed_ppm),     FIELD(record_stats, threads_in),
    FIELD(record_stats, threads_out),   FIELD(record_stats, copies_forgotten),
};

static int read_node(const struct spot *spot, struct record_node *node)
{
    struct spot sums;
    struct spot stats;

    if (!read_text(spot, "name", &node->name) ||
        !read_text(spot, "host", &node->host) ||
        !member_number(spot, "power", 0, NUMBER_MOST, &node->power) ||
        !member_number(spot, "declared_speed", 0, NUMBER_MOST,
                       &node->declared_speed) ||
        !member_count(spot, "n_workers", 0, UINT32_MAX, &node->n_workers) ||
        !spot_optional(spot, "iterations", JSON_OBJECT, &sums) ||
        !spot_optional(spot, "stats", JSON_OBJECT, &stats)) {
        return 0;
    }
    node->has_stats = stats.value != NULL;
    return (sums.value == NULL ||
            READ_NUMBERS(&sums, node_sums, &node->sums)) &&
           (stats.value == NULL ||
            READ_NUMBERS(&stats, node_stats, &node->stats));
}

static int read_nodes(const struct spot *document, struct record *record)
{
    struct spot array;

    if (!spot_member(document, "nodes", JSON_ARRAY, &array)) {
        return 0;
    }
    record->nodes = new_rows(&array, sizeof *record->nodes, &record->n_nodes);
    if (record->nodes == NULL) {
        return refuse_memory(&array);
    }
    if (record->n_nodes == 0 || record->n_nodes > TM_MAX_NODES) {
        return spot_refuse(&array, "has %zu nodes; allowed: 1 to %u",
                           record->n_nodes, TM_MAX_NODES);
    }
    for (size_t i = 0; i < record->n_nodes; i++) {
        struct spot element;

        if (!spot_element(&array, i, JSON_OBJECT, &element) ||
            !read_node(&element, &record->nodes[i])) {
            return 0;
        }
    }
    return 1;
}

// ---- iterations ----

static const struct number_field run_sums[] = {
    FIELD(efficiency_sums, time_s),    FIELD(efficiency_sums, mean_s),
    FIELD(efficiency_sums, longest_s), FIELD(efficiency_sums, longest_busy_s),
    FIELD(efficiency_sums, work_s),    FIELD(efficiency_sums, capacity_s),
};

/** An array of numbers. @param values  [n] */
static int read_row(const struct spot *array, size_t index, size_t n,
                    double *values)
{
    struct spot row;

    if (!spot_element(array, index, JSON_ARRAY, &row)) {
        return 0;
    }
    if (json_array_size(row.value) != n) {
        return spot_refuse(&row, "has %zu elements; must have %zu",
                           json_array_size(row.value), n);
    }
    for (size_t i = 0; i < n; i++) {
        struct spot element;

        if (!spot_element(&row, i, JSON_REAL, &element) ||
            !spot_number(&element, 0, NUMBER_MOST, &values[i])) {
            return 0;
        }
    }
    return 1;
}

static int read_points(const struct spot *iterations, struct record *record)
{
    struct spot array;

    if (!spot_member(iterations, "points", JSON_ARRAY, &array)) {
        return 0;
    }
    record->points =
        new_rows(&array, sizeof *record->points, &record->n_points);
    if (record->points == NULL) {
        return refuse_memory(&array);
    }
    for (size_t i = 0; i < record->n_points; i++) {
        double v[7];

        if (!read_row(&array, i, 7, v)) {
            return 0;
        }
        if (v[1] < 1) {
            return spot_refuse(&array, "element %zu is of no iteration", i);
        }
        record->points[i] =
            (struct record_point){v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
    }
    return 1;
}

static int read_events(const struct spot *iterations, struct record *record)
{
    struct spot array;

    if (!spot_member(iterations, "events", JSON_ARRAY, &array) ||
        !member_number(iterations, "n_events", 0, NUMBER_MOST,
                       &record->n_events_all)) {
        return 0;
    }
    record->events =
        new_rows(&array, sizeof *record->events, &record->n_events);
    if (record->events == NULL) {
        return refuse_memory(&array);
    }
    for (size_t i = 0; i < record->n_events; i++) {
        struct record_event *event = &record->events[i];
        struct spot element;

        if (!spot_element(&array, i, JSON_OBJECT, &element) ||
            !member_number(&element, "iteration", 0, NUMBER_MOST,
                           &event->iteration) ||
            !read_text(&element, "text", &event->text)) {
            return 0;
        }
    }
    return 1;
}

/** A node that there is, or null. */
static int read_whereabouts(const struct spot *row, size_t index,
                            const struct record *record, uint32_t *node)
{
    const json_t *value = json_array_get(row->value, index);
    struct spot element;
    uint64_t number;

    *node = RECORD_NOWHERE;
    if (json_is_null(value)) {
        return 1;
    }
    if (!spot_element(row, index, JSON_REAL, &element) ||
        !spot_whole(&element, 0, record->n_nodes - 1, &number)) {
        return 0;
    }
    *node = (uint32_t)number;
    return 1;
}

static int read_threads(const struct spot *iterations, struct record *record)
{
    struct spot array;

    if (!spot_member(iterations, "threads", JSON_ARRAY, &array)) {
        return 0;
    }
    record->threads =
        new_rows(&array, sizeof *record->threads, &record->n_threads);
    if (record->threads == NULL) {
        return refuse_memory(&array);
    }
    for (size_t i = 0; i < record->n_threads; i++) {
        struct record_thread *thread = &record->threads[i];
        struct spot row;
        struct spot number;

        if (!spot_element(&array, i, JSON_ARRAY, &row)) {
            return 0;
        }
        if (json_array_size(row.value) != 3) {
            return spot_refuse(&row, "has not 3 elements");
        }
        if (!spot_element(&row, 0, JSON_REAL, &number) ||
            !spot_number(&number, 0, NUMBER_MOST, &thread->number) ||
            !read_whereabouts(&row, 1, record, &thread->before) ||
            !read_whereabouts(&row, 2, record, &thread->after)) {
            return 0;
        }
    }
    return 1;
}

static int read_iterations(const struct spot *document, struct record *record)
{
    struct spot it;
    struct spot sums;

    if (!spot_optional(document, "iterations", JSON_OBJECT, &it)) {
        return 0;
    }
    return it.value == NULL ||
           (member_number(&it, "n", 1, NUMBER_MOST, &record->n_iterations) &&
            member_number(&it, "n_timed", 0, NUMBER_MOST, &record->n_timed) &&
            member_number(&it, "n_moved", 0, NUMBER_MOST, &record->n_moved) &&
            spot_member(&it, "sums", JSON_OBJECT, &sums) &&
            READ_NUMBERS(&sums, run_sums, &record->sums) &&
            read_points(&it, record) && read_events(&it, record) &&
            read_threads(&it, record));
}

// ---- blocks ----

static const struct number_field block_counts[] = {
    FIELD(record_block, pages),        FIELD(record_block, read_faults),
    FIELD(record_block, write_faults), FIELD(record_block, fetches),
    FIELD(record_block, diffs),
};

static int read_blocks(const struct spot *document, struct record *record)
{
    struct spot array;

    if (!spot_member(document, "blocks", JSON_ARRAY, &array)) {
        return 0;
    }
    record->blocks =
        new_rows(&array, sizeof *record->blocks, &record->n_blocks);
    if (record->blocks == NULL) {
        return refuse_memory(&array);
    }
    for (size_t i = 0; i < record->n_blocks; i++) {
        struct record_block *block = &record->blocks[i];
        struct spot element;

        if (!spot_element(&array, i, JSON_OBJECT, &element) ||
            !read_text(&element, "name", &block->name) ||
            !read_text(&element, "file", &block->file) ||
            !member_count(&element, "line", 0, UINT32_MAX, &block->line) ||
            !READ_NUMBERS(&element, block_counts, block) ||
            (json_object_get(element.value, "writers") != NULL &&
             !member_count(&element, "writers", 0, TM_MAX_NODES,
                           &block->writers))) {
            return 0;
        }
    }
    return 1;
}

// ---- lines ----

static const struct number_field line_numbers[] = {
    FIELD(record_line, read_faults),
    FIELD(record_line, write_faults),
    FIELD(record_line, wait_s),
};

/** Records of 0.1.0 have none. */
static int read_lines(const struct spot *document, struct record *record)
{
    struct spot array;

    if (json_object_get(document->value, "lines") == NULL) {
        return 1;
    }
    if (!spot_member(document, "lines", JSON_ARRAY, &array)) {
        return 0;
    }
    record->lines = new_rows(&array, sizeof *record->lines, &record->n_lines);
    if (record->lines == NULL) {
        return refuse_memory(&array);
    }
    for (size_t i = 0; i < record->n_lines; i++) {
        struct record_line *line = &record->lines[i];
        struct spot element;

        if (!spot_element(&array, i, JSON_OBJECT, &element) ||
            !read_text(&element, "where", &line->where) ||
            !READ_NUMBERS(&element, line_numbers, line)) {
            return 0;
        }
    }
    return 1;
}

// ---- the profile ----

static int take_profile(const struct spot *profile, struct record *record)
{
    char *text = json_dumps(profile->value, JSON_REAL_PRECISION(17));
    char error[400];
    FILE *file = NULL;
    int is_good = 0;

    if (text != NULL) {
        file = fmemopen(text, strlen(text), "r");
    }
    if (file == NULL) {
        free(text);
        return refuse_memory(profile);
    }
    is_good = profile_parse(file, "it", &record->profile, error,
                            sizeof error) == TM_OK;
    fclose(file);
    free(text);
    record->has_profile = is_good;
    return is_good || spot_refuse(profile, "%s", error);
}

static int read_profile(const struct spot *document, struct record *record)
{
    struct spot profile;

    if (!spot_optional(document, "profile", JSON_OBJECT, &profile)) {
        return 0;
    }
    if (profile.value == NULL) {
        return read_text(document, "no_profile", &record->no_profile);
    }
    return member_count(document, "n_samples", 0, UINT32_MAX,
                        &record->n_samples) &&
           member_number(document, "clock_s", 0, NUMBER_MOST,
                         &record->clock_s) &&
           take_profile(&profile, record);
}

// ---- the run ----

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/** @param[out] words  [n], owned by who called */
static int read_words(const struct spot *run, const char *key,
                      const char ***words, size_t *n)
{
    struct spot array;

    if (!spot_member(run, key, JSON_ARRAY, &array)) {
        return 0;
    }
    *words = new_rows(&array, sizeof **words, n);
    if (*words == NULL) {
        return refuse_memory(&array);
    }
    for (size_t i = 0; i < *n; i++) {
        struct spot word;

        if (!spot_element(&array, i, JSON_STRING, &word)) {
            return 0;
        }
        (*words)[i] = json_string_value(word.value);
    }
    return 1;
}

static int read_command(const struct spot *run, struct record *record)
{
    if (!read_words(run, "command", &record->command, &record->n_command)) {
        return 0;
    }
    if (json_object_get(run->value, "options") != NULL &&
        !read_words(run, "options", &record->options, &record->n_options)) {
        return 0;
    }
    if (record->n_command > 0) {
        record->program = last_part(record->command[0]);
    }
    return 1;
}

static int read_run(const struct spot *document, struct record *record)
{
    struct spot run;
    uint32_t code;

    record->program = record->system = record->ended = "";
    if (json_object_get(document->value, "run") == NULL) {
        return 1; // the launcher has not added it yet
    }
    if (!spot_member(document, "run", JSON_OBJECT, &run) ||
        !member_count(&run, "exit_code", 0, 255, &code)) {
        return 0;
    }
    record->has_exit_code = 1;
    record->exit_code = (int)code;
    return read_command(&run, record) &&
           read_text(&run, "system", &record->system) &&
           read_text(&run, "ended", &record->ended);
}

static int read_version(const struct spot *document)
{
    struct spot version;

    if (json_object_get(document->value, "teamster_report") == NULL) {
        return spot_refuse(document,
                           "is no report; \"teamster run --report=FILE\" "
                           "writes one");
    }
    if (!spot_member(document, "teamster_report", JSON_REAL, &version)) {
        return 0;
    }
    return json_real_value(version.value) == RECORD_VERSION ||
           spot_refuse(&version, "is %g; this version reads %d",
                       json_real_value(version.value), RECORD_VERSION);
}

static int read_document(const struct spot *document, struct record *record)
{
    return read_version(document) &&
           read_text(document, "teamster", &record->teamster) &&
           read_text(document, "policy", &record->policy) &&
           member_number(document, "seconds", 0, NUMBER_MOST,
                         &record->seconds) &&
           read_run(document, record) && read_nodes(document, record) &&
           read_iterations(document, record) && read_blocks(document, record) &&
           read_lines(document, record) && read_profile(document, record);
}

// ---- whole records ----

/** @return the document, NULL if it is none: refused */
static json_t *load(const char *text, size_t length, size_t flags,
                    const struct spot *nowhere)
{
    json_error_t error;
    json_t *value =
        json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, &error);

    if (value == NULL && length == 0) {
        spot_refuse(nowhere, "is empty");
    } else if (value == NULL) {
        spot_refuse(nowhere, "line %d, column %d: %s", error.line, error.column,
                    error.text);
    } else if (!json_is_object(value)) {
        spot_refuse(nowhere, "is no report");
        json_decref(value);
        return NULL;
    }
    return value;
}

tm_status run_record_parse(const char *text, size_t length, const char *name,
                           struct record *record, char *error, size_t size)
{
    struct json_in in = {name, error, size};
    struct spot document = {.in = &in};
    struct record found = {0};

    error[0] = '\0';
    found.document = load(text, length, 0, &document);
    if (found.document != NULL) {
        found.values = load(text, length, JSON_DECODE_INT_AS_REAL, &document);
    }
    document.value = found.values;
    if (found.values != NULL && read_document(&document, &found)) {
        *record = found;
        return TM_OK;
    }
    run_record_release(&found);
    return TM_ECONFIG;
}

/** All of a file, with a 0 behind it. @return NULL: errno says why */
static char *read_all(FILE *file, size_t *length)
{
    size_t room = 1 << 16;
    char *text = malloc(room);
    size_t n = 0;
    size_t got;

    while (text != NULL && (got = fread(text + n, 1, room - n - 1, file)) > 0) {
        n += got;
        if (n + 1 == room) {
            char *larger = room < FILE_MOST ? realloc(text, room * 2) : NULL;

            if (larger == NULL) {
                free(text);
                errno = EFBIG;
                return NULL;
            }
            text = larger;
            room *= 2;
        }
    }
    if (text != NULL && ferror(file)) {
        free(text);
        return NULL;
    }
    if (text != NULL) {
        text[n] = '\0';
        *length = n;
    }
    return text;
}

/** Of a page, the record in it. */
static void find_record(const char **text, size_t *length)
{
    const char *begin = strstr(*text, PAGE_RECORD_BEGIN);
    const char *end = begin == NULL ? NULL : strstr(begin, PAGE_RECORD_END);

    if (end != NULL) {
        *text = begin + strlen(PAGE_RECORD_BEGIN);
        *length = (size_t)(end - *text);
    }
}

tm_status run_record_read(const char *path, struct record *record, char *error,
                          size_t size)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    const char *name = file == stdin ? "standard input" : path;
    size_t length = 0;
    char *text = file == NULL ? NULL : read_all(file, &length);
    const char *at = text;
    tm_status status = TM_ECONFIG;

    if (text == NULL) {
        snprintf(error, size, "%s: %s", name, strerror(errno));
    } else {
        if (text[strspn(text, " \t\r\n")] == '<') {
            find_record(&at, &length);
        }
        status = run_record_parse(at, length, name, record, error, size);
    }
    if (file != NULL && file != stdin) {
        fclose(file);
    }
    free(text);
    return status;
}

/** As text, whatever its bytes are. */
static json_t *any_text(const char *text)
{
    json_t *value = json_string(text);

    return value != NULL ? value : json_string("?");
}

static json_t *words_json(const char *const *words)
{
    json_t *array = json_array();

    for (; *words != NULL; words++) {
        json_array_append_new(array, any_text(*words));
    }
    return array;
}

static json_t *run_json(const struct record_run *run)
{
    json_t *object =
        json_pack("{s:o, s:i, s:o, s:o}", "command", words_json(run->argv),
                  "exit_code", run->exit_code & 0xff, "system",
                  any_text(run->system), "ended", any_text(run->ended));

    if (object != NULL && run->options != NULL) {
        json_object_set_new(object, "options", words_json(run->options));
    }
    return object;
}

tm_status run_record_add_run(struct record *record,
                             const struct record_run *run)
{
    json_t *object = run_json(run);
    json_t *values = json_deep_copy(object);
    char error[64] = "";
    struct json_in in = {"run", error, sizeof error};
    struct spot document = {.in = &in, .value = record->values};

    if (object == NULL || values == NULL) {
        json_decref(object);
        json_decref(values);
        return TM_ENOMEM;
    }
    json_object_set_new(values, "exit_code", json_real(run->exit_code & 0xff));
    if (json_object_set_new(record->document, "run", object) != 0 ||
        json_object_set_new(record->values, "run", values) != 0) {
        return TM_ENOMEM;
    }
    return read_run(&document, record) ? TM_OK : TM_ENOMEM;
}

void run_record_write(FILE *file, const struct record *record)
{
    (void)json_dumpf(record->document, file,
                     JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    putc('\n', file);
}

void run_record_release(struct record *record)
{
    json_decref(record->document);
    json_decref(record->values);
    free(record->command);
    free(record->options);
    free(record->nodes);
    free(record->points);
    free(record->events);
    free(record->threads);
    free(record->blocks);
    free(record->lines);
    if (record->has_profile) {
        profile_release(&record->profile);
    }
    *record = (struct record){0};
}

// ---- its efficiency ----

/** Of the whole run, as one part of it. */
static void sum_run(const struct record *record, struct efficiency_sums *sums)
{
    struct efficiency_node nodes[TM_MAX_NODES];
    uint32_t n = 0;

    for (size_t i = 0; i < record->n_nodes; i++) {
        const struct record_node *node = &record->nodes[i];

        if (node->has_stats && node->n_workers > 0 && node->power > 0) {
            nodes[n++] = (struct efficiency_node){node->power, node->n_workers,
                                                  node->stats.compute_ns * 1e-9,
                                                  node->stats.swap_ns * 1e-9};
        }
    }
    efficiency_add(sums, nodes, n, record->seconds);
}

int run_record_efficiency(const struct record *record,
                          struct efficiency_sums *sums,
                          struct efficiency *efficiency)
{
    *sums = record->sums;
    if (record->n_timed <= 0) {
        *sums = (struct efficiency_sums){0};
        sum_run(record, sums);
    }
    return efficiency_of(sums, efficiency);
}

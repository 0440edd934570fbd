// SPDX-License-Identifier: BSD-3-Clause
// Options travel from the command line to every node as variables, so that there
// is one way to read them: the launcher reads them with options_read() before it
// starts anything, and each node reads them again. A row of options.def needs a
// field in struct options and a function parse_<field>() here.
// What a parser reads with is in base/reading.h; the message about a value that is
// refused is put together in one place.
#include "base/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reading.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)

/** Room for the stacks, from ULT_STACKS_BASE on. */
#define STACKS_MAX (2 * TIB)

const struct option_row option_rows[] = {
#define OPTION(field, variable, name, letter, argument, default_value, help)   \
    {name, "TEAMSTER_" #variable, letter, argument, default_value, help},
#include "base/options.def"
#undef OPTION
};

const unsigned n_option_rows = sizeof option_rows / sizeof option_rows[0];

static int parse_nodes(struct reading *reading, struct options *options)
{
    return reading_unsigned(reading, 1, TM_MAX_NODES, &options->nodes);
}

static int parse_workers(struct reading *reading, struct options *options)
{
    if (strcmp(reading->text, "auto") == 0) {
        options->workers = 0;
        return 1;
    }
    if (reading_unsigned(reading, 1, WORKERS_MAX, &options->workers)) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed, "auto, or 1 to %d",
             WORKERS_MAX);
    return 0;
}

static int parse_hostfile(struct reading *reading, struct options *options)
{
    return reading_path(reading, 1, "none, or a path", options->hostfile,
                        sizeof options->hostfile);
}

static int parse_hosts(struct reading *reading, struct options *options)
{
    return reading_path(reading, 1, "none, or a list", options->hosts,
                        sizeof options->hosts);
}

static int parse_ssh(struct reading *reading, struct options *options)
{
    return reading_path(reading, 1, "a command", options->ssh,
                        sizeof options->ssh);
}

static int parse_status_file(struct reading *reading, struct options *options)
{
    return reading_path(reading, 1, "none, or a path", options->status_file,
                        sizeof options->status_file);
}

static int parse_save_profile(struct reading *reading, struct options *options)
{
    return reading_path(reading, 1, "none, or a path", options->save_profile,
                        sizeof options->save_profile);
}

static int parse_emulate(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->emulate);
}

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

static int parse_memory(struct reading *reading, struct options *options)
{
    return reading_bytes(reading, "auto", MEMORY_MIN, MEMORY_MAX,
                         &options->memory);
}

static int parse_protocol(struct reading *reading, struct options *options)
{
    static const char *const names[] = {"eager-release", "sequential"};
    static const tm_protocol protocols[] = {TM_EAGER_RELEASE, TM_SEQUENTIAL};
    unsigned index;

    if (!reading_word(reading, names, 2, &index)) {
        return 0;
    }
    options->protocol = protocols[index];
    return 1;
}

static int parse_stack_size(struct reading *reading, struct options *options)
{
    return reading_size(reading, 64 * KIB, 64 * MIB, &options->stack_size);
}

static int parse_max_threads(struct reading *reading, struct options *options)
{
    return reading_unsigned(reading, 1, OPTIONS_MAX_THREADS,
                            &options->max_threads);
}

static int parse_fault_source(struct reading *reading, struct options *options)
{
    static const char *const names[] = {"auto", "userfaultfd", "mprotect"};
    unsigned index;

    if (!reading_word(reading, names, 3, &index)) {
        return 0;
    }
    snprintf(options->fault_source, sizeof options->fault_source, "%s",
             names[index]);
    return 1;
}

static int parse_space(struct reading *reading, struct options *options)
{
    return reading_size(reading, 16 * MIB, TIB, &options->space);
}

static int parse_swap_dir(struct reading *reading, struct options *options)
{
    const int is_whole =
        reading->text[0] == '/' || strcmp(reading->text, "auto") == 0;

    return reading_path(reading, is_whole, "auto, or a path from / on",
                        options->swap_dir, sizeof options->swap_dir);
}

static int parse_swap_rate(struct reading *reading, struct options *options)
{
    return reading_bytes(reading, "none", 4 * KIB, TIB, &options->swap_rate);
}

static int parse_swap_max(struct reading *reading, struct options *options)
{
    return reading_bytes(reading, "none", MEMORY_MIN, MEMORY_MAX,
                         &options->swap_max);
}

static int parse_emulate_by(struct reading *reading, struct options *options)
{
    static const char *const names[] = {"duty", "cgroup"}; // as enumerated
    unsigned index;

    if (!reading_word(reading, names, 2, &index)) {
        return 0;
    }
    options->emulate_by = index;
    return 1;
}

static int parse_memory_by(struct reading *reading, struct options *options)
{
    // As in the enumeration.
    static const char *const names[] = {"runtime", "kernel", "kernel-plain"};
    unsigned index;

    if (!reading_word(reading, names, 3, &index)) {
        return 0;
    }
    options->memory_by = index;
    return 1;
}

static int parse_race_check(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->race_check);
}

static int parse_strict(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->strict);
}

static int parse_tag_output(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->tag_output);
}

static int parse_deadlock(struct reading *reading, struct options *options)
{
    static const char *const names[] = {
        [DEADLOCK_ABORT] = "abort",
        [DEADLOCK_WARN] = "warn",
        [DEADLOCK_OFF] = "off",
    };
    unsigned index;

    if (!reading_word(reading, names, 3, &index)) {
        return 0;
    }
    options->deadlock = index;
    return 1;
}

static int parse_peer_timeout(struct reading *reading, struct options *options)
{
    if (strcmp(reading->text, "0") == 0) {
        options->peer_timeout = 0;
        return 1;
    }
    if (reading_unsigned(reading, 2, 24 * 60 * 60, &options->peer_timeout)) {
        return 1;
    }
    snprintf(reading->allowed, sizeof reading->allowed,
             "0, or 2 to 86400 seconds");
    return 0;
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

static int parse_trust_network(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->trust_network);
}

static int parse_deadlock_after(struct reading *reading,
                                struct options *options)
{
    return reading_unsigned(reading, 1, 24 * 60 * 60, &options->deadlock_after);
}

static int parse_policy(struct reading *reading, struct options *options)
{
#define POLICY(symbol, name) name,
    static const char *const names[] = {
        "none",
#include "base/policies.def"
    };
    unsigned index;

    if (!reading_word(reading, names, sizeof names / sizeof names[0], &index)) {
        return 0;
    }
    snprintf(options->policy, sizeof options->policy, "%s", names[index]);
    return 1;
}

static int parse_counts(struct reading *reading, struct options *options)
{
    snprintf(reading->allowed, sizeof reading->allowed, "%s",
             THREAD_COUNTS_ALLOWED);
    return thread_counts_read(reading->text, &options->counts);
}

static int parse_move_at(struct reading *reading, struct options *options)
{
    static const char *const names[] = {"iterations", "barriers"};
    unsigned index;

    if (!reading_word(reading, names, 2, &index)) {
        return 0;
    }
    options->move_at = index == 1 ? MOVE_AT_BARRIERS : MOVE_AT_ITERATIONS;
    return 1;
}

static int parse_explain(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->explain);
}

static int parse_stats(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->stats);
}

static int parse_verbose(struct reading *reading, struct options *options)
{
    return reading_switch(reading, &options->verbose);
}

static int parse_shuffle(struct reading *reading, struct options *options)
{
    return reading_number(reading, 0, UINT64_MAX, &options->shuffle);
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

static int read_one(const struct option_row *row,
                    int (*parse)(struct reading *reading,
                                 struct options *options),
                    struct options *options, char *error, size_t size)
{
    const char *value = getenv(row->variable);
    int is_set = value != NULL && value[0] != '\0';
    struct reading reading = {.text = is_set ? value : row->default_value};
    char shown[64];

    if (parse(&reading, options)) {
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
    const struct option_row *row = option_rows;

#define OPTION(field, ...)                                                     \
    if (!read_one(row++, parse_##field, &result, error, size)) {               \
        return TM_ECONFIG;                                                     \
    }
#include "base/options.def"
#undef OPTION
    if (!stacks_fit(&result, error, size)) {
        return TM_ECONFIG;
    }
    *options = result;
    return TM_OK;
}

const char *options_contradiction(const struct options *options)
{
    return options->race_check && options->protocol == TM_SEQUENTIAL
               ? "--race-check compares diffs, which --protocol=sequential "
                 "does not make; leave one of them out"
               : NULL;
}

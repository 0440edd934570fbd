// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_RUN_RECORD_H
#define PLANNER_RUN_RECORD_H

#include <jansson.h>
#include <stdio.h>

#include "model/efficiency.h"
#include "place/profile.h"

/*
 * The record of a run: what --report=FILE.json writes, and what a page is made of
 * (docs/report.md has the keys). What comes out of run_record_parse() is as it should be: its
 * numbers are finite, and name nodes that there are.
 */

#define RECORD_VERSION 1

/** Of a thread that was not there. */
#define RECORD_NOWHERE UINT32_MAX

/** What a node did in iterations. Seconds; of its threads summed but time, busy, release. */
struct record_sums {
    double time_s; ///< 0: it took part in none
    double computing_s;
    double paging_s;
    double busy_s;
    double release_s;
    double pages_in;
    double pages_out;
};

/** The numbers of --stats that are shown or counted with. */
struct record_stats {
    double n_threads;
    double compute_ns;
    double read_faults;
    double write_faults;
    double pages_fetched;
    double pages_served;
    double updates_sent;
    double messages_sent;
    double bytes_sent;
    double fault_ns;
    double sync_ns;
    double memory;
    double resident;
    double lack;
    double page_ins;
    double page_outs;
    double copies_forgotten;
    double swap_ns;
    double swap_out_ns;
    double speed_ppm;
    double threads_in;
    double threads_out;
};

struct record_node {
    const char *name;
    const char *host;
    double power;
    double declared_speed;
    uint32_t n_workers;
    struct record_sums sums;
    int has_stats; ///< it was there at the end
    struct record_stats stats;
};

/** Iterations that are one point of a chart. */
struct record_point {
    double first;
    double n_iterations;
    double time_s; ///< of all of them; 0: not known
    double shortest_s;
    double longest_s;
    double n_moved;
    double n_tracked;
};

struct record_event {
    double iteration;
    const char *text;
};

struct record_thread {
    double number;
    uint32_t before; ///< a node, or RECORD_NOWHERE
    uint32_t after;
};

struct record_block {
    const char *name;
    const char *file;
    uint32_t line;
    double pages;
    double read_faults;
    double write_faults;
    double fetches;
    double diffs;
    uint32_t writers; ///< nodes that have written it; 0: not known
};

struct record_line {
    const char *where; ///< "function (file.c:12)"; "": all others
    double read_faults;
    double write_faults;
    double wait_s;
};

struct record {
    json_t *document; ///< owned, as it was; what is written
    json_t
        *values; ///< owned, the same with all numbers as doubles; texts are its
    const char *teamster;
    const char *policy;
    double seconds;
    const char *program;  ///< file name of what was run; "": not known
    const char **command; ///< [n_command]
    size_t n_command;
    const char **options; ///< [n_options] of teamster run; NULL: not known
    size_t n_options;
    int has_exit_code;
    int exit_code;
    const char *system; ///< "": not known, as the next
    const char *ended;
    struct record_node *nodes; ///< [n_nodes], at least one
    size_t n_nodes;
    double n_iterations; ///< 0: there were none, and nothing of what follows
    double n_timed;
    double n_moved;
    struct efficiency_sums sums;
    struct record_point *points;
    size_t n_points;
    struct record_event *events;
    size_t n_events;
    double n_events_all;
    struct record_thread *threads; ///< by number
    size_t n_threads;
    struct record_block *blocks;
    size_t n_blocks;
    struct record_line *lines; ///< most time waited first
    size_t n_lines;
    int has_profile;
    struct profile profile;
    const char *no_profile; ///< why there is none
    uint32_t n_samples;     ///< that the profile's times are medians of
    double clock_s;         ///< what an iteration of these took by the clock
};

/** What the launcher adds. */
struct record_run {
    const char *const *argv;    ///< NULL at the end
    const char *const *options; ///< likewise; NULL: not known
    int exit_code;
    const char *system;
    const char *ended;
};

/**
 * @param name        of the file, for messages
 * @param[out] record to be released with run_record_release(); set on success
 * @param[out] error  [size] one line, set on failure
 * @return TM_OK
 * @return TM_ECONFIG  it is no record of this version, or makes no sense
 * @return TM_ENOMEM
 */
TM_CHECKED tm_status run_record_parse(const char *text, size_t length,
                                      const char *name, struct record *record,
                                      char *error, size_t size);

/** The same of a file: a record, or a page that has one in it; "-" is standard input. */
TM_CHECKED tm_status run_record_read(const char *path, struct record *record,
                                     char *error, size_t size);

/** @return TM_OK, TM_ENOMEM: then it is as it was, or without some of this */
TM_CHECKED tm_status run_record_add_run(struct record *record,
                                        const struct record_run *run);

/** Write it as JSON. Who called looks for errors of the file. */
void run_record_write(FILE *file, const struct record *record);

void run_record_release(struct record *record);

/**
 * The factors of the run's efficiency: of its iterations, or of the whole run if there are
 * none.
 * @param[out] sums  that they were made of
 * @return 1; 0: nothing was computed
 */
int run_record_efficiency(const struct record *record,
                          struct efficiency_sums *sums,
                          struct efficiency *efficiency);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_DEMO_H
#define CLI_DEMO_H
/*
 * What `teamster demo` knows of its runs: demo.c has them done, demo_view.c shows them,
 * demo_picture.c draws what came out.
 */

#include <stdint.h>
#include <stdio.h>

enum { DEMO_N_NODES = 4, DEMO_N_RUNS = 3, DEMO_N_THREADS = 32 };

/** A node as it is emulated. */
struct demo_node {
    const char *name;
    unsigned speed;
    unsigned memory_mib;
    int is_short; ///< of memory, for its share of the data
};

/** What a run under a policy has come to so far. */
struct demo_run {
    const char *policy;
    const char *about; ///< in a few words
    double seconds;    ///< that it is given
    double *at_s;      ///< [n] when iterations ended, since the first began
    double *ms;        ///< [n] what they took
    unsigned n;
    unsigned room;
    char checksum[24]; ///< of the result; "": not told yet
    unsigned threads[DEMO_N_NODES];
    uint64_t page_ins[DEMO_N_NODES]; ///< since the start
    double page_rate[DEMO_N_NODES];  ///< a second, lately
};

extern const struct demo_node demo_nodes[DEMO_N_NODES];

/** The time of an iteration that a run has settled at: the median of its last third.
 * @return 0 if there is none */
double demo_run_ms(const struct demo_run *run);

/* demo_view.c */

/** How runs are shown. */
struct demo_view {
    int is_live; ///< on a terminal: a bar for each node, drawn again and again
    int has_color;
    int has_blocks;   ///< the terminal has UTF-8
    unsigned n_lines; ///< drawn, that the next ones are drawn over
    uint64_t drawn_ns;
};

void demo_view_open(struct demo_view *view);

/** Draw a run, if it is time. */
void demo_view_update(struct demo_view *view, const struct demo_run *run);

/** It is over: leave a line of it. */
void demo_view_end(struct demo_view *view, const struct demo_run *run);

/* demo_picture.c */

/** Draw all runs. Whether all could be written the file knows. */
void demo_picture_write(FILE *file, const struct demo_run *runs);

#endif

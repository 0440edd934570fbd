// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* `teamster top`: what a launcher tells of its job (watchers.h), second by second, and what is
 * seen of that. */

#define TOP_HISTORY 60u ///< seconds of iteration times that are kept
#define TOP_EVENTS 8u   ///< the latest that has happened

/** Sums since the start, of a node. */
struct top_node {
    unsigned number;
    char name[64];
    char host[64];
    uint32_t n_threads;
    uint32_t n_workers;
    int is_tracking;
    uint64_t page_ins;
    uint64_t moved_in;
    uint64_t sent;
    uint64_t resident;
    uint64_t memory; ///< that it may use, bytes; 0: no limit
    double compute_s;
    double wait_s; ///< for pages of other nodes
    double sync_s; ///< in calls
    double swap_s; ///< for the disk, or until a page has gone
};

struct top_job {
    double seconds; ///< since the start; 0: nothing is known
    char program[64];
    int is_running;
    uint64_t n_iterations;
    uint64_t n_back;        ///< how often it has gone back to a checkpoint
    struct top_node *nodes; ///< [n_nodes]
    size_t n_nodes;
};

/** What a node did in the last second. Shares are of its threads' time, 0 to 1. */
struct top_rates {
    double compute;
    double wait;
    double sync;
    double swap;
    double page_ins; ///< a second
    double sent;     ///< bytes a second
};

struct top {
    long job_number;
    struct top_job now;
    struct top_job before;           ///< with seconds 0 before the second line
    double iteration_s[TOP_HISTORY]; ///< the latest is the last of n_history
    unsigned n_history;
    char events[TOP_EVENTS][120]; ///< the latest first
    unsigned n_events;
};

// ---- top_model.c

/** Take a line of a launcher's.
 * @return 1, 0: it is none, and nothing has changed */
int top_take(struct top *top, const char *line);

/** @param i  of top->now.nodes. Zeros, if the node has just come */
struct top_rates top_rates(const struct top *top, size_t i);

/** Of the last second, or before if none has ended; 0: not known. */
double top_iteration_s(const struct top *top);

/** Of those that have ended between the last two lines; 0: none has. */
double top_last_iteration_s(const struct top *top);

/** Threads that have moved between them. */
uint64_t top_n_moved(const struct top *top);

void top_release(struct top *top);

// ---- top_print.c: as text

/** "job 4711: jacobi, 12 s, iteration 124, 1.2 ms each"
 * @param[out] text  [size] */
void top_describe_job(const struct top *top, char *text, size_t size);

/** The columns of a node, and their heads (NULL).
 * @param i     of top->now.nodes
 * @param[out] text  [size] */
void top_describe_heads(char *text, size_t size);
void top_describe_node(const struct top *top, size_t i, char *text,
                       size_t size);

void top_print(FILE *file, const struct top *top);

// ---- top_view.c: on a terminal

/** @return 0 if there is none, or if teamster was built without ncurses */
int top_view_open(void);
void top_view_draw(const struct top *top);
/** A key has been pressed. @return 1 if it means that this is to end */
int top_view_key(void);
void top_view_close(void);
/** @return NULL, or why there is never a view */
const char *top_view_lacks(void);

#endif

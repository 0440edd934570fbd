// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_CHRONICLE_H
#define RECONFIG_CHRONICLE_H

#include "model/efficiency.h"
#include "reconfig/history.h"

/*
 * What --report tells of a run's iterations: all of them, where the history knows the latest
 * only. On the root, under the node lock. It outlives the scheme, of which there is a new one
 * each time that nodes come or go; so nodes have their own numbers here.
 */

#define CHRONICLE_POINTS 400u ///< at most, of a run of any length
#define CHRONICLE_EVENTS 200u ///< at most; of more, the first and how many

/** Samples that are drawn as one point. */
struct chronicle_point {
    uint64_t first;        ///< iteration of the run, from 1
    uint64_t n_iterations; ///< from there on
    double time_s;         ///< of these; 0: nobody knows, it was the first
    double shortest_s;     ///< an iteration of the sample where it was least
    double longest_s;      ///< and most
    uint32_t n_moved;      ///< threads that were told to move meanwhile
    uint32_t n_tracked;    ///< iterations that were to be tracked
};

/** What was said. */
struct chronicle_event {
    uint64_t iteration; ///< that had ended last
    char *text;         ///< one line
};

/** What a node did while it took part, in the samples whose length is known. Seconds. */
struct chronicle_node {
    double power; ///< 0: it never took part
    uint32_t n_workers;
    double time_s;      ///< that it was there
    double computing_s; ///< of its threads, summed, as the next
    double paging_s;
    double busy_s;    ///< until its last thread was at the barrier
    double release_s; ///< of it, in releases at barriers
    double pages_in;
    double pages_out;
};

/** Where a thread was first and last. */
struct chronicle_thread {
    uint64_t number;
    node_id before; ///< TM_MAX_NODES: it was not there yet
    node_id after;  ///< TM_MAX_NODES: or had ended
};

struct chronicle {
    struct efficiency_sums sums;
    uint64_t n_iterations;
    uint64_t n_timed; ///< of them, those that `sums` is of
    uint64_t n_moved;
    struct chronicle_point points[CHRONICLE_POINTS];
    unsigned n_points;
    uint64_t n_in_point;     ///< samples that go into one
    uint64_t n_open;         ///< samples in the last point
    uint32_t n_moved_open;   ///< for the next sample
    uint32_t n_tracked_open; ///< likewise
    struct chronicle_event events[CHRONICLE_EVENTS];
    uint64_t n_events; ///< those that were left out, too
    struct chronicle_node nodes[TM_MAX_NODES]; ///< by their numbers in the run
    node_id id_of[TM_MAX_NODES];               ///< of those that take part now
    unsigned n_now;                            ///< how many these are
    struct chronicle_thread *threads;          ///< [n_threads] by number
    uint32_t n_threads;
    int has_begun; ///< `before` is known
};

/** Of a run that begins. chronicle_free() frees it */
struct chronicle *chronicle_new(void);
void chronicle_free(struct chronicle *chronicle);

/** From now on a history of these nodes is told of. @param id  the number in the run of the
 * history's next node; called for each, in order, after chronicle_begin() */
void chronicle_begin(struct chronicle *chronicle);
void chronicle_add_node(struct chronicle *chronicle, node_id id, double power,
                        uint32_t n_workers);

/** The history_sample_fn. @param owner  a chronicle */
void chronicle_take(void *owner, const struct history *history,
                    uint32_t n_iterations, double length_s);

/** The threads of a history are where they will be told to have been at last. */
void chronicle_note_threads(struct chronicle *chronicle,
                            const struct history *history);

/** A thread is told to move; an iteration is to be tracked. */
void chronicle_note_move(struct chronicle *chronicle);
void chronicle_note_tracking(struct chronicle *chronicle);

/** Something was said. @param text  one line, copied */
void chronicle_say(struct chronicle *chronicle, const char *text, size_t n);

#endif

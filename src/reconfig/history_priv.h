// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_HISTORY_PRIV_H
#define RECONFIG_HISTORY_PRIV_H

#include "reconfig/history.h"

/*
 * What history.c, which takes reports, and history_usual.c, which tells what is usual,
 * share.
 */

/** The values of struct history_node. */
#define HISTORY_VALUES(X)                                                      \
    X(busy_s) X(comp_s) X(mem_s) X(out_s) X(pages_in) X(pages_out) X(release_s)

struct node_ring {
    struct history_node open; ///< added up so far, over the sample
    double open_cpu_s;        ///< likewise, of all its threads
    struct history_node kept[HISTORY_WINDOW];
    uint64_t free_bytes; ///< as last told
};

struct history {
    unsigned n_nodes;
    double *power;           ///< [n_nodes]
    uint32_t *crowds;        ///< [n_nodes]
    uint32_t *n_workers;     ///< [n_nodes] of those in crowds
    struct node_ring *nodes; ///< [n_nodes]
    double *sent_bytes; ///< [n_nodes * n_nodes] from, to: since the restart
    struct history_thread *threads;
    uint32_t n_threads;
    uint32_t n_room;
    uint32_t *place;
    uint32_t n_places;
    uint32_t n_reported;
    uint64_t current; ///< the iteration that is open, if n_reported > 0
    uint64_t closed;  ///< the latest that was closed, if n_closed > 0
    uint64_t n_closed;
    double sample_s;     ///< that a sample is to last at least
    uint32_t n_calm;     ///< samples in a row that hardly differed
    uint32_t n_wanted;   ///< iterations that are to be in a sample
    uint32_t n_open;     ///< closed ones in the sample that is open
    uint32_t n_together; ///< in the latest sample
    uint64_t n_samples;
    uint32_t n_since;         ///< of them, since the restart
    uint32_t n_skip;          ///< that are not kept, still to come
    uint64_t n_closed_before; ///< iterations before it
    uint32_t ragged;          ///< a bit for each of the latest iterations
    uint64_t ended_ns;        ///< the end of the latest sample, 0: none
    double prior; ///< by what part of what is usual samples are taken to differ
    double latest_s; ///< of an iteration, kept or not
    double times_s[HISTORY_WINDOW];
    history_sample_fn *watcher; ///< or NULL
    void *watcher_owner;
};

/** What samples since the restart differ by, of the node where it is most: a standard
 * deviation as a part of what is usual. */
double history_spread(const struct history *history);

/** What the samples since the restart differ by is what those after the next will, it is
 * taken, until they tell. */
void history_learn_spread(struct history *history);

#endif

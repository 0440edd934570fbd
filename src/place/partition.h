// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_PARTITION_H
#define PLACE_PARTITION_H

#include "place/affinity.h"

/*
 * Second subphase of [Liu06] 4.2: which threads, once it is known how many each
 * node has: a partition of the threads into groups, one for each node, of just these
 * sizes, that cuts as little affinity as possible.
 */

/** What the functions below share. */
struct partition_problem {
    const struct cluster_view *view;
    const struct affinity *affinity;
    const uint32_t *counts;  ///< [n_nodes], sum n_threads
    const uint32_t *current; ///< [n_threads]: where threads are now
    double swap_within_s;    ///< threads are swapped only if they compute
                             ///< equally long but for this; INFINITY: any
};

/**
 * Find a good partition: the current mapping changed as little as possible, or, if
 * that cuts more than is worth the trouble and clearly more than blocks of thread
 * numbers, these; then improved by pair swaps. Pinned threads are not moved by the
 * first way; blocks may.
 *
 * @param worth   a cut up to this one is good enough
 * @param[out] node_of  [n_threads]
 *
 * Context: any thread; allocates. Deterministic.
 */
void partition_find(const struct partition_problem *problem, double worth,
                    uint32_t *node_of);

/** Move threads from nodes with too many to nodes with too few, those first
 * that lose least affinity. @param[in,out] node_of  [n_threads] */
void partition_repair(const struct partition_problem *problem,
                      uint32_t *node_of);

/** Swap pairs of threads as long as that cuts less. Does nothing if threads
 * times nodes are more than 4 million. @param[in,out] node_of  [n_threads] */
void partition_swap(const struct partition_problem *problem, uint32_t *node_of);

#endif

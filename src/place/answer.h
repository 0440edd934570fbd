// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_ANSWER_H
#define PLACE_ANSWER_H

#include "place/policy.h"

/* What policies write their answers with. */

/** K/N threads a node, blocks of thread numbers; the first nodes have one more.
 * @param[out] node_of  [n_threads] */
void answer_initial(const struct cluster_view *view, uint32_t *node_of);

/** Blocks of thread numbers of the sizes given, in the order of the nodes.
 * @param counts  [n_nodes], sum n_threads */
void answer_blocks(const struct cluster_view *view, const uint32_t *counts,
                   uint32_t *node_of);

/** The second subphase of [Liu06]: which threads, if so many are on each node, so that
 * least is shared between nodes.
 * @param counts       [n_nodes], sum n_threads
 * @param iteration_s  what an iteration takes: half a percent of it is not searched for
 * @param page_s       what a page costs which two nodes hold instead of one, besides
 *                     packets */
void answer_partition(const struct place_request *request,
                      const uint32_t *counts, double iteration_s, double page_s,
                      uint32_t *node_of);

/** Bring pinned threads back to where they are now; of the threads that take
 * their nodes, the one that computes most nearly as long goes in exchange. */
void answer_pins(const struct cluster_view *view, const uint32_t *current,
                 uint32_t *node_of);

/** May a thread be moved from where a mapping has it? A pinned one only back to where
 * it is now. */
static inline int answer_may_move(const struct cluster_view *view,
                                  const uint32_t *current,
                                  const uint32_t *node_of, uint32_t thread)
{
    return !view->threads[thread].is_pinned ||
           node_of[thread] != current[thread];
}

/** @return threads that leave their node */
uint32_t answer_moves(const struct cluster_view *view, const uint32_t *current,
                      const uint32_t *node_of);

/** The predicted iteration time of a mapping. */
double answer_time(const struct place_request *request,
                   const uint32_t *node_of);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_AFFINITY_H
#define PLACE_AFFINITY_H

#include "model/cost_model.h"

/** A group of more users does not join each with each. */
#define AFFINITY_CLIQUE_MAX 64u

/** What makes two threads belong together. A pair's affinity is the sum over
 * the groups that both use. */
enum affinity_kind {
    AFFINITY_COST, ///< seconds an iteration saves if they are on one node:
                   ///< updates of one holder, and pages that are held twice. A
                   ///< group of q users is a hyperedge: 1 / (q - 1) a pair
    AFFINITY_CORRELATION, ///< pages both use ([CVM])
    AFFINITY_COHESION,    ///< the same, times 0 if both only read, 1 if one
                          ///< writes, 2 if both do ([Cohesion])
};

/** A graph: each thread's neighbours, each edge at both ends. */
struct affinity {
    uint32_t n_threads;
    uint32_t *first; ///< [n_threads + 1]: a thread's in the two below
    uint32_t *peers;
    double *weights; ///< > 0
    double total;    ///< of all edges, each once
};

/**
 * Make the graph. A group of more than AFFINITY_CLIQUE_MAX users is not a clique
 * but a ring of them, in order of number, and one that more than half of the
 * threads use is left out if it is that large: it will be everywhere anyway.
 *
 * @param page_s  AFFINITY_COST: seconds that a page which is held twice costs;
 *                0 where memory is not short
 * @param[out] affinity  affinity_release() frees it
 *
 * Context: any thread; allocates. O(uses times users of a group, at most 64).
 */
void affinity_init(struct affinity *affinity, const struct cluster_view *view,
                   enum affinity_kind kind, double page_s);
void affinity_release(struct affinity *affinity);

/** Sum of the edges between threads on different nodes.
 * @param node_of  [n_threads] */
double affinity_cut(const struct affinity *affinity, const uint32_t *node_of);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_REFINE_PRIV_H
#define PLACE_REFINE_PRIV_H

#include "place/answer.h"
#include "place/refine.h"

#define NOBODY UINT32_MAX
#define EPSILON 1e-9 ///< relative: less is rounding

/** A move (partner NOBODY: to `node`) or a swap with a thread on `node`. */
struct change {
    uint32_t thread;
    uint32_t partner;
    uint32_t node;
    double score; ///< the lower the better
};

/** May a thread be moved from where it is? */
static inline int may_move(const struct load_table *table,
                           const uint32_t *current, uint32_t thread)
{
    return answer_may_move(table->view, current, table->node_of, thread);
}

void change_apply(struct load_table *table, const struct change *change);

/** @param from  where the thread was */
void change_take_back(struct load_table *table, const struct change *change,
                      uint32_t from);

// ---- ranking ----

#define N_RANKED 16u ///< changes

/** The most promising changes of a node's threads. */
struct ranking {
    const struct load_table *table;
    const uint32_t *current;
    double *pages; ///< [n_threads]: share in the union, as if cut up evenly
    struct outlook *nodes;        ///< [n_nodes]
    struct item *items;           ///< [n_threads + n_nodes]
    uint32_t *first;              ///< [n_nodes + 1]: of each target, in `items`
    double limit;                 ///< scores that are listed are below
    struct change best[N_RANKED]; ///< by score, which is an estimate
    unsigned n_best;
};

/**
 * @param[out] ranking  ranking_release() frees it, in any case
 * @param      table    must outlive it, as must `current`
 */
void ranking_init(struct ranking *ranking, const struct load_table *table,
                  const uint32_t *current);
void ranking_release(struct ranking *ranking);

/**
 * List the best changes of a node's threads with other nodes, as the table is now.
 *
 * @param targets     [n_targets]; the node itself among them counts for nothing
 * @param with_swaps  0: moves only
 */
void ranking_fill(struct ranking *ranking, uint32_t node,
                  const uint32_t *targets, uint32_t n_targets, int with_swaps);

#endif

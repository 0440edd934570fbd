// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_LRU_H
#define MODEL_LRU_H

#include "base/status.h"

/** The order in which a node uses groups in one iteration; a group may come
 * several times, once for each thread. */
struct use_order {
    const uint32_t *groups; ///< [n]
    uint32_t n;
};

/**
 * Which uses miss, in a memory that throws out what was used least recently,
 * once the iteration has been repeated often: the distance of a use is the
 * number of different pages used since the group was last used, itself
 * included; with more than `memory_pages` it misses ([Mattson70]'s stack).
 * Pages of a group are used in the same order each time, so a group is either
 * all there or not at all.
 *
 * @param orders       the iterations that follow each other in turn, n_orders
 *                     of them; one if all are alike
 * @param group_pages  [groups]
 * @param n_groups     group numbers are below
 * @param memory_pages what fits
 * @param[out] missed  [n_groups]: times that the group was missed, mean over
 *                     the orders; groups not used are left as they are
 *
 * Context: any thread; allocates; time O(sum of n).
 * Source: [Mattson70].
 */
void lru_missed(const struct use_order *orders, unsigned n_orders,
                const uint32_t *group_pages, uint32_t n_groups,
                double memory_pages, double *missed);

#endif

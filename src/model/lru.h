// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_LRU_H
#define MODEL_LRU_H

#include "base/status.h"

/**
 * Which uses miss, in a memory that throws out what was used least recently,
 * once the iteration has been repeated often: the distance of a use is the
 * number of different pages used since the group was last used, itself
 * included; with more than `memory_pages` it misses ([Mattson70]'s stack).
 * Pages of a group are used in the same order each time, so a group is either
 * all there or not at all.
 *
 * @param order        [n] the groups that a node uses in an iteration; a group may
 *                     come several times, once for each thread
 * @param group_pages  [groups]
 * @param n_groups     group numbers are below
 * @param memory_pages what fits
 * @param[out] missed  [n_groups]: times that the group was missed; groups not used
 *                     are left as they are
 *
 * Context: any thread; allocates; time O(n).
 * Source: [Mattson70].
 */
void lru_missed(const uint32_t *order, uint32_t n, const uint32_t *group_pages,
                uint32_t n_groups, double memory_pages, double *missed);

#endif

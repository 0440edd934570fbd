// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_REFINE_H
#define PLACE_REFINE_H

#include "model/load_table.h"

struct refine_limits {
    uint64_t n_trials;    ///< mappings tried at most
    double good_enough_s; ///< end when no node takes longer than this
};

/**
 * Third subphase, for threads that differ: from the mapping in the table, take
 * the single move or the swap of a pair, with a thread of the slowest node,
 * that shortens most, until none is found that shortens. Pinned threads stay.
 *
 * @param table    all threads placed, settled; holds the result
 * @param current  [n_threads]: where pinned threads are
 * @param[in,out] limits  n_trials becomes what is left
 *
 * Context: any thread; allocates. Deterministic.
 */
void refine(struct load_table *table, const uint32_t *current,
            struct refine_limits *limits);

/**
 * Take moves back that are not needed: threads that are not where `current` has
 * them go back, one by one or two in exchange, if the longest time stays what
 * it is. Each is tried once.
 */
void refine_fewer_moves(struct load_table *table, const uint32_t *current);

#endif

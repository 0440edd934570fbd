// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_FIRST_MAPPING_H
#define PLACE_FIRST_MAPPING_H

#include <stdint.h>

/*
 * How many threads each node gets when they are started, from what is known before any
 * of them has run: power and memory of the nodes, how much memory the program has
 * allocated, and nothing of the threads. A policy decides anew when they have been
 * measured; until then the run goes on with this.
 */

/** A node that may be given threads. */
struct first_node {
    double power;          ///< C of one processor, relative to any; > 0
    uint32_t n_processors; ///< p: workers; at least 1
    uint32_t n_threads;    ///< that are there already
    uint64_t memory_pages; ///< M; UINT64_MAX: not looked at
};

/**
 * Take small differences for none: measured powers of equal machines differ. If all powers
 * are within a tenth of the greatest, all become that.
 *
 * @param[in,out] nodes  [n_nodes]
 *
 * Context: any thread; pure.
 */
void first_mapping_level(struct first_node *nodes, uint32_t n_nodes);

/**
 * Share out threads that are taken for alike: one after the other goes where it would be
 * done first, T_x(n) = ceil(n / p_x) / C_x, of the nodes that have memory for one more;
 * if none has, of all. Equal nodes get as many, and where that does not come out even the
 * last ones have one more (main() is on the first).
 *
 * @param nodes            [n_nodes]
 * @param n_threads        to share out
 * @param pages_of_thread  m: memory that each needs; 0: not known
 * @param[out] counts      [n_nodes], sum n_threads
 *
 * Source: list scheduling, [Graham69], for processors of unequal speed; memory as a gate,
 * [Xiao02]. Context: any thread; pure. Takes n_nodes times n_threads steps.
 */
void first_mapping_share_out(const struct first_node *nodes, uint32_t n_nodes,
                             uint32_t n_threads, double pages_of_thread,
                             uint32_t *counts);

#endif

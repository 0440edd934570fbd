// SPDX-License-Identifier: BSD-3-Clause
#ifndef TASKS_PIECES_H
#define TASKS_PIECES_H

#include <stddef.h>

#include "tasks/shares.h"

/*
 * A loop's range in *pieces* of equal length, each of which some node does: what a node
 * does then need not be in a row. Pure arithmetic.
 */

/** The most pieces that a node does. */
#define NODE_PIECES_MAX 256u

/** Pieces next to each other. */
struct piece_run {
    uint16_t piece; ///< the first one's number
    uint16_t n;     ///< one at least
};

/** A range, and in how many pieces it is. */
struct grid {
    int64_t first;
    int64_t end;
    unsigned n;
};

/** How many pieces a range has for so many nodes: enough that each node can have its part
 * of it to a few percent. At most one for each iteration. */
unsigned pieces_count(unsigned n_nodes, int64_t first, int64_t end);

/** Where a piece begins. @param piece  <= grid->n, which is the end of the last one */
int64_t piece_at(const struct grid *grid, unsigned piece);

/** Who does each piece, if nodes have their shares: who has its middle.
 * @param shares       [n_shares]
 * @param[out] node_of [n]  numbers of shares */
void pieces_of_shares(const struct share *shares, unsigned n_shares, unsigned n,
                      uint32_t *node_of);

/** What a node does.
 * @param node_of    [n]
 * @param[out] runs  [NODE_PIECES_MAX]
 * @return how many; NODE_PIECES_MAX + 1: it has more pieces than that */
unsigned pieces_list_runs(const uint32_t *node_of, unsigned n, uint32_t node,
                          struct piece_run *runs);

/** What these runs, and a number for each of their pieces, take of a message. */
size_t pieces_bytes(const struct piece_run *runs, unsigned n_runs);

/** Can each node do what it has, and be told in so many bytes? @param node_of  [n] */
int pieces_are_possible(const uint32_t *node_of, unsigned n, unsigned n_nodes,
                        size_t room);

#endif

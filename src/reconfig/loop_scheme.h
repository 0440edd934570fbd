// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_LOOP_SCHEME_H
#define RECONFIG_LOOP_SCHEME_H

#include "reconfig/scheme.h"

/*
 * A loop that is entered again, on nodes that are short of memory: which node does which
 * piece of its range is decided by a scheme (scheme.h) of its own, for which pieces are
 * threads and entries are iterations that are marked. The same measurements, trigger, policy
 * and model, then, and the same steps back.
 */

/** Thread 0 would be main(), which never moves. */
#define LOOP_THREAD(piece) ((piece) + 1ull)
#define LOOP_PIECE(thread) ((unsigned)(thread)-1)

/** Does an entry lose much to memory that is short, on some node?
 * @param done  [n_nodes] what each did in it */
int loop_is_short(const struct history_node *done, unsigned n_nodes);

/** An entry is over. */
struct loop_entry {
    uint64_t number; ///< rising
    unsigned n_nodes;
    unsigned n_pieces;
    const struct history_node *done; ///< [n_nodes]
    const uint32_t *node_of;         ///< [n_pieces] who has done which
    const double *piece_s;           ///< [n_pieces] processor time there
};

/** Tell the loop's scheme. Under the node lock. */
void loop_take_entry(struct scheme *scheme, const struct loop_entry *entry,
                     uint64_t now_ns);

#endif

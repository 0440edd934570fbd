// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PREPARED_H
#define RUNTIME_PREPARED_H

#include <stdint.h>

/*
 * What main() does until it waits for the end of a thread for the first time: prepared.c.
 * On the root; by main() itself, no lock.
 */
struct prepared {
    int is_followed; ///< there are checkpoints, or there was one
    int is_repeated; ///< main() prepares again what it did before a checkpoint
    int is_waiting;  ///< it has come to that wait, and has not gone on
    int has_gone_on; ///< from that wait: spoilt, too
    int has_threads; ///< it has created some
    const char
        *spoilt;   ///< a function that it has called since: no more checkpoints
    uint64_t hash; ///< of its calls and their results
    uint64_t n_calls;   ///< of ours
    const char *latest; ///< of them
    unsigned n_told;    ///< nodes, as it is or was told
};

/** main() calls a function of ours; the name is a literal. */
void prepared_note_call(struct prepared *prepared, const char *function);

/** It has got this from one: an address, a number. */
void prepared_note_result(struct prepared *prepared, uint64_t result);

/** It begins to wait for the end of a thread, or of all. */
void prepared_begin_wait(struct prepared *prepared);

/** It goes on from there. */
void prepared_end_wait(struct prepared *prepared);

/** The number of nodes that main() is told, as long as it prepares again: what it was told
 * then. @param n_nodes  that there are */
static inline unsigned prepared_n_nodes(const struct prepared *prepared,
                                        unsigned n_nodes)
{
    return prepared->is_repeated ? prepared->n_told : n_nodes;
}

/** A node that main() names, as it was told how many there are: one that there is. */
static inline unsigned prepared_node(const struct prepared *prepared,
                                     unsigned n_nodes, unsigned node)
{
    return prepared->is_repeated && node < prepared->n_told ? node % n_nodes
                                                            : node;
}

#endif

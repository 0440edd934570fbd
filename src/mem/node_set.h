// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_NODE_SET_H
#define MEM_NODE_SET_H

#include "base/status.h"

/** A set of nodes: bit i of word i / 64. All zero is the empty set. */
struct node_set {
    uint64_t words[TM_MAX_NODES / 64];
};

static inline void node_set_add(struct node_set *set, unsigned node)
{
    set->words[node / 64] |= (uint64_t)1 << node % 64;
}

static inline void node_set_remove(struct node_set *set, unsigned node)
{
    set->words[node / 64] &= ~((uint64_t)1 << node % 64);
}

static inline int node_set_has(const struct node_set *set, unsigned node)
{
    return (int)(set->words[node / 64] >> node % 64 & 1);
}

static inline int node_set_is_empty(const struct node_set *set)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < TM_MAX_NODES / 64; i++) {
        any |= set->words[i];
    }
    return any == 0;
}

/** @return the first node of the set that is `from` or above, -1 if none */
static inline int node_set_next(const struct node_set *set, unsigned from)
{
    for (unsigned i = from / 64; i < TM_MAX_NODES / 64; i++) {
        uint64_t word = set->words[i];

        if (i == from / 64) {
            word &= ~(uint64_t)0 << from % 64;
        }
        if (word != 0) {
            return (int)(i * 64) + __builtin_ctzll(word);
        }
    }
    return -1;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_NODE_SET_H
#define MEM_NODE_SET_H

#include <stddef.h>

#include "base/status.h"

/*
 * Sets of nodes: node i is bit i % 64 of word i / 64. Some words are enough where all nodes
 * have low numbers: words_next() and words_any() take any number of them.
 */

/** Words of a set that has room for every node. */
#define NODE_SET_WORDS (TM_MAX_NODES / 64)

/** Bytes of such a set in a message, at most. */
#define NODE_SET_BYTES_MAX (TM_MAX_NODES / 8)

/** All zero is the empty set. */
struct node_set {
    uint64_t words[NODE_SET_WORDS];
};

/** @param words  [n] @return 1 a bit is set */
static inline int words_any(const uint64_t *words, unsigned n)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < n; i++) {
        any |= words[i];
    }
    return any != 0;
}

/** @param words  [n] @return the first bit that is set, `from` or above; -1 if none */
static inline int words_next(const uint64_t *words, unsigned n, unsigned from)
{
    for (unsigned i = from / 64; i < n; i++) {
        uint64_t word = words[i];

        if (i == from / 64) {
            word &= ~(uint64_t)0 << from % 64;
        }
        if (word != 0) {
            return (int)(i * 64) + __builtin_ctzll(word);
        }
    }
    return -1;
}

/** Any node that there can be. */
static inline void node_set_add(struct node_set *set, unsigned node)
{
    set->words[node / 64] |= (uint64_t)1 << node % 64;
}

/** It need not be in it. */
static inline void node_set_remove(struct node_set *set, unsigned node)
{
    set->words[node / 64] &= ~((uint64_t)1 << node % 64);
}

/** @return 1 the node is in it */
static inline int node_set_has(const struct node_set *set, unsigned node)
{
    return (int)(set->words[node / 64] >> node % 64 & 1);
}

/** @return 1 no node is */
static inline int node_set_is_empty(const struct node_set *set)
{
    return !words_any(set->words, NODE_SET_WORDS);
}

/** @return the first node of the set that is `from` or above, -1 if none */
static inline int node_set_next(const struct node_set *set, unsigned from)
{
    return words_next(set->words, NODE_SET_WORDS, from);
}

/**
 * A set as it is sent: node i is bit i % 8 of byte i / 8, up to the last byte that is not 0.
 *
 * @param[out] bytes  [NODE_SET_BYTES_MAX]
 * @return how many there are
 */
static inline size_t node_set_encode(const struct node_set *set, uint8_t *bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < NODE_SET_BYTES_MAX; i++) {
        bytes[i] = (uint8_t)(set->words[i / 8] >> i % 8 * 8);
        n = bytes[i] != 0 ? i + 1 : n;
    }
    return n;
}

/** @param bytes  [n], any @return the set; nodes that there cannot be are left out */
static inline struct node_set node_set_decode(const uint8_t *bytes, size_t n)
{
    struct node_set set = {{0}};

    for (size_t i = 0; i < n && i < NODE_SET_BYTES_MAX; i++) {
        set.words[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    }
    return set;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Words that tell how often they were stepped: each thread of a test has some in
 * shared memory, and steps them wherever it is.
 */
#ifndef WORDS_H
#define WORDS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t next_word(uint64_t word)
{
    return word * 6364136223846793005u + 1442695040888963407u;
}

static inline void words_begin(uint64_t *words, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = first;
    }
}

static inline void words_step(uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = next_word(words[i]);
    }
}

// @return how many were not stepped n_steps times since words_begin(words, n, first)
static inline size_t words_wrong(const uint64_t *words, size_t n,
                                 uint64_t first, uint64_t n_steps)
{
    uint64_t right = first;
    size_t n_wrong = 0;

    for (uint64_t i = 0; i < n_steps; i++) {
        right = next_word(right);
    }
    for (size_t i = 0; i < n; i++) {
        n_wrong += words[i] != right;
    }
    return n_wrong;
}

#endif

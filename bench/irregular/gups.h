// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_IRREGULAR_GUPS_H
#define BENCH_IRREGULAR_GUPS_H
/*
 * Updates drawn by lot, as gups.c and its MPI program have them.
 */

#include <stddef.h>
#include <stdint.h>

enum { GUPS_BATCH = 1024 };

/** What is drawn. @param thread, batch, i  whose update it is */
static inline uint64_t gups_draw(uint64_t thread, uint64_t batch, uint64_t i)
{
    uint64_t number = (thread << 44 | batch << 20 | i) + 1;

    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

/** The word of a table that an update changes. */
static inline size_t gups_place(uint64_t update, size_t n_words)
{
    return (size_t)((update >> 20) % n_words);
}

/** What all words of the table are in the end, by exclusive or. */
static inline uint64_t gups_expected(unsigned n_threads, unsigned n_batches)
{
    uint64_t all = 0;

    for (unsigned thread = 0; thread < n_threads; thread++) {
        for (unsigned batch = 0; batch < n_batches; batch++) {
            for (unsigned i = 0; i < GUPS_BATCH; i++) {
                all ^= gups_draw(thread, batch, i);
            }
        }
    }
    return all;
}

#endif

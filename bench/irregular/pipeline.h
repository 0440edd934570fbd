// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_IRREGULAR_PIPELINE_H
#define BENCH_IRREGULAR_PIPELINE_H
/*
 * The items of a pipeline, and what its stages do to them.
 */

#include <stddef.h>
#include <stdint.h>

enum { ITEM_WORDS = 512 }; // 4 KiB

struct item {
    uint64_t words[ITEM_WORDS];
};

static inline void item_begin(struct item *item, uint64_t number)
{
    for (unsigned k = 0; k < ITEM_WORDS; k++) {
        item->words[k] = number * ITEM_WORDS + k;
    }
}

static inline void item_work(struct item *item, uint64_t stage)
{
    for (unsigned k = 0; k < ITEM_WORDS; k++) {
        item->words[k] = item->words[k] * 3 + stage;
    }
}

static inline uint64_t item_sum(const struct item *item)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < ITEM_WORDS; k++) {
        sum += item->words[k] ^ k;
    }
    return sum;
}

/** What the sums of all items add up to when they have gone through all stages. */
static inline uint64_t items_expected(size_t n_items, unsigned n_stages)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n_items; i++) {
        struct item item;

        item_begin(&item, i);
        for (unsigned stage = 0; stage < n_stages; stage++) {
            item_work(&item, stage);
        }
        sum += item_sum(&item);
    }
    return sum;
}

#endif

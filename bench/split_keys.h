// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_SPLIT_KEYS_H
#define BENCH_SPLIT_KEYS_H
/* How quicksort divides its keys, in a bag of tasks (irregular/quicksort.c) and in tasks
 * (tasks/problems.c). */

#include <stdint.h>

static inline uint32_t middle_of(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t least = a < b ? a : b;
    const uint32_t most = a < b ? b : a;

    return c < least ? least : c > most ? most : c;
}

/** Divide keys [first, end), two at least [Hoare61].
 * @return where the second part begins; neither is empty */
static inline uint64_t split_keys(uint32_t *keys, uint64_t first, uint64_t end)
{
    const uint32_t pivot =
        middle_of(keys[first], keys[first + (end - first) / 2], keys[end - 1]);
    uint64_t low = first;
    uint64_t high = end - 1;

    for (;;) {
        while (keys[low] < pivot) {
            low++;
        }
        while (keys[high] > pivot) {
            high--;
        }
        if (low >= high) {
            return low == first ? first + 1 : low;
        }
        const uint32_t key = keys[low];

        keys[low++] = keys[high];
        keys[high--] = key;
    }
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_RANDOM_NUMBERS_TEST_H
#define MEM_RANDOM_NUMBERS_TEST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Random numbers for this folder's tests. The seed is printed; TM_TEST_SEED
 * repeats a run.
 */

static uint64_t random_state;

static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static inline size_t random_below(size_t limit)
{
    return (size_t)(next_random() >> 11) % limit;
}

static inline void seed_random(void)
{
    const char *text = getenv("TM_TEST_SEED");

    random_state = text != NULL ? strtoull(text, NULL, 10)
                                : (uint64_t)time(NULL) * 2654435761u;
    random_state |= 1;
    printf("TM_TEST_SEED=%llu\n", (unsigned long long)random_state);
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * A radix sort of 32-bit keys. In each pass a thread counts the digits of its part of the
 * keys, and then puts these keys to their new places: it writes in turn to as many places of
 * the array as there are digits.
 *
 *     radix_sort [THREADS [KEYS]]
 */
#include <string.h>

#include "program.h"

enum { BITS = 8, N_DIGITS = 1 << BITS, N_PASSES = 4 };

static TM_SHARED struct {
    tm_barrier barrier;
    uint32_t *keys[2];            // [size]
    uint32_t (*counts)[N_DIGITS]; // [n_threads]
} job;

static unsigned digit_of(uint32_t key, unsigned pass)
{
    return key >> pass * BITS & (N_DIGITS - 1);
}

// Where the keys of this thread go, by digit.
static void find_places(size_t me, uint32_t *places)
{
    uint32_t place = 0;

    for (unsigned digit = 0; digit < N_DIGITS; digit++) {
        for (size_t i = 0; i < program.n_threads; i++) {
            if (i == me) {
                places[digit] = place;
            }
            place += job.counts[i][digit];
        }
    }
}

static void sort_by_digit(size_t me, unsigned pass)
{
    const uint32_t *from = job.keys[pass % 2];
    uint32_t *to = job.keys[1 - pass % 2];
    const size_t start = part_start(program.size, me);
    const size_t end = part_start(program.size, me + 1);
    uint32_t counts[N_DIGITS] = {0};
    uint32_t places[N_DIGITS];

    for (size_t i = start; i < end; i++) {
        counts[digit_of(from[i], pass)]++;
    }
    memcpy(job.counts[me], counts, sizeof counts);
    tm_barrier_wait(&job.barrier);
    find_places(me, places);
    for (size_t i = start; i < end; i++) {
        to[places[digit_of(from[i], pass)]++] = from[i];
    }
    tm_barrier_wait(&job.barrier);
}

static void *sort_part(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t end = part_start(program.size, me + 1);

    for (size_t i = part_start(program.size, me); i < end; i++) {
        job.keys[0][i] = (uint32_t)mix(i);
    }
    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        sort_by_digit(me, pass);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const uint32_t *sorted;
    uint64_t sum = 0;
    uint32_t surplus = 0;

    program_begin(argc, argv, (struct program){2, 1 << 20, 1});
    job.keys[0] = program_alloc("keys", program.size * sizeof(uint32_t));
    job.keys[1] = program_alloc("keys too", program.size * sizeof(uint32_t));
    job.counts =
        program_alloc("counts", program.n_threads * sizeof *job.counts);
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(sort_part);
    sorted = job.keys[N_PASSES % 2];
    for (size_t i = 0; i < program.size; i++) {
        if (i > 0 && sorted[i] < sorted[i - 1]) {
            PROGRAM_FAIL("key %zu is less than the one before it", i);
        }
        surplus += sorted[i] - (uint32_t)mix(i);
        sum += sorted[i] * (2 * i + 1);
    }
    if (surplus != 0) {
        PROGRAM_FAIL("other keys than before");
    }
    program_print("keys", (double)program.size, sum);
    return 0;
}

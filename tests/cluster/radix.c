// SPDX-License-Identifier: BSD-3-Clause
/*
 * A radix sort: its permutation writes to all pages of an array in turn, as the keys
 * come, so that hardly any write is near the one before it. Checks that the keys are
 * sorted.
 *
 *     radix THREADS KEYS
 */
#include <string.h>

#include "program.h"

enum { MAX_THREADS = 64, BITS = 8, N_DIGITS = 1 << BITS, N_PASSES = 2 };

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_keys;
    uint32_t *keys[2];            // [n_keys]
    uint32_t (*counts)[N_DIGITS]; // [n_threads]
} job;

static unsigned part_start(unsigned thread)
{
    return (unsigned)((uint64_t)job.n_keys * thread / job.n_threads);
}

static unsigned digit_of(uint32_t key, unsigned pass)
{
    return key >> pass * BITS & (N_DIGITS - 1);
}

// Where each digit of this thread goes.
static void rank_digits(unsigned me, unsigned *places)
{
    unsigned place = 0;

    for (unsigned digit = 0; digit < N_DIGITS; digit++) {
        for (unsigned i = 0; i < job.n_threads; i++) {
            if (i == me) {
                places[digit] = place;
            }
            place += job.counts[i][digit];
        }
    }
}

static void run_pass(unsigned me, unsigned pass)
{
    const uint32_t *from = job.keys[pass % 2];
    uint32_t *to = job.keys[1 - pass % 2];
    uint32_t counts[N_DIGITS] = {0};
    unsigned places[N_DIGITS];

    for (unsigned i = part_start(me); i < part_start(me + 1); i++) {
        counts[digit_of(from[i], pass)]++;
    }
    memcpy(job.counts[me], counts, sizeof counts);
    tm_barrier_wait(&job.barrier);
    rank_digits(me, places);
    for (unsigned i = part_start(me); i < part_start(me + 1); i++) {
        to[places[digit_of(from[i], pass)]++] = from[i];
    }
    tm_barrier_wait(&job.barrier);
}

static void *run(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned i = part_start(me); i < part_start(me + 1); i++) {
        job.keys[0][i] = (uint32_t)mix(1, i) & 0xffff;
    }
    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        run_pass(me, pass);
    }
    return NULL;
}

static void *allocate(size_t size)
{
    void *block = tm_alloc(size, NULL);

    if (block == NULL) {
        FAIL("%s", "no memory");
    }
    return block;
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_THREADS];
    uint32_t sum = 0;

    OK(tm_init(&argc, &argv));
    if (argc != 3) {
        FAIL("%s", "radix THREADS KEYS");
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_keys = (unsigned)atoi(argv[2]);
    if (job.n_threads == 0 || job.n_threads > MAX_THREADS) {
        FAIL("1 to %d threads", MAX_THREADS);
    }
    for (unsigned i = 0; i < 2; i++) {
        job.keys[i] = allocate(job.n_keys * sizeof(uint32_t));
    }
    job.counts = allocate(job.n_threads * sizeof *job.counts);
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, run, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    for (unsigned i = 0; i < job.n_keys; i++) {
        const uint32_t key = job.keys[N_PASSES % 2][i];

        sum += key - ((uint32_t)mix(1, i) & 0xffff);
        if (i > 0 && key < job.keys[N_PASSES % 2][i - 1]) {
            FAIL("key %u is less than the one before it", i);
        }
    }
    if (sum != 0) {
        FAIL("%s", "other keys than before");
    }
    puts("result: right");
    return 0;
}

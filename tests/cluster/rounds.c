// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that never says where its iterations end: rounds of two barriers.
 * Each thread works in its own part of a shared array; the sum tells whether
 * all of it was done, wherever the threads were.
 *
 *     rounds THREADS ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "teamster.h"
#include "words.h"

enum { N_WORDS = 2048, N_PASSES = 300 };

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_rounds;
    uint64_t *words; // [n_threads][N_WORDS]
} job;

static void work(uint64_t *words)
{
    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        words_step(words, N_WORDS);
    }
}

static void *run(void *arg)
{
    const size_t me = (size_t)arg;
    uint64_t *words = job.words + me * N_WORDS;

    words_begin(words, N_WORDS, me);
    for (unsigned round = 0; round < job.n_rounds; round++) {
        work(words);
        tm_barrier_wait(&job.barrier);
        work(words);
        tm_barrier_wait(&job.barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[256];
    size_t n_wrong = 0;

    tm_init(&argc, &argv);
    if (argc != 3) {
        fprintf(stderr, "usage: rounds THREADS ROUNDS\n");
        return 64;
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_rounds = (unsigned)atoi(argv[2]);
    job.words = tm_alloc(job.n_threads * N_WORDS * sizeof *job.words, NULL);
    tm_barrier_init(&job.barrier, job.n_threads);
    for (size_t i = 0; i < job.n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, run, (void *)i) != TM_OK) {
            return 71;
        }
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        n_wrong += words_wrong(job.words + i * N_WORDS, N_WORDS, i,
                               (uint64_t)2 * job.n_rounds * N_PASSES);
    }
    printf("wrong: %zu\n", n_wrong);
    return n_wrong != 0;
}

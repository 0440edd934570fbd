// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that never says where its iterations end: rounds of two barriers.
 * Each thread works in its own part of a shared array; the sum tells whether
 * all of it was done, wherever the threads were.
 *
 *     rounds THREADS ROUNDS [irregular | phases | late | held]
 *
 * Irregular: little work, and each time another barrier, drawn at random. Phases: as many
 * rounds of three other barriers follow. Late: so many irregular rounds, and as many at
 * the ends of which the program calls tm_iteration_end(). Held: no thread begins until
 * there has been time to ask for something; then "held" is said.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "teamster.h"
#include "words.h"

enum { N_WORDS = 2048, N_PASSES = 300, N_BARRIERS = 5, HELD_S = 2 };

static TM_SHARED struct {
    tm_barrier barriers[N_BARRIERS];
    tm_mutex start;
    unsigned n_threads;
    unsigned n_rounds;
    unsigned n_passes;
    int is_irregular;
    int has_phases;
    int is_late;
    uint64_t *words; // [n_threads][N_WORDS]
} job;

static void work(uint64_t *words)
{
    for (unsigned pass = 0; pass < job.n_passes; pass++) {
        words_step(words, N_WORDS);
    }
}

// All threads draw the same.
static tm_barrier *next_barrier(uint32_t *draw)
{
    *draw = *draw * 1664525u + 1013904223u;
    return &job.barriers[job.is_irregular ? (*draw >> 16) % N_BARRIERS : 0];
}

// Twice the work, as in the rounds before; and three barriers.
static void end_in_phases(uint64_t *words)
{
    for (unsigned round = 0; round < job.n_rounds; round++) {
        work(words);
        tm_barrier_wait(&job.barriers[1]);
        work(words);
        tm_barrier_wait(&job.barriers[2]);
        tm_barrier_wait(&job.barriers[3]);
    }
}

static void end_with_marks(uint64_t *words)
{
    for (unsigned round = 0; round < job.n_rounds; round++) {
        work(words);
        work(words);
        tm_iteration_end(&job.barriers[0]);
    }
}

static void *run(void *arg)
{
    const size_t me = (size_t)arg;
    uint32_t draw = 1;
    uint64_t *words = job.words + me * N_WORDS;

    tm_mutex_lock(&job.start);
    tm_mutex_unlock(&job.start);
    words_begin(words, N_WORDS, me);
    for (unsigned round = 0; round < job.n_rounds; round++) {
        work(words);
        tm_barrier_wait(next_barrier(&draw));
        work(words);
        tm_barrier_wait(next_barrier(&draw));
    }
    if (job.has_phases) {
        end_in_phases(words);
    } else if (job.is_late) {
        end_with_marks(words);
    }
    return NULL;
}

static void choose(const char *way)
{
    job.has_phases = strcmp(way, "phases") == 0;
    job.is_late = strcmp(way, "late") == 0;
    job.is_irregular = job.is_late || strcmp(way, "irregular") == 0;
}

int main(int argc, char **argv)
{
    tm_thread threads[256];
    size_t n_wrong = 0;
    int is_held;

    tm_init(&argc, &argv);
    if (argc != 3 && argc != 4) {
        fprintf(stderr,
                "usage: rounds THREADS ROUNDS [irregular|phases|late|held]\n");
        return 64;
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_rounds = (unsigned)atoi(argv[2]);
    job.words = tm_alloc(job.n_threads * N_WORDS * sizeof *job.words, NULL);
    choose(argc == 4 ? argv[3] : "");
    is_held = argc == 4 && strcmp(argv[3], "held") == 0;
    job.n_passes = job.is_irregular ? 1 : N_PASSES;
    for (unsigned i = 0; i < N_BARRIERS; i++) {
        tm_barrier_init(&job.barriers[i], job.n_threads);
    }
    tm_mutex_init(&job.start, TM_MUTEX_NORMAL);
    tm_mutex_lock(&job.start);
    for (size_t i = 0; i < job.n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, run, (void *)i) != TM_OK) {
            return 71;
        }
    }
    if (is_held) {
        puts("held");
        fflush(stdout);
        sleep(HELD_S);
    }
    tm_mutex_unlock(&job.start);
    for (size_t i = 0; i < job.n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        n_wrong += words_wrong(job.words + i * N_WORDS, N_WORDS, i,
                               (uint64_t)2 * job.n_rounds * job.n_passes *
                                   (job.has_phases || job.is_late ? 2 : 1));
    }
    printf("wrong: %zu\n", n_wrong);
    return n_wrong != 0;
}

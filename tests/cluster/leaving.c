// SPDX-License-Identifier: BSD-3-Clause
/*
 * Do pages leave with their threads? Each thread has pages of its own; in each
 * iteration it reads every other one and writes the rest, by turns, as programs with
 * two grids do; and it reads the last page of the thread before it. When all is settled
 * the nodes' numbers over the last iterations tell what pages are still held by
 * nodes that do not use them: their updates, and faults of those who write them.
 *
 *     leaving THREADS ITERATIONS changing|same
 *
 * With `same`, what is written is what was there before: nothing needs to be sent.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "teamster.h"

enum { N_PAGES = 16, N_WORDS = 512, N_PASSES = 80, N_LAST = 20 };

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_iterations;
    unsigned changes;
    uint64_t (*pages)[N_PAGES][N_WORDS]; // [n_threads]
    unsigned *node_of;                   // [n_threads] at the end
    uint64_t numbers[3];                 // over the last iterations
} job;

static void work(uint64_t (*pages)[N_WORDS], unsigned iteration)
{
    const uint64_t value = job.changes ? iteration : 1;

    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        for (unsigned k = iteration % 2; k < N_PAGES; k += 2) {
            for (unsigned i = 0; i < N_WORDS; i++) {
                const volatile uint64_t *other = &pages[k ^ 1u][i];
                volatile uint64_t *word = &pages[k][i];

                *word = value + *other % 1;
            }
        }
    }
}

// The last page has an odd number: written in odd iterations.
static uint64_t expected(unsigned iteration)
{
    return !job.changes ? 1 : iteration % 2 == 1 ? iteration : iteration - 1;
}

static void add_up(uint64_t *numbers)
{
    memset(numbers, 0, 3 * sizeof *numbers);
    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats;

        if (tm_stats(node, &stats) != TM_OK) {
            abort();
        }
        numbers[0] += stats.updates_sent;
        numbers[1] += stats.write_faults;
        numbers[2] += stats.threads_in;
    }
}

static void *run(void *arg)
{
    const size_t me = (size_t)arg;
    const uint64_t *neighbours =
        job.pages[(me + job.n_threads - 1) % job.n_threads][N_PAGES - 1];
    uint64_t before[3] = {0};
    uint64_t after[3];
    uint64_t wrong = 0;

    for (unsigned k = 1; k <= job.n_iterations; k++) {
        if (me == 0 && k + N_LAST == job.n_iterations) {
            add_up(before);
        }
        work(job.pages[me], k);
        tm_iteration_end(&job.barrier);
        wrong += neighbours[k % N_WORDS] != expected(k);
        tm_barrier_wait(&job.barrier);
    }
    if (me == 0) {
        add_up(after);
        for (unsigned i = 0; i < 2; i++) {
            job.numbers[i] = after[i] - before[i];
        }
        job.numbers[2] = after[2];
    }
    job.node_of[me] = tm_node_self();
    return (void *)wrong;
}

// Between threads that are neighbours, and on nodes that are not the same.
static unsigned n_borders(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < job.n_threads; i++) {
        n += job.node_of[i] != job.node_of[(i + 1) % job.n_threads];
    }
    return n;
}

int main(int argc, char **argv)
{
    tm_thread threads[256];
    uint64_t n_wrong = 0;

    tm_init(&argc, &argv);
    if (argc != 4) {
        fprintf(stderr, "usage: leaving THREADS ITERATIONS changing|same\n");
        return 64;
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_iterations = (unsigned)atoi(argv[2]);
    job.changes = strcmp(argv[3], "changing") == 0;
    job.pages = tm_alloc(job.n_threads * sizeof *job.pages, NULL);
    job.node_of = tm_alloc(job.n_threads * sizeof *job.node_of, NULL);
    tm_barrier_init(&job.barrier, job.n_threads);
    for (size_t i = 0; i < job.n_threads; i++) { // they all come from here
        memset(job.pages[i], 0, sizeof job.pages[i]);
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, run, (void *)i) != TM_OK) {
            return 71;
        }
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        void *wrong = NULL;

        tm_thread_join(threads[i], &wrong);
        n_wrong += (uint64_t)wrong;
    }
    printf("wrong: %llu, moved: %llu, borders: %u, iterations: %d, "
           "updates: %llu, write faults: %llu\n",
           (unsigned long long)n_wrong, (unsigned long long)job.numbers[2],
           n_borders(), N_LAST, (unsigned long long)job.numbers[0],
           (unsigned long long)job.numbers[1]);
    return n_wrong != 0;
}

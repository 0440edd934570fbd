// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program that goes on until it is told to end, however slow the machine is: each
 * thread steps the words of its part of a shared array once an iteration. Thread 0
 * looks for a file meanwhile, and when that is there the next iteration is the last.
 * The words tell whether every iteration was done, wherever the threads were.
 *
 *     until FILE THREADS [WORDS]    WORDS of each thread, 4096 if not given
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "teamster.h"
#include "words.h"

enum { MAX_THREADS = 64, CALM_NS = 300 * 1000 };

static TM_SHARED struct {
    tm_barrier barrier;
    char file[256];
    size_t n_words;  // of a thread
    uint64_t *words; // [n_threads][n_words]
    uint64_t n_iterations;
    int is_over; // written by thread 0 only, between two iteration ends
} job;

static void look(void)
{
    const struct timespec calm = {.tv_nsec = CALM_NS};

    nanosleep(&calm, NULL);
    job.n_iterations++;
    job.is_over = access(job.file, F_OK) == 0;
}

static void end_iteration(void)
{
    if (tm_iteration_end(&job.barrier) != TM_OK) {
        abort();
    }
}

static void *run(void *arg)
{
    const size_t me = (size_t)arg;
    uint64_t *words = job.words + me * job.n_words;

    words_begin(words, job.n_words, me);
    for (;;) {
        words_step(words, job.n_words);
        if (me == 0) {
            look();
        }
        end_iteration();
        if (job.is_over) {
            return NULL;
        }
        if (tm_barrier_wait(&job.barrier) != TM_OK) { // all have read it
            abort();
        }
    }
}

static void print_who_is_alive(void)
{
    printf("of %u nodes are alive:", tm_node_count());
    for (unsigned node = 0; node < TM_MAX_NODES + 1; node++) {
        if (tm_node_is_alive(node)) {
            printf(" %u", node);
        }
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_THREADS];
    size_t n_threads;
    size_t n_wrong = 0;

    tm_init(&argc, &argv);
    n_threads = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
    job.n_words = argc >= 4 ? strtoul(argv[3], NULL, 10) : 4096;
    if (n_threads < 1 || n_threads > MAX_THREADS || job.n_words < 1) {
        fprintf(stderr, "usage: until FILE THREADS [WORDS]\n");
        return 64;
    }
    snprintf(job.file, sizeof job.file, "%s", argv[1]);
    job.words = tm_alloc(n_threads * job.n_words * sizeof *job.words, NULL);
    tm_barrier_init(&job.barrier, (unsigned)n_threads);
    for (size_t i = 0; i < n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, run, (void *)i) != TM_OK) {
            return 71;
        }
    }
    for (size_t i = 0; i < n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < n_threads; i++) {
        n_wrong += words_wrong(job.words + i * job.n_words, job.n_words, i,
                               job.n_iterations);
    }
    print_who_is_alive();
    printf("%llu iterations, %zu words wrong\n",
           (unsigned long long)job.n_iterations, n_wrong);
    return n_wrong != 0;
}

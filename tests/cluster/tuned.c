// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program with a parameter that is tuned:
 *
 *     tuned THREADS ITERATIONS BEST [MODE]
 *
 * A thread's part of an iteration takes 5 ms with the value BEST of 10, 20, 30, 40, 50, and
 * 30 ms with others; after half of the iterations, in the mode `turns`, with 50 it takes
 * least. What is computed does not depend on it. Each thread writes down which value it
 * was given in which iteration, and all compare: it must be the same.
 *
 * In the end: "sum: S, differ: D, last: V, changes: C", C being how often the value was
 * another than in the iteration before.
 *
 * Modes of errors: `empty`, `long`, `none`, `many`, `alike`, `other`, `task`, `early`.
 */
#include "program.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_VALUES 5
#define THREADS_MAX 64
#define ITERATIONS_MAX 4000

static const int64_t values[] = {10, 20, 30, 40, 50};
static const int64_t other_values[] = {10, 20, 30, 40, 60};

static TM_SHARED tm_barrier all;
static TM_SHARED long n_threads;
static TM_SHARED long n_iterations;
static TM_SHARED int64_t best;
static TM_SHARED char mode[16];
static TM_SHARED int64_t seen[ITERATIONS_MAX];
static TM_SHARED double sums[THREADS_MAX];
static TM_SHARED long differ[THREADS_MAX];

static int is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void take_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static int64_t ask(long me, long iteration)
{
    if (is_mode("other") && me == n_threads - 1 && iteration == 3) {
        return tm_tune("size", other_values, N_VALUES);
    }
    return tm_tune("size", values, N_VALUES);
}

static void run_iteration(long me, long iteration)
{
    const int64_t value = ask(me, iteration);
    const int64_t now_best =
        is_mode("turns") && iteration >= n_iterations / 2 ? 50 : best;

    take_ms(value == now_best ? 5 : 30);
    sums[me] += (double)((iteration * 31 + me) % 97) / 7;
    if (me == 0) {
        seen[iteration] = value;
    }
    tm_barrier_wait(&all);
    differ[me] += seen[iteration] != value || ask(me, iteration) != value;
}

static void *work(void *argument)
{
    const long me = (long)(intptr_t)argument;

    for (long i = 0; i < n_iterations; i++) {
        run_iteration(me, i);
        tm_iteration_end(&all);
    }
    return NULL;
}

static void tune_in_task(void *argument)
{
    (void)argument;
    (void)tm_tune("size", values, N_VALUES);
}

static void make_error(void)
{
    static const int64_t alike[] = {1, 2, 1};
    static int64_t many[65];
    tm_group group = {0};

    if (is_mode("empty")) {
        (void)tm_tune("", values, N_VALUES);
    } else if (is_mode("long")) {
        (void)tm_tune("a name of thirty-two bytes is it", values, N_VALUES);
    } else if (is_mode("none")) {
        (void)tm_tune("size", values, 0);
    } else if (is_mode("many")) {
        (void)tm_tune("size", many, 65);
    } else if (is_mode("alike")) {
        (void)tm_tune("size", alike, 3);
    } else if (is_mode("task")) {
        tm_spawn(&group, tune_in_task, NULL, 0);
        tm_wait(&group);
    }
}

static void tell(void)
{
    double sum = 0;
    long n_differ = 0;
    long n_changes = 0;

    for (long i = 0; i < n_threads; i++) {
        sum += sums[i];
        n_differ += differ[i];
    }
    for (long i = 1; i < n_iterations; i++) {
        n_changes += seen[i] != seen[i - 1];
    }
    printf("sum: %.17g, differ: %ld, last: %ld, changes: %ld\n", sum, n_differ,
           (long)seen[n_iterations - 1], n_changes);
}

int main(int argc, char **argv)
{
    tm_thread threads[THREADS_MAX];

    if (argc > 4 && strcmp(argv[4], "early") == 0) {
        (void)tm_tune("size", values, N_VALUES);
    }
    tm_init(&argc, &argv);
    n_threads = atol(argv[1]);
    n_iterations = atol(argv[2]);
    best = atol(argv[3]);
    snprintf(mode, sizeof mode, "%s", argc > 4 ? argv[4] : "");
    tm_barrier_init(&all, (unsigned)n_threads);
    make_error();
    for (long i = 0; i < n_threads; i++) {
        if (tm_thread_create(&threads[i], NULL, work, (void *)(intptr_t)i)) {
            return 1;
        }
    }
    for (long i = 0; i < n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    tell();
    return 0;
}

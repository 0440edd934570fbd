// SPDX-License-Identifier: BSD-3-Clause
/*
 * Equal work on the first N nodes, one thread each: how long does it take on
 * each? Prints a line for each node, what an iteration with a barrier takes, and
 * after how long the first node hears that the last one has done its work.
 */
#include <time.h>

#include "program.h"

enum { N_ROUNDS = 20, N_TURNS = 2000000 };

struct measurement {
    double round_ms; // from the start of the work until it is known, the mean
    double work;     // its result
};

static TM_SHARED struct measurement measurements[TM_MAX_NODES];
static TM_SHARED tm_barrier barrier;
static TM_SHARED tm_sem done;
static TM_SHARED unsigned n_nodes;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static double work(double x)
{
    for (int i = 0; i < N_TURNS; i++) {
        x = x * 0.9999999 + 1e-7;
    }
    return x;
}

// No two nodes wait for each other while the rounds are measured.
static void *measure(void *arg)
{
    struct measurement *mine = &measurements[(size_t)arg];
    double x = 0.5;
    double began_ms;

    OK(tm_barrier_wait(&barrier));
    began_ms = now_ms();
    for (int i = 0; i < N_ROUNDS; i++) {
        x = work(x);
        tm_thread_yield();
    }
    mine->round_ms = (now_ms() - began_ms) / N_ROUNDS;
    mine->work = x;
    OK(tm_barrier_wait(&barrier));
    return NULL;
}

static void *iterate(void *arg)
{
    struct measurement *mine = &measurements[(size_t)arg];
    double x = 0.5;
    double began_ms;

    OK(tm_iteration_end(&barrier));
    began_ms = now_ms();
    for (int i = 0; i < N_ROUNDS; i++) {
        x = work(x);
        OK(tm_iteration_end(&barrier));
    }
    mine->round_ms = (now_ms() - began_ms) / N_ROUNDS;
    mine->work = x;
    return NULL;
}

static void *hear(void *arg)
{
    const size_t me = (size_t)arg;
    double sum_ms = 0;

    for (int i = 0; i < N_ROUNDS; i++) {
        double began_ms;

        OK(tm_barrier_wait(&barrier));
        began_ms = now_ms();
        if (me == n_nodes - 1) {
            measurements[me].work = work(measurements[me].work);
            OK(tm_sem_post(&done));
        } else if (me == 0) {
            OK(tm_sem_wait(&done));
            sum_ms += now_ms() - began_ms;
        }
    }
    if (me == 0) {
        measurements[me].round_ms = sum_ms / N_ROUNDS;
    }
    return NULL;
}

static void run_on_all(void *(*start)(void *))
{
    tm_thread threads[TM_MAX_NODES];

    for (unsigned i = 0; i < n_nodes; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)i};

        OK(tm_thread_create(&threads[i], &attr, start, (void *)(size_t)i));
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
}

int main(int argc, char **argv)
{
    OK(tm_init(&argc, &argv));
    n_nodes = argc > 1 ? (unsigned)atoi(argv[1]) : tm_node_count();
    OK(tm_barrier_init(&barrier, n_nodes));
    run_on_all(measure);
    for (unsigned i = 0; i < n_nodes; i++) {
        struct tm_node_stats stats;

        OK(tm_stats(i, &stats));
        printf("node %u: speed_ppm=%" PRIu64 " compute_ms=%.3f round_ms=%.4f "
               "work=%a\n",
               i, stats.speed_ppm, (double)stats.compute_ns * 1e-6,
               measurements[i].round_ms, measurements[i].work);
    }
    run_on_all(iterate);
    printf("iteration_ms=%.4f\n", measurements[0].round_ms);
    OK(tm_sem_init(&done, 0));
    run_on_all(hear);
    printf("hear_ms=%.4f\n", measurements[0].round_ms);
    return 0;
}

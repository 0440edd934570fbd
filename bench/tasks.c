// SPDX-License-Identifier: BSD-3-Clause
/*
 * What tasks cost: empty ones, and fib(N) with a task for each call above a few. The same
 * with OpenMP: plain/tasks_openmp.c.
 *
 *     tasks_cost [N]
 *
 * Prints tasks a second, the best of five, of all nodes together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "teamster.h"

enum { N_EMPTY = 1000000, N_TIMES = 5 };

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void spawn_empty(int is_local)
{
    tm_group group = {.is_local = is_local};

    for (int i = 0; i < N_EMPTY; i++) {
        (void)tm_spawn(&group, nothing, NULL, 0);
    }
    (void)tm_wait(&group);
}

struct fib {
    int n;
    long result;
};

static void fib(void *arg)
{
    struct fib *me = arg;
    struct fib left = {me->n - 1, 0};
    struct fib right = {me->n - 2, 0};
    tm_group group = {0};

    if (me->n < 2) {
        me->result = me->n;
        return;
    }
    (void)tm_spawn_back(&group, fib, &left, sizeof left);
    fib(&right);
    (void)tm_wait(&group);
    me->result = left.result + right.result;
}

static double best_of(void (*run)(void *), void *arg)
{
    double best_s = 1e9;

    for (int i = 0; i < N_TIMES; i++) {
        const double began_s = now_s();
        double took_s;

        run(arg);
        took_s = now_s() - began_s;
        best_s = took_s < best_s ? took_s : best_s;
    }
    return best_s;
}

static void empty_local(void *arg)
{
    (void)arg;
    spawn_empty(1);
}

static void empty_open(void *arg)
{
    (void)arg;
    spawn_empty(0);
}

// fib(n) makes as many tasks, with one for each call of n >= 2.
static long n_tasks(int n)
{
    return n < 2 ? 0 : 1 + n_tasks(n - 1) + n_tasks(n - 2);
}

int main(int argc, char **argv)
{
    struct fib all;
    double s;

    if (tm_init(&argc, &argv) != TM_OK) {
        return 1;
    }
    all.n = argc > 1 ? atoi(argv[1]) : 25;
    s = best_of(empty_local, NULL);
    printf("empty, of the node: %.0f a second\n", N_EMPTY / s);
    s = best_of(empty_open, NULL);
    printf("empty, of any node: %.0f a second\n", N_EMPTY / s);
    s = best_of(fib, &all);
    printf("fib(%d) = %ld: %.4f s, %.0f tasks a second\n", all.n, all.result, s,
           (double)n_tasks(all.n) / s);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * What tasks cost: empty ones, and fib(N) with a task for each call. The same with OpenMP:
 * plain/tasks_openmp.c.
 *
 *     tasks_cost [N]
 *
 * Prints tasks a second, all nodes together: median and quartiles of eleven runs.
 */
#include "task_rates.h"
#include "teamster.h"

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

static void measure(const char *name, double n_tasks, void (*run)(void *),
                    void *arg)
{
    double us[N_TIMES];

    for (int i = 0; i < N_TIMES; i++) {
        const double began_us = now_us();

        run(arg);
        us[i] = now_us() - began_us;
    }
    rates_print(name, n_tasks, us);
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

int main(int argc, char **argv)
{
    struct fib all = {argc > 1 ? atoi(argv[1]) : 25, 0};

    if (tm_init(&argc, &argv) != TM_OK) {
        return 1;
    }
    measure("empty, of the node", N_EMPTY, empty_local, NULL);
    measure("empty, of any node", N_EMPTY, empty_open, NULL);
    measure("fib", fib_tasks(all.n), fib, &all);
    printf("fib(%d) = %ld\n", all.n, all.result);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's tasks that wait for each other can only end if as many threads run them: at a
// barrier, in a wait for tasks, at the end of a group. What it prints is in meeting.out:
// natively, four threads that spin on two processors may take very long.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4 };

static int n_there;
static int is_used[THREADS];

static void meet(int n)
{
    int n_now = 0;

    is_used[omp_get_thread_num()] = 1;
#pragma omp atomic
    n_there++;
    while (n_now < n) {
#pragma omp atomic read
        n_now = n_there;
    }
}

static void tell(const char *what)
{
    int n = 0;

    for (int i = 0; i < THREADS; i++) {
        n += is_used[i];
        is_used[i] = 0;
    }
    n_there = 0;
    printf("%s %d\n", what, n);
}

static void make_pair(int n)
{
#pragma omp task
    meet(n);
#pragma omp task
    meet(n);
}

static void run_wait(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < THREADS; i++) {
#pragma omp task
            meet(THREADS);
        }
#pragma omp taskwait
        tell("wait");
    }
}

// At the end of a task, or of a group, its children are run.
static void run_children(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
    {
#pragma omp task
        make_pair(2);
    }
    tell("children");
}

static void run_barrier(void)
{
#pragma omp parallel
    {
        if (omp_get_thread_num() == 2) {
            make_pair(THREADS);
            make_pair(THREADS);
        }
    }
    tell("barrier");
}

int main(void)
{
    omp_set_num_threads(THREADS);
    for (int round = 0; round < 3; round++) {
        run_wait();
        run_children();
        run_barrier();
    }
    return 0;
}

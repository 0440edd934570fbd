// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's `cancel`, which does nothing unless OMP_CANCELLATION is true.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { N = 4000, THREADS = 4 };

static int n_done[THREADS];
static int found;
static int n_cancelled;

static int all_done(void)
{
    int n = 0;

    for (int i = 0; i < THREADS; i++) {
        n += n_done[i];
        n_done[i] = 0;
    }
    return n;
}

// A search ends where something is found; that fewer iterations are run only one who
// cancels can say.
static void run_loop(void)
{
#pragma omp parallel
#pragma omp for schedule(dynamic, 4)
    for (int i = 0; i < N; i++) {
#pragma omp cancellation point for
        n_done[omp_get_thread_num()]++;
        if (i == 7) {
#pragma omp atomic write
            found = i;
#pragma omp cancel for
        }
        while (i > 7 && omp_get_cancellation()) { // until it is cancelled
            sched_yield();
#pragma omp cancellation point for
        }
    }
    printf("loop %d %d\n", found, all_done() < N);
#pragma omp parallel
    {
        for (int round = 0; round < 70; round++) {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 8; i++) {
#pragma omp cancel for if (i == 2)
            }
        }
        for (int round = 0; round < 70; round++) {
#pragma omp for schedule(dynamic) reduction(task, + : n_cancelled)
            for (int i = 0; i < 8; i++) {
#pragma omp cancel for if (i == 2)
            }
        }
#pragma omp for
        for (int i = 0; i < N; i++) {
            n_done[omp_get_thread_num()]++;
        }
#pragma omp for
        for (int i = 0; i < 8; i++) {
#pragma omp cancel for if (i == 0)
#pragma omp cancellation point for
        }
    }
    printf("after it %d\n", all_done());
}

static void run_sections(void)
{
#pragma omp parallel
#pragma omp sections
    {
#pragma omp section
        {
            found = 1;
#pragma omp cancel sections
            n_done[0]++;
        }
#pragma omp section
        n_done[1]++;
    }
    n_done[1] = 0;
    printf("sections %d %d\n", found, all_done());
}

// One thread leaves, the others are at a barrier that is never full.
static void run_region(void)
{
    int n_after = 0;

#pragma omp parallel reduction(+ : n_after)
    {
        if (omp_get_thread_num() == THREADS - 1) {
            found = 2;
#pragma omp cancel parallel
        }
#pragma omp barrier
        n_after += 1;
    }
    printf("region %d %d\n", found, omp_get_cancellation() ? n_after : 0);
#pragma omp parallel reduction(+ : n_after)
    {
#pragma omp barrier
        n_after = 1;
    }
    printf("the next one %d\n",
           n_after - (omp_get_cancellation() ? 0 : THREADS));
}

static void run_group(void)
{
    int n = 0;
    int n_others = 0;

#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 5; i++) {
#pragma omp task shared(n) if (0)
                {
#pragma omp cancellation point taskgroup
                    n++;
                    if (i == 2) {
#pragma omp cancel taskgroup
                        n += 100;
                    }
                }
            }
        }
#pragma omp taskgroup
#pragma omp task shared(n_others)
        n_others++;
    }
    printf("group %d %d\n", n, n_others);
}

// Tasks that are made in a cancelled group, and those of groups within it, do not begin.
static void run_late_tasks(void)
{
    int n = 0;
    int n_after = 0;

#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
#pragma omp taskwait
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(n)
#pragma omp critical
                n++;
            }
        }
        for (int i = 0; i < 20; i++) {
#pragma omp task shared(n_after)
#pragma omp critical
            n_after++;
        }
    }
    printf("late %d %d\n", n, n_after);
}

// A region is left while its tasks are under way.
static void run_left_tasks(void)
{
    int n = 0;
    int n_other = 0;

#pragma omp parallel
    {
        for (int i = 0; i < 40; i++) {
#pragma omp task shared(n)
#pragma omp critical
            n++;
        }
#pragma omp cancel parallel if (omp_get_thread_num() == 1)
#pragma omp barrier
    }
#pragma omp parallel
    {
#pragma omp task shared(n_other)
#pragma omp critical
        n_other++;
    }
    printf("left %d %d\n", n <= 40 * THREADS, n_other);
}

int main(void)
{
    omp_set_num_threads(THREADS);
    printf("cancellation %d\n", omp_get_cancellation());
    run_loop();
    run_sections();
    run_region();
    run_group();
    run_late_tasks();
    run_left_tasks();
#pragma omp parallel num_threads(1)
    {
        found = 3;
#pragma omp cancel parallel
        found = 4;
    }
    printf("alone %d\n", found);
    return 0;
}

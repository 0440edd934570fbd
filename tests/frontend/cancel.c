// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's `cancel`, which does nothing unless OMP_CANCELLATION is true.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { N = 4000, THREADS = 4 };

static int n_done[THREADS];
static int found;

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

int main(void)
{
    omp_set_num_threads(THREADS);
    printf("cancellation %d\n", omp_get_cancellation());
    run_loop();
    run_sections();
    run_region();
    run_group();
#pragma omp parallel num_threads(1)
    {
        found = 3;
#pragma omp cancel parallel
        found = 4;
    }
    printf("alone %d\n", found);
    return 0;
}

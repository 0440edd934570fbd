// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's chunks that nobody waits for: each step of each loop is run once, whoever takes it; in
// regions one after another, and by threads that are many constructs ahead of others.
#include <omp.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 900, THREADS = 4, LOOPS = 300, REGIONS = 40 };

static int n_run[LOOPS][STEPS];
static int n_single;
static int n_sections[3];

static void count(int loop, long step)
{
#pragma omp atomic
    n_run[loop][step]++;
}

static void tell(const char *what, int n_loops, int n_steps, int times)
{
    int n_wrong = 0;

    for (int i = 0; i < n_loops; i++) {
        for (int k = 0; k < STEPS; k++) {
            n_wrong += n_run[i][k] != (k < n_steps ? times : 0);
            n_run[i][k] = 0;
        }
    }
    printf("%s: %d wrong\n", what, n_wrong);
}

// One thread is late: the others are as many constructs ahead of it as there are.
static void run_ahead(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        if (omp_get_thread_num() == THREADS - 1) {
            usleep(300000);
        }
        for (int i = 0; i < LOOPS; i++) {
#pragma omp for schedule(dynamic, 5) nowait
            for (int k = 0; k < 40; k++) {
                count(i, k);
            }
        }
    }
    tell("ahead", LOOPS, 40, 1);
}

static void run_regions(void)
{
    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel for schedule(dynamic) num_threads(THREADS)
        for (int k = 0; k < STEPS; k++) {
            count(0, k);
        }
    }
    tell("regions", 1, STEPS, REGIONS);
}

// Of other sizes, by one thread after another, and of none.
static void run_schedules(void)
{
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(guided, 3)
        for (int k = 0; k < STEPS; k++) {
            count(0, k);
        }
#pragma omp for schedule(dynamic, 7) nowait
        for (int k = STEPS - 1; k >= 0; k -= 2) {
            count(1, k);
            count(1, k - 1);
        }
#pragma omp for schedule(guided)
        for (unsigned long k = -10ul; k < -1ul; k++) {
            count(2, (long)(k - -10ul));
        }
#pragma omp for schedule(dynamic) nowait
        for (int k = 3; k < atoi("3"); k++) {
            count(3, k);
        }
#pragma omp for schedule(runtime)
        for (int k = 0; k < STEPS; k++) {
            count(4, k);
        }
    }
    tell("guided", 1, STEPS, 1);
    for (int k = 0; k < STEPS; k++) {
        n_run[0][k] = n_run[1][k];
        n_run[1][k] = 0;
    }
    tell("down", 1, STEPS, 1);
    for (int k = 0; k < STEPS; k++) {
        n_run[0][k] = n_run[2][k];
        n_run[2][k] = n_run[4][k];
        n_run[4][k] = 0;
    }
    tell("unsigned", 1, 9, 1);
    for (int k = 0; k < STEPS; k++) {
        n_run[0][k] = n_run[2][k];
        n_run[2][k] = 0;
    }
    tell("runtime", 1, STEPS, 1);
}

// The steps of a chunk are a thread's, one after another, and a chunk is as large as was said.
static void run_whole_chunks(void)
{
    static int thread[STEPS];
    int n_torn = 0;

#pragma omp parallel for schedule(dynamic, 9) num_threads(THREADS)
    for (int k = 0; k < STEPS; k++) {
        thread[k] = omp_get_thread_num();
    }
    for (int k = 0; k < STEPS; k++) {
        n_torn += thread[k] != thread[k / 9 * 9];
    }
    printf("torn: %d\n", n_torn);
}

static void run_others(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        for (int i = 0; i < 100; i++) {
#pragma omp single nowait
            {
#pragma omp atomic
                n_single++;
            }
        }
        for (int i = 0; i < 10; i++) {
#pragma omp sections
            {
#pragma omp section
#pragma omp atomic
                n_sections[0]++;
#pragma omp section
#pragma omp atomic
                n_sections[1]++;
#pragma omp section
#pragma omp atomic
                n_sections[2]++;
            }
        }
    }
    printf("single %d, sections %d %d %d\n", n_single, n_sections[0],
           n_sections[1], n_sections[2]);
}

// A team within a team has counters of its own.
static void run_nested(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 3; i++) {
#pragma omp parallel for schedule(dynamic, 2) num_threads(2)
        for (int k = 0; k < 50; k++) {
            count(0, k);
        }
    }
    tell("nested", 1, 50, 6);
}

// Who has a chunk may wait for the next one's, which the other thread takes.
static void run_pairs(void)
{
    sem_t come[2];
    int n_met = 0;

    sem_init(&come[0], 0, 0);
    sem_init(&come[1], 0, 0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(2)
    for (int k = 0; k < 60; k++) {
        if (k >= 40) { // those before take no time
            sem_post(&come[k % 2]);
            sem_wait(&come[1 - k % 2]);
#pragma omp atomic
            n_met++;
        }
    }
    printf("met: %d\n", n_met);
    sem_destroy(&come[0]);
    sem_destroy(&come[1]);
}

int main(void)
{
    omp_set_schedule(omp_sched_dynamic, 4);
    run_ahead();
    run_regions();
    run_schedules();
    run_whole_chunks();
    run_others();
    run_nested();
    run_pairs();
    return 0;
}

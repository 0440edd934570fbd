// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: 200 constructs without a barrier after them, which all threads but one have passed
// before that one comes to the first.
#include <omp.h>
#include <stdio.h>
#include <time.h>

#define STEPS 200

static int singles[STEPS];
static int hits[STEPS][8];
static int parts[STEPS][2];

static void be_late(void)
{
    const struct timespec time = {0, 400000000};

    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        nanosleep(&time, NULL);
    }
}

static long count_others(void)
{
    long n = 0;

    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 8; i++) {
            n += hits[step][i] != 1;
        }
        n += parts[step][0] != 1 || parts[step][1] != 1;
    }
    return n;
}

int main(void)
{
    long n_singles = 0;

#pragma omp parallel num_threads(4)
    {
        be_late();
        for (int step = 0; step < STEPS; step++) {
#pragma omp single nowait
            {
#pragma omp atomic
                singles[step]++;
            }
        }
#pragma omp barrier
        be_late();
        for (int step = 0; step < STEPS; step++) {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 8; i++) {
#pragma omp atomic
                hits[step][i]++;
            }
        }
#pragma omp barrier
        be_late();
        for (int step = 0; step < STEPS; step++) {
#pragma omp sections nowait
            {
#pragma omp section
                {
#pragma omp atomic
                    parts[step][0]++;
                }
#pragma omp section
                {
#pragma omp atomic
                    parts[step][1]++;
                }
            }
        }
    }
    for (int step = 0; step < STEPS; step++) {
        n_singles += singles[step];
    }
    printf("%ld singles, %ld others wrong\n", n_singles, count_others());
    return 0;
}

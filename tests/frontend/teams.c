// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: regions begun by several POSIX threads at the same time.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 3
#define REGIONS 30
#define N 100

static int hits[THREADS][REGIONS][N];
static int singles[THREADS];
static pthread_barrier_t barrier;

static void run_regions(int me)
{
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(3)
        {
#pragma omp for schedule(dynamic, 9)
            for (int i = 0; i < N; i++) {
                hits[me][region][i]++;
            }
#pragma omp single
            singles[me]++;
        }
#pragma omp parallel for schedule(dynamic, 9) num_threads(3)
        for (int i = 0; i < N; i++) {
            hits[me][region][i]++;
        }
    }
}

static void *work(void *arg)
{
    pthread_barrier_wait(&barrier);
    run_regions(*(int *)arg);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    int n_wrong = 0;

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    run_regions(0);
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < REGIONS * N; j++) {
            n_wrong += hits[i][j / N][j % N] != (i == 0 ? 4 : 2);
        }
    }
    printf("%d wrong; %d %d %d\n", n_wrong, singles[0], singles[1], singles[2]);
    return 0;
}

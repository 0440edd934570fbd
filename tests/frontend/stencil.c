// SPDX-License-Identifier: BSD-3-Clause
// Phases with barriers over global arrays; the serial thread adds up.
#include <pthread.h>
#include <stdio.h>

#define N 200
#define THREADS 5

static double grid[2][N][N];
static pthread_barrier_t barrier;
static double part[THREADS];
static double totals[20];
static int n_serial;

static void *work(void *arg)
{
    long me = (long)arg;
    int first = 1 + (int)me * (N - 2) / THREADS;
    int end = 1 + (int)(me + 1) * (N - 2) / THREADS;

    for (int step = 0; step < 20; step++) {
        double(*from)[N] = grid[step % 2];
        double(*to)[N] = grid[(step + 1) % 2];
        double sum = 0;

        for (int i = first; i < end; i++) {
            for (int k = 1; k < N - 1; k++) {
                to[i][k] = (from[i - 1][k] + from[i + 1][k] + from[i][k - 1] +
                            from[i][k + 1]) /
                           4;
                sum += to[i][k];
            }
        }
        part[me] = sum;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            n_serial++;
            for (int i = 0; i < THREADS; i++) {
                totals[step] += part[i];
            }
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < N; i++) {
        grid[0][0][i] = grid[1][0][i] = 100;
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 20; i += 4) {
        printf("%.9f\n", totals[i]);
    }
    printf("serial: %d, middle: %.12f\n", n_serial, grid[0][N / 2][N / 2]);
    return 0;
}

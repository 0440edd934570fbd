// SPDX-License-Identifier: BSD-3-Clause
// Heat along a rod whose first end is kept hot: threads, a barrier, a mutex.
// docs/api.md shows what differs between rod_pthreads.c and rod_teamster.c.
#include <stdio.h>
#include <stdlib.h>
#include <teamster.h>

#define N_THREADS 8
#define N_POINTS 200000
#define N_STEPS 100

static TM_SHARED double *rod[2];
static TM_SHARED double largest_change;
static tm_barrier barrier;
static tm_mutex mutex;

static double step(double *to, const double *from, long first, long end)
{
    double most = 0;

    for (long i = first; i < end; i++) {
        double change = (from[i - 1] - 2 * from[i] + from[i + 1]) / 4;

        to[i] = from[i] + change;
        most = change > most ? change : most;
    }
    return most;
}

static void *work(void *arg)
{
    long me = (long)arg;
    long first = 1 + (N_POINTS - 2) * me / N_THREADS;
    long end = 1 + (N_POINTS - 2) * (me + 1) / N_THREADS;
    double change = 0;

    for (int k = 0; k < N_STEPS; k++) {
        change = step(rod[(k + 1) % 2], rod[k % 2], first, end);
        tm_iteration_end(&barrier);
    }
    tm_mutex_lock(&mutex);
    if (change > largest_change) {
        largest_change = change;
    }
    tm_mutex_unlock(&mutex);
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[N_THREADS];

    tm_init(&argc, &argv);
    for (int i = 0; i < 2; i++) {
        rod[i] = tm_alloc(N_POINTS * sizeof(double), NULL);
        rod[i][0] = 100;
    }
    tm_barrier_init(&barrier, N_THREADS);
    for (long i = 0; i < N_THREADS; i++) {
        if (tm_thread_create(&threads[i], NULL, work, (void *)i)) {
            return 1;
        }
    }
    for (int i = 0; i < N_THREADS; i++) {
        tm_thread_join(threads[i], NULL);
    }
    printf("point 10: %.6f, largest change: %.6f\n", rod[N_STEPS % 2][10],
           largest_change);
    return 0;
}

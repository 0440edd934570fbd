// SPDX-License-Identifier: BSD-3-Clause
// The program of README.md, in rounds: the end of each is told by tm_iteration_end(), so
// what threads take can be measured, and threads can move. docs/visit.md runs it.
#include <stdio.h>
#include <stdlib.h>
#include <teamster.h>

#define N_THREADS 16
#define N_STEPS 4000000 // of a round

static TM_SHARED double part[N_THREADS];
static TM_SHARED long n_rounds;
static tm_barrier barrier;

static void *integrate(void *me)
{
    double width = 1.0 / N_STEPS / n_rounds;
    double sum = 0;

    for (long k = 0; k < n_rounds; k++) {
        for (long i = (long)me; i < N_STEPS; i += N_THREADS) {
            double x = (k * N_STEPS + i + 0.5) * width;
            sum += 4 * width / (1 + x * x);
        }
        tm_iteration_end(&barrier);
    }
    part[(long)me] = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[N_THREADS];
    double pi = 0;

    tm_init(&argc, &argv);
    n_rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
    tm_barrier_init(&barrier, N_THREADS);
    for (long i = 0; i < N_THREADS; i++) {
        if (tm_thread_create(&threads[i], NULL, integrate, (void *)i)) {
            return 1;
        }
    }
    for (long i = 0; i < N_THREADS; i++) {
        tm_thread_join(threads[i], NULL);
        pi += part[i];
    }
    printf("pi is %.10f; nodes: %u\n", pi, tm_node_count());
    return 0;
}

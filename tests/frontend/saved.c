// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: steps that take a while, with memory of all kinds, numbers of the C library's and
// a line now and then: what a run that goes on from a checkpoint must have.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 40000, STEPS = 400, TOLD = 20 };

static double grid[2][N];
static int n_told;

static void rest(void)
{
    const struct timespec time = {0, 2000000};

    nanosleep(&time, NULL);
}

static double step(const double *from, double *to, const double *heap)
{
    double sum = 0;

#pragma omp parallel for schedule(static)
    for (int i = 1; i < N - 1; i++) {
        to[i] = (from[i - 1] + 2 * from[i] + from[i + 1]) / 4 + heap[i];
    }
#pragma omp parallel
#pragma omp single
    rest();
    for (int i = 0; i < N; i += 997) {
        sum += to[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    double *heap = calloc(N, sizeof *heap);
    char *name = strdup(argc > 1 ? argv[1] : "saved");
    char seeded[64];
    double sum = 0;

    srand(42);
    srand48(7);
    for (int i = 0; i < N; i++) {
        grid[0][i] = i % 10;
    }
    for (int k = 0; k < STEPS; k++) {
        heap[rand() % N] = drand48() / 1000;
        sum += step(grid[k % 2], grid[1 - k % 2], heap);
        if (k % TOLD == 0) {
            printf("%s step %d: %.12g, %d told\n", name, k, sum, n_told++);
        }
    }
    initstate(5, seeded, sizeof seeded);
    printf("%d %ld %ld\n", rand(), random(), lrand48());
    free(heap);
    free(name);
    return 0;
}

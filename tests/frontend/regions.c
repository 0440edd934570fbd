// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: regions, loops of all schedules, sections, single, critical, reductions, tasks.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1000

static double a[N];
static double b[N];
static int hits[N];
static int priv;
#pragma omp threadprivate(priv)

static long fib(int n)
{
    long x;
    long y;

    if (n < 2) {
        return n;
    }
#pragma omp task shared(x)
    x = fib(n - 1);
#pragma omp task shared(y)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

int main(void)
{
    double sum = 0;
    long n_singles = 0;
    long total = 0;
    long named = 0;
    int got = 0;
    int most = -1;
    long f = 0;
    int *heap = malloc(N * sizeof *heap);
    int value = 0;

    omp_set_num_threads(4);
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        a[i] = i;
    }
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        b[i] = 2 * a[i];
        sum += b[i];
        hits[i]++;
    }
#pragma omp parallel
    {
#pragma omp for schedule(guided) nowait
        for (int i = N - 1; i >= 0; i -= 3) {
            hits[i]++;
        }
#pragma omp for schedule(static, 5)
        for (int i = 0; i < N; i++) {
            heap[i] = omp_get_thread_num() < 4;
        }
#pragma omp for schedule(runtime) reduction(max : most)
        for (int i = 0; i < N; i++) {
            most = heap[i] + i > most ? heap[i] + i : most;
        }
#pragma omp single
        n_singles++;
#pragma omp single copyprivate(priv)
        priv = 42;
#pragma omp critical
        total += priv;
#pragma omp critical(other)
        named += omp_get_num_threads();
#pragma omp barrier
#pragma omp master
        got = omp_get_num_threads();
#pragma omp sections reduction(+ : value)
        {
#pragma omp section
            value += 1;
#pragma omp section
            value += 10;
#pragma omp section
            value += 100;
        }
#pragma omp atomic
        total++;
    }
#pragma omp parallel
#pragma omp single
    f = fib(12);
    omp_set_num_threads(6);
#pragma omp parallel reduction(+ : got)
    {
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < 2; i++) {
                got++;
            }
        }
    }
    for (int i = 0; i < N; i++) {
        value += hits[i];
    }
    printf("%.0f %ld %ld %ld %d %d %ld %d\n", sum, n_singles, total, named, got,
           most, f, value);
    free(heap);
    return 0;
}

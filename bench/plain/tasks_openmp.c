// SPDX-License-Identifier: BSD-3-Clause
// ../tasks.c with tasks of OpenMP.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_EMPTY = 1000000, N_TIMES = 5 };

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void nothing(void)
{
    __asm__ volatile("");
}

static long fib(int n)
{
    long left;
    long right;

    if (n < 2) {
        return n;
    }
#pragma omp task shared(left)
    left = fib(n - 1);
    right = fib(n - 2);
#pragma omp taskwait
    return left + right;
}

static void spawn_empty(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < N_EMPTY; i++) {
#pragma omp task
            nothing();
        }
#pragma omp taskwait
    }
}

static long all_fib(int n)
{
    long result = 0;

#pragma omp parallel
#pragma omp single
    result = fib(n);
    return result;
}

static long n_tasks(int n)
{
    return n < 2 ? 0 : 1 + n_tasks(n - 1) + n_tasks(n - 2);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 25;
    double empty_s = 1e9;
    double fib_s = 1e9;
    long result = 0;

    for (int i = 0; i < N_TIMES; i++) {
        const double began_s = now_s();
        double middle_s;
        double end_s;

        spawn_empty();
        middle_s = now_s();
        result = all_fib(n);
        end_s = now_s();
        empty_s = middle_s - began_s < empty_s ? middle_s - began_s : empty_s;
        fib_s = end_s - middle_s < fib_s ? end_s - middle_s : fib_s;
    }
    printf("empty: %.0f a second\n", N_EMPTY / empty_s);
    printf("fib(%d) = %ld: %.4f s, %.0f tasks a second\n", n, result, fib_s,
           (double)n_tasks(n) / fib_s);
    return 0;
}

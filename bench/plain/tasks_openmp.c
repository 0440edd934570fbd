// SPDX-License-Identifier: BSD-3-Clause
// ../tasks.c with tasks of OpenMP.
#include "../task_rates.h"

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

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 25;
    double empty_us[N_TIMES];
    double fib_us[N_TIMES];
    long result = 0;

    for (int i = 0; i < N_TIMES; i++) {
        const double began_us = now_us();
        double middle_us;

        spawn_empty();
        middle_us = now_us();
        result = all_fib(n);
        empty_us[i] = middle_us - began_us;
        fib_us[i] = now_us() - middle_us;
    }
    rates_print("empty", N_EMPTY, empty_us);
    rates_print("fib", fib_tasks(n), fib_us);
    printf("fib(%d) = %ld\n", n, result);
    return 0;
}

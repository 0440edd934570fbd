// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_TASK_RATES_H
#define BENCH_TASK_RATES_H
/* What tasks.c and plain/tasks_openmp.c have alike. */

#include "samples.h"

enum { N_EMPTY = 1000000, N_TIMES = 11 };

/** Print tasks a second: median and quartiles. @param us [N_TIMES] times of runs */
static inline void rates_print(const char *name, double n_tasks, double *us)
{
    qsort(us, N_TIMES, sizeof *us, samples_order);
    printf("%-20s %12.0f tasks a second (%.0f to %.0f)\n", name,
           n_tasks / us[N_TIMES / 2] * 1e6, n_tasks / us[N_TIMES * 3 / 4] * 1e6,
           n_tasks / us[N_TIMES / 4] * 1e6);
}

/** @return how many tasks fib(n) makes: one for each call of 2 and more */
static inline double fib_tasks(int n)
{
    return n < 2 ? 0 : 1 + fib_tasks(n - 1) + fib_tasks(n - 2);
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H
/*
 * Latencies: taken one by one, printed as
 *
 *     NAME  P50  P99  SAMPLES
 *
 * with microseconds for the 50th and 99th percentile. bench/run.py reads this.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** @return microseconds of a monotonic clock */
static inline double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static inline int samples_order(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

/** Sort the samples and print them. @param us [n], n at least 1 */
static inline void samples_print(const char *name, double *us, size_t n)
{
    qsort(us, n, sizeof *us, samples_order);
    printf("%-16s %10.3f %10.3f %8zu\n", name, us[n / 2], us[n * 99 / 100], n);
}

/** @return the i-th of the numbers 0 to 4095 in an order without a pattern */
static inline size_t scattered(size_t i)
{
    // Each step maps 12 bits to 12 bits one to one.
    i = (i * 2481 + 1357) % 4096;
    i ^= i >> 5;
    i = (i * 725 + 2027) % 4096;
    return i ^ i >> 7;
}

#endif

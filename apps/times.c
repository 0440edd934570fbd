// SPDX-License-Identifier: BSD-3-Clause
#include "times.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double mean_iteration_s(const double *ends_s, unsigned first,
                               unsigned n_iterations)
{
    return (ends_s[n_iterations] - ends_s[first]) / (n_iterations - first);
}

static double median_iteration_s(const double *ends_s, unsigned first,
                                 unsigned n_iterations)
{
    const unsigned n = n_iterations - first;
    double *times_s = malloc(n * sizeof *times_s);
    double median_s;

    if (times_s == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(71);
    }
    for (unsigned k = 0; k < n; k++) {
        times_s[k] = ends_s[first + k + 1] - ends_s[first + k];
    }
    qsort(times_s, n, sizeof *times_s, compare_doubles);
    median_s = (times_s[(n - 1) / 2] + times_s[n / 2]) / 2.0;
    free(times_s);
    return median_s;
}

void times_note(double *ends_s, unsigned iteration, bool report)
{
    ends_s[iteration] = now_s();
    if (report) {
        printf("iteration %u: %.6f ms\n", iteration,
               (ends_s[iteration] - ends_s[iteration - 1]) * 1e3);
    }
}

void last_half_print(const double *ends_s, unsigned n_iterations)
{
    const unsigned first = n_iterations / 2;

    printf("iteration_ms=%.6f median_ms=%.6f iterations=%u\n",
           mean_iteration_s(ends_s, first, n_iterations) * 1e3,
           median_iteration_s(ends_s, first, n_iterations) * 1e3,
           n_iterations - first);
}

void times_print(double start_s, const double *ends_s, unsigned n_iterations,
                 double amount, const char *unit)
{
    const unsigned first = n_iterations < 20 ? n_iterations / 4 : 5;
    const double mean_s = mean_iteration_s(ends_s, first, n_iterations);

    printf("total time: %.6f s, of it %.6f s for the start values\n",
           ends_s[n_iterations] - start_s, ends_s[0] - start_s);
    printf("time per iteration: %.6f ms (mean of the last %u)", mean_s * 1e3,
           n_iterations - first);
    if (amount > 0.0) {
        printf(", %.3f G%s/s", amount / mean_s * 1e-9, unit);
    }
    printf("\n");
}

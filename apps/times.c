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

// The median time of an iteration from `first` on, iterations taken in pairs.
static double median_iteration_s(const double *ends_s, unsigned first,
                                 unsigned n_iterations)
{
    const unsigned n_pairs = n_iterations - first - 1;
    double *times_s = malloc(n_pairs * sizeof *times_s);
    double median_s;

    if (times_s == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(71);
    }
    for (unsigned k = 0; k < n_pairs; k++) {
        times_s[k] = (ends_s[first + k + 2] - ends_s[first + k]) / 2.0;
    }
    qsort(times_s, n_pairs, sizeof *times_s, compare_doubles);
    median_s = times_s[n_pairs / 2];
    free(times_s);
    return median_s;
}

void times_print(double start_s, const double *ends_s, unsigned n_iterations,
                 double n_points)
{
    const unsigned first = n_iterations < 20 ? n_iterations / 4 : 5;
    const double mean_s =
        (ends_s[n_iterations] - ends_s[first]) / (n_iterations - first);
    const double median_s =
        n_iterations - first >= 2
            ? median_iteration_s(ends_s, first, n_iterations)
            : mean_s;

    printf("total time: %.6f s, of it %.6f s for the start values\n",
           ends_s[n_iterations] - start_s, ends_s[0] - start_s);
    printf("time per iteration: %.6f ms (median; mean %.6f ms; of the last "
           "%u), %.3f Gpoint/s\n",
           median_s * 1e3, mean_s * 1e3, n_iterations - first,
           n_points / median_s * 1e-9);
}

void checksum_print(uint64_t sum)
{
    printf("checksum: %016llx\n", (unsigned long long)sum);
}

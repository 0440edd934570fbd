// SPDX-License-Identifier: BSD-3-Clause
#include "times.h"

#include <stdio.h>
#include <time.h>

double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void times_print(double start_s, const double *ends_s, unsigned n_iterations,
                 double n_points)
{
    const unsigned first = n_iterations < 20 ? n_iterations / 4 : 5;
    const double mean_s =
        (ends_s[n_iterations] - ends_s[first]) / (n_iterations - first);

    printf("total time: %.6f s, of it %.6f s for the start values\n",
           ends_s[n_iterations] - start_s, ends_s[0] - start_s);
    printf("time per iteration: %.6f ms (mean of the last %u), "
           "%.3f Gpoint/s\n",
           mean_s * 1e3, n_iterations - first, n_points / mean_s * 1e-9);
}

void checksum_print(uint64_t sum)
{
    printf("checksum: %016llx\n", (unsigned long long)sum);
}

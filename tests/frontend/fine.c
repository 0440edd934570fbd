// SPDX-License-Identifier: BSD-3-Clause
// Loops of many chunks that take little time each.
#include <stdio.h>

enum { STEPS = 20000, LOOPS = 2 };

static double sums[STEPS];

static double sum_up(int first, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += 1.0 / (first + i + 1);
    }
    return sum;
}

int main(void)
{
    double sum = 0;

    for (int i = 0; i < LOOPS; i++) {
#pragma omp parallel for schedule(dynamic)
        for (int k = 0; k < STEPS; k++) {
            sums[k] += sum_up(k, k % 7 * 1000);
        }
    }
    for (int k = 0; k < STEPS; k++) {
        sum += sums[k];
    }
    printf("%d chunks: %.12g\n", STEPS * LOOPS, sum);
    return 0;
}

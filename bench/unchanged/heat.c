// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: heat in a plate, a loop over its rows in each step, a reduction at its end.
//
//     heat [SIZE [STEPS]]
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "told.h"

enum { SIZE_MAX_ROWS = 4096 };

static double plates[2][SIZE_MAX_ROWS][SIZE_MAX_ROWS];
static int size = 2048;

static void warm_edges(void)
{
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < size; i++) {
            plates[k][0][i] = plates[k][i][0] = 100;
        }
    }
}

static double step(int from)
{
    double change = 0;

#pragma omp parallel for reduction(max : change)
    for (int i = 1; i < size - 1; i++) {
        for (int j = 1; j < size - 1; j++) {
            double *now = &plates[1 - from][i][j];
            const double(*a)[SIZE_MAX_ROWS] = plates[from];

            *now =
                0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
            change = fmax(change, fabs(*now - a[i][j]));
        }
    }
    return change;
}

int main(int argc, char **argv)
{
    const int n_steps = argc > 2 ? atoi(argv[2]) : 40;
    double change = 0;
    uint64_t bits;
    double start;

    size = argc > 1 ? atoi(argv[1]) : size;
    if (size < 3 || size > SIZE_MAX_ROWS) {
        return 64;
    }
    warm_edges();
    change += step(0); // the threads are made
    start = omp_get_wtime();
    for (int k = 1; k < n_steps; k++) {
        change += step(k % 2);
    }
    start = omp_get_wtime() - start;
    memcpy(&bits, &change, sizeof bits);
    tell(start, bits);
    return 0;
}

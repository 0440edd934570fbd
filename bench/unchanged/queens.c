// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: in how many ways N queens can stand, a task for each beginning of DEEP rows.
//
//     queens [N [DEEP]]
#include <omp.h>
#include <stdlib.h>

#include "told.h"

static int n = 13;
static int n_deep = 3;
static uint64_t n_found;

static uint64_t count(unsigned columns, unsigned left, unsigned right, int row)
{
    unsigned free = ((1u << n) - 1) & ~(columns | left | right);
    uint64_t found = 0;

    if (row == n) {
        return 1;
    }
    while (free != 0) {
        const unsigned place = free & -free;

        free ^= place;
        found += count(columns | place, (left | place) << 1,
                       (right | place) >> 1, row + 1);
    }
    return found;
}

static void begin(unsigned columns, unsigned left, unsigned right, int row)
{
    unsigned free = ((1u << n) - 1) & ~(columns | left | right);

    while (free != 0) {
        const unsigned place = free & -free;
        const unsigned a = columns | place;
        const unsigned b = (left | place) << 1;
        const unsigned c = (right | place) >> 1;

        free ^= place;
        if (row + 1 < n_deep) {
            begin(a, b, c, row + 1);
            continue;
        }
#pragma omp task
        {
            const uint64_t found = count(a, b, c, row + 1);

#pragma omp atomic
            n_found += found;
        }
    }
}

int main(int argc, char **argv)
{
    double start;

    n = argc > 1 ? atoi(argv[1]) : n;
    n_deep = argc > 2 ? atoi(argv[2]) : n_deep;
    if (n < 1 || n > 20 || n_deep < 1 || n_deep > n) {
        return 64;
    }
#pragma omp parallel
    n_found = 0; // the threads are made
    start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    begin(0, 0, 0, 0);
    tell(omp_get_wtime() - start, n_found);
    return 0;
}

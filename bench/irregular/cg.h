// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_IRREGULAR_CG_H
#define BENCH_IRREGULAR_CG_H
/*
 * A sparse matrix, symmetric and positive definite, as cg.c and its MPI program have it: row i
 * has its diagonal, and ones at places that are scattered over the row.
 */

#include <stddef.h>
#include <stdint.h>

enum { CG_STRIDES = 6 }; // each leads to two places of a row

static inline size_t cg_stride(unsigned k, size_t n)
{
    return k == 0 ? 1 : (k * 2654435761u) % (n / 2);
}

/** A row of the matrix, by a vector. @param x  [n] */
static inline double cg_row(size_t row, const double *x, size_t n)
{
    double sum = (2 * CG_STRIDES + 0.5) * x[row];

    for (unsigned k = 0; k < CG_STRIDES; k++) {
        const size_t stride = cg_stride(k, n);

        sum -= x[(row + stride) % n];
        sum -= x[(row + n - stride) % n];
    }
    return sum;
}

/** The right side that belongs to the solution. */
static inline double cg_solution(size_t row)
{
    return (double)(row * 37 % 64) * 0.25 - 8.0;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_DENSE_H
#define APPS_DENSE_H
/*
 * The arithmetic of matmul and gauss: plain C on plain pointers, compiled once
 * for the programs, their sequential twins and what bench/ compares them with;
 * see stencil.h. The order of the additions in a number does not depend on how
 * many rows are asked for at once, so equal work gives equal bits.
 */

#include <stddef.h>
#include <stdint.h>

/** A number from -1 to 1 that looks drawn by lot, for each row and column. */
static inline double matrix_value(size_t row, size_t column)
{
    uint64_t bits =
        (row + 1) * 0x9e3779b97f4a7c15u + (column + 1) * 0xc2b2ae3d27d4eb4fu;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
    return (double)(bits >> 40) * 0x1p-23 - 1.0;
}

/**
 * Some rows of a product of matrices: C = A B.
 *
 * @param[out] c  [n_rows][n]
 * @param a       [n_rows][n]  the same rows of A
 * @param b       [n][n]
 */
void product_rows(double *restrict c, const double *restrict a,
                  const double *restrict b, size_t n_rows, size_t n);

/**
 * One row in one pivot step: the pivot row is taken from it so often that its
 * first number would vanish. The factor is left in that number's place.
 *
 * @param row    [n]  from the pivot's column on
 * @param pivot  [n]  the pivot row, from the pivot on, which is not 0
 */
void eliminate_row(double *restrict row, const double *restrict pivot,
                   size_t n);

/** The same work on a copy: nothing changes. */
void eliminate_row_idle(double *restrict row, const double *restrict pivot,
                        size_t n);

/** eliminate_row() or eliminate_row_idle(). */
typedef void eliminate_row_function(double *restrict row,
                                    const double *restrict pivot, size_t n);

#endif

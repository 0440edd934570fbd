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

/**
 * Row `i` of the matrices to multiply: of A, on the left, and of B, on the
 * right, which is such that products neither grow nor vanish.
 *
 * @param[out] row  [size]
 */
void left_row_fill(double *row, size_t i, size_t size);
void right_row_fill(double *row, size_t i, size_t size);

/**
 * Some rows of a product of matrices: C = A B.
 *
 * @param[out] c  [n_rows][n]
 * @param a       [n_rows][n]  the same rows of A
 * @param b       [n][n]
 * @param effort  how often the arithmetic is done, all but the first in vain
 */
void product_rows(double *restrict c, const double *restrict a,
                  const double *restrict b, size_t n_rows, size_t n,
                  unsigned effort);

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

/**
 * Numbers from one row of a system of `size` linear equations to the next: the
 * row, its right-hand side behind it, and zeros up to a whole page of 4096
 * bytes.
 */
size_t system_width(size_t size);

/**
 * Row `i` of a system whose diagonal outweighs the rest of each row, and whose
 * unknowns are all 1: the right-hand side is the sum of the row.
 *
 * @param[out] row  [system_width(size)]
 */
void system_row_fill(double *row, size_t i, size_t size);

/**
 * Solve a system whose numbers below the diagonal count as zeros, from the last
 * row up, and put the solution in the place of the right-hand sides.
 *
 * @param matrix  [size][system_width(size)]
 * @return the largest distance of an unknown from 1
 */
double system_solve_triangle(double *matrix, size_t size);

#endif

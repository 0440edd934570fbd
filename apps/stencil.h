// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_STENCIL_H
#define APPS_STENCIL_H
/*
 * The arithmetic of jacobi and sor: one row at a time, plain C on plain
 * pointers. The programs that share their memory through Teamster, their
 * sequential twins, the MPI programs and the plain loops of bench/ all call
 * these functions, compiled once: what differs between them is only where the
 * rows lie, and equal work gives equal bits.
 */

#include <stddef.h>

/**
 * The value of a point before the first iteration. Never the same over a
 * whole page, so that every iteration changes every point.
 *
 * @param row, column  0 and size + 1 are the fixed border
 */
static inline double start_value(size_t row, size_t column)
{
    return (double)((row * 31 + column * 17) & 127) * 0.125;
}

/**
 * One row of one Jacobi step: each point becomes the mean of its four
 * neighbours.
 *
 * @param[out] to           [n]  the new row
 * @param up, middle, down  the rows above, here and below; middle is also read
 *                          at -1 and n
 */
void jacobi_row(double *restrict to, const double *restrict up,
                const double *restrict middle, const double *restrict down,
                size_t n);

/**
 * One row and colour of one red/black over-relaxation step. Points of one
 * colour have neighbours of the other only, and each colour lies packed, so
 * that all accesses are to consecutive doubles.
 *
 * @param cells     [n]      the points to change
 * @param up, down  [n]      their neighbours above and below
 * @param side      [n + 1]  side[k] is left of cells[k], side[k + 1] right
 * @param omega     relaxation factor, above 0, below 2
 */
void sor_row(double *restrict cells, const double *restrict up,
             const double *restrict down, const double *restrict side, size_t n,
             double omega);

/** The same work on a copy: nothing changes. */
void sor_row_idle(double *restrict cells, const double *restrict up,
                  const double *restrict down, const double *restrict side,
                  size_t n, double omega);

/** sor_row() or sor_row_idle(). */
typedef void sor_row_function(double *restrict cells, const double *restrict up,
                              const double *restrict down,
                              const double *restrict side, size_t n,
                              double omega);

/**
 * The points of one colour in one row. The point in column c of row r is red
 * if r + c is even; the k-th point of a colour in a row is in column
 * `start` + 2 k.
 */
struct half_row {
    size_t start; ///< column of the colour's point 0: 0 or 1
    size_t first; ///< number of its first point inside the border
    size_t n;     ///< how many of its points are inside
};

/** Which points of a colour (0 red, 1 black) are inside, for a grid of size
 *  `size` without the border. */
static inline struct half_row half_row_at(size_t row, unsigned colour,
                                          size_t size)
{
    const size_t start = (row + colour) % 2;
    const size_t first = 1 - start;

    return (struct half_row){start, first, (size - start) / 2 - first + 1};
}

/** How many points of one colour a row has, the border included, at most. */
static inline size_t half_row_width(size_t size)
{
    return (size + 3) / 2;
}

#endif

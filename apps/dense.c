// SPDX-License-Identifier: BSD-3-Clause
#include "dense.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A block of B that stays in the cache while all rows go over it: so many of
// its rows and columns.
enum { BLOCK_ROWS = 64, BLOCK_COLUMNS = 256 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// A number from -1 to 1 that looks drawn by lot, for each row and column.
static double matrix_value(size_t row, size_t column)
{
    uint64_t bits =
        (row + 1) * 0x9e3779b97f4a7c15u + (column + 1) * 0xc2b2ae3d27d4eb4fu;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
    return (double)(bits >> 40) * 0x1p-23 - 1.0;
}

void left_row_fill(double *row, size_t i, size_t size)
{
    for (size_t j = 0; j < size; j++) {
        row[j] = matrix_value(i, j);
    }
}

void right_row_fill(double *row, size_t i, size_t size)
{
    const double scale = sqrt(3.0 / (double)size);

    for (size_t j = 0; j < size; j++) {
        row[j] = scale * matrix_value(i + size, j + size);
    }
}

// A part of a row of C: c += a b, with n_k numbers of A's row.
static void add_product(double *restrict c, const double *restrict a,
                        const double *restrict b, size_t n_k, size_t n_columns,
                        size_t width)
{
    for (size_t k = 0; k < n_k; k++) {
        const double *b_row = &b[k * width];
        const double factor = a[k];

        for (size_t j = 0; j < n_columns; j++) {
            c[j] += factor * b_row[j];
        }
    }
}

// The same work, and nothing changes.
static void add_product_idle(const double *restrict a, const double *restrict b,
                             size_t n_k, size_t n_columns, size_t width)
{
    double c[BLOCK_COLUMNS] = {0};

    add_product(c, a, b, n_k, n_columns, width);
    __asm__ volatile("" ::"r"(c) : "memory"); // it counts as used
}

void product_rows(double *restrict c, const double *restrict a,
                  const double *restrict b, size_t n_rows, size_t n,
                  unsigned effort)
{
    memset(c, 0, n_rows * n * sizeof *c);
    for (size_t j = 0; j < n; j += BLOCK_COLUMNS) {
        const size_t n_columns = least(BLOCK_COLUMNS, n - j);

        for (size_t k = 0; k < n; k += BLOCK_ROWS) {
            const size_t n_k = least(BLOCK_ROWS, n - k);

            for (size_t i = 0; i < n_rows; i++) {
                for (unsigned time = 1; time < effort; time++) {
                    add_product_idle(&a[i * n + k], &b[k * n + j], n_k,
                                     n_columns, n);
                }
                add_product(&c[i * n + j], &a[i * n + k], &b[k * n + j], n_k,
                            n_columns, n);
            }
        }
    }
}

void eliminate_row(double *restrict row, const double *restrict pivot, size_t n)
{
    const double factor = row[0] / pivot[0];

    row[0] = factor;
    for (size_t j = 1; j < n; j++) {
        row[j] -= factor * pivot[j];
    }
}

void eliminate_row_idle(double *restrict row, const double *restrict pivot,
                        size_t n)
{
    double copy[512];

    for (size_t j = 0; j < n; j += 512) {
        const size_t n_part = least(512, n - j);

        memcpy(copy, &row[j], n_part * sizeof copy[0]);
        eliminate_row(copy, &pivot[j], n_part);
        __asm__ volatile("" ::"r"(copy) : "memory"); // it counts as used
    }
}

size_t system_width(size_t size)
{
    const size_t page = 4096 / sizeof(double);

    return (size + 1 + page - 1) / page * page;
}

void system_row_fill(double *row, size_t i, size_t size)
{
    double sum = 0.0;

    for (size_t j = 0; j < size; j++) {
        row[j] = matrix_value(i, j) + (i == j ? 2.0 * (double)size : 0.0);
        sum += row[j];
    }
    row[size] = sum;
    for (size_t j = size + 1; j < system_width(size); j++) {
        row[j] = 0.0;
    }
}

// Unknowns are read from an array of their own: where memory is short, reading them
// from all rows would page in the matrix for each of its rows.
double system_solve_triangle(double *matrix, size_t size)
{
    const size_t width = system_width(size);
    double *unknowns = malloc(size * sizeof *unknowns);
    double error = 0.0;

    if (unknowns == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(71);
    }
    for (size_t i = size; i-- > 0;) {
        double *row = &matrix[i * width];

        for (size_t j = i + 1; j < size; j++) {
            row[size] -= row[j] * unknowns[j];
        }
        row[size] /= row[i];
        unknowns[i] = row[size];
        error = fmax(error, fabs(row[size] - 1.0));
    }
    free(unknowns);
    return error;
}

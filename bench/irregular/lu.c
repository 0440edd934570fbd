// SPDX-License-Identifier: BSD-3-Clause
/*
 * LU factorisation without pivoting, in blocks of 32 by 32 that lie packed, as in
 * [SPLASH2]. Blocks are dealt out to threads in turn; a thread works on its own ones, and
 * reads those of the pivot's row and column.
 *
 *     lu [THREADS [ROWS]]
 */
#include <math.h>

#include "checksum.h"
#include "program.h"

enum { B = 32 };

static TM_SHARED struct {
    tm_barrier barrier;
    double (*blocks)[B][B]; // [n_blocks][n_blocks]
} job;

static size_t n_blocks(void)
{
    return program.size / B;
}

static double (*block_at(size_t row, size_t column))[B]
{
    return job.blocks[row * n_blocks() + column];
}

static int is_mine(size_t me, size_t row, size_t column)
{
    return (row * n_blocks() + column) % program.n_threads == me;
}

// Larger on the diagonal than all else of the row together.
static double start_value(size_t row, size_t column)
{
    const double value = mix_double(row * program.size + column) - 0.5;

    return row == column ? value + (double)program.size : value;
}

static void fill_block(size_t row, size_t column)
{
    for (size_t i = 0; i < B; i++) {
        for (size_t j = 0; j < B; j++) {
            block_at(row, column)[i][j] =
                start_value(row * B + i, column * B + j);
        }
    }
}

static void factor_diagonal(double (*a)[B])
{
    for (unsigned k = 0; k < B; k++) {
        for (unsigned i = k + 1; i < B; i++) {
            a[i][k] /= a[k][k];
            for (unsigned j = k + 1; j < B; j++) {
                a[i][j] -= a[i][k] * a[k][j];
            }
        }
    }
}

// a = a * inverse of the upper part of `diagonal`
static void divide_column(double (*a)[B], double (*diagonal)[B])
{
    for (unsigned k = 0; k < B; k++) {
        for (unsigned i = 0; i < B; i++) {
            a[i][k] /= diagonal[k][k];
            for (unsigned j = k + 1; j < B; j++) {
                a[i][j] -= a[i][k] * diagonal[k][j];
            }
        }
    }
}

// a = inverse of the lower part of `diagonal` * a
static void divide_row(double (*a)[B], double (*diagonal)[B])
{
    for (unsigned k = 0; k < B; k++) {
        for (unsigned i = k + 1; i < B; i++) {
            for (unsigned j = 0; j < B; j++) {
                a[i][j] -= diagonal[i][k] * a[k][j];
            }
        }
    }
}

static void subtract_product(double (*a)[B], double (*left)[B], double (*up)[B])
{
    for (unsigned i = 0; i < B; i++) {
        for (unsigned k = 0; k < B; k++) {
            for (unsigned j = 0; j < B; j++) {
                a[i][j] -= left[i][k] * up[k][j];
            }
        }
    }
}

static void update_pivots(size_t me, size_t k)
{
    for (size_t i = k + 1; i < n_blocks(); i++) {
        if (is_mine(me, i, k)) {
            divide_column(block_at(i, k), block_at(k, k));
        }
        if (is_mine(me, k, i)) {
            divide_row(block_at(k, i), block_at(k, k));
        }
    }
}

static void update_rest(size_t me, size_t k)
{
    for (size_t i = k + 1; i < n_blocks(); i++) {
        for (size_t j = k + 1; j < n_blocks(); j++) {
            if (is_mine(me, i, j)) {
                subtract_product(block_at(i, j), block_at(i, k),
                                 block_at(k, j));
            }
        }
    }
}

static void *factor(void *arg)
{
    const size_t me = (size_t)arg;

    for (size_t i = 0; i < n_blocks() * n_blocks(); i++) {
        if (i % program.n_threads == me) {
            fill_block(i / n_blocks(), i % n_blocks());
        }
    }
    tm_barrier_wait(&job.barrier);
    for (size_t k = 0; k < n_blocks(); k++) {
        if (is_mine(me, k, k)) {
            factor_diagonal(block_at(k, k));
        }
        tm_barrier_wait(&job.barrier);
        update_pivots(me, k);
        tm_barrier_wait(&job.barrier);
        update_rest(me, k);
        tm_barrier_wait(&job.barrier);
    }
    return NULL;
}

static double factor_at(size_t row, size_t column)
{
    return block_at(row / B, column / B)[row % B][column % B];
}

// Solve for a right side that belongs to x = 1, 1, ...
static void check_factors(void)
{
    const size_t n = program.size;
    double *x = calloc(n, sizeof *x);

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            x[i] += start_value(i, j);
        }
        for (size_t j = 0; j < i; j++) {
            x[i] -= factor_at(i, j) * x[j];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++) {
            x[i] -= factor_at(i, j) * x[j];
        }
        x[i] /= factor_at(i, i);
        if (fabs(x[i] - 1.0) > 1e-9) {
            PROGRAM_FAIL("x[%zu] is %.17g, not 1", i, x[i]);
        }
    }
    free(x);
}

int main(int argc, char **argv)
{
    const size_t block = sizeof(double[B][B]);

    program_begin(argc, argv, (struct program){2, 512, 1});
    program.size -= program.size % B;
    job.blocks = program_alloc("matrix", n_blocks() * n_blocks() * block);
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(factor);
    check_factors();
    program_print(
        "steps", (double)n_blocks(),
        checksum((double *)job.blocks, program.size * program.size, 0));
    return 0;
}

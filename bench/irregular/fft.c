// SPDX-License-Identifier: BSD-3-Clause
/*
 * A Fourier transform of SIZE by SIZE points in one dimension, by the six-step method
 * [Bailey90]: the points are a matrix; rows are transformed, and between that it is
 * transposed, for which each thread reads columns of all others.
 *
 *     fft [THREADS [SIZE]]        a power of two
 */
#include <complex.h>
#include <math.h>

#include "checksum.h"
#include "program.h"

typedef double complex point;

static TM_SHARED struct {
    tm_barrier barrier;
    point *data[2]; // [size][size]
} job;

static point root_of_unity(size_t k, size_t n)
{
    const double angle = -2.0 * 3.14159265358979323846 * (double)k / (double)n;

    return cos(angle) + sin(angle) * I;
}

// By bits reversed. @param n  a power of two
static void sort_points(point *row, size_t n)
{
    size_t reversed = 0;

    for (size_t i = 0; i < n; i++) {
        size_t bit = n / 2;

        if (i < reversed) {
            const point kept = row[i];

            row[i] = row[reversed];
            row[reversed] = kept;
        }
        while (bit > 0 && (reversed & bit)) {
            reversed ^= bit;
            bit /= 2;
        }
        reversed |= bit;
    }
}

// [Cooley65]. @param roots  [n / 2]  powers of the n-th root of unity
static void transform_row(point *row, const point *roots, size_t n)
{
    sort_points(row, n);
    for (size_t half = 1; half < n; half *= 2) {
        for (size_t start = 0; start < n; start += 2 * half) {
            for (size_t i = 0; i < half; i++) {
                point *a = &row[start + i];
                const point b = a[half] * roots[i * (n / 2 / half)];

                a[half] = *a - b;
                *a += b;
            }
        }
    }
}

static void transpose(size_t me, point *to, const point *from)
{
    const size_t n = program.size;
    const size_t end = part_start(n, me + 1);

    for (size_t column = 0; column < n; column++) {
        for (size_t row = part_start(n, me); row < end; row++) {
            to[row * n + column] = from[column * n + row];
        }
    }
    tm_barrier_wait(&job.barrier);
}

static void transform_rows(size_t me, point *data, const point *roots,
                           int has_twiddles)
{
    const size_t n = program.size;
    const size_t end = part_start(n, me + 1);

    for (size_t row = part_start(n, me); row < end; row++) {
        transform_row(&data[row * n], roots, n);
        for (size_t i = 0; has_twiddles && i < n; i++) {
            data[row * n + i] *= root_of_unity(row * i, n * n);
        }
    }
    tm_barrier_wait(&job.barrier);
}

// A wave, so that all of the transform is 0 but for one point; and one point by itself.
static point start_value(size_t i)
{
    const size_t n = program.size * program.size;

    return conj(root_of_unity(3 * i % n, n)) + (i == 0 ? 1.0 : 0.0);
}

static void *transform(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t n = program.size;
    const size_t start = part_start(n, me) * n;
    const size_t end = part_start(n, me + 1) * n;
    point *roots = malloc((n / 2 + 1) * sizeof *roots);

    for (size_t i = 0; i < n / 2; i++) {
        roots[i] = root_of_unity(i, n);
    }
    for (size_t i = start; i < end; i++) {
        job.data[0][i] = start_value(i);
    }
    tm_barrier_wait(&job.barrier);
    transpose(me, job.data[1], job.data[0]);
    transform_rows(me, job.data[1], roots, 1);
    transpose(me, job.data[0], job.data[1]);
    transform_rows(me, job.data[0], roots, 0);
    transpose(me, job.data[1], job.data[0]);
    free(roots);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t n_points;

    program_begin(argc, argv, (struct program){2, 256, 1});
    if (program.size & (program.size - 1)) {
        fprintf(stderr, "fft: a power of two\n");
        return 64;
    }
    n_points = program.size * program.size;
    for (unsigned i = 0; i < 2; i++) {
        job.data[i] = program_alloc("points", n_points * sizeof(point));
    }
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(transform);
    for (size_t i = 0; i < n_points; i++) {
        const double expected = i == 3 ? 1.0 + (double)n_points : 1.0;

        if (cabs(job.data[1][i] - expected) > 1e-9 * (double)n_points) {
            PROGRAM_FAIL("point %zu is %g + %gi, not %g", i,
                         creal(job.data[1][i]), cimag(job.data[1][i]),
                         expected);
        }
    }
    program_print("points", (double)n_points,
                  checksum((double *)job.data[1], 2 * n_points, 0));
    return 0;
}

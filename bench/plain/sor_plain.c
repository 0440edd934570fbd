// SPDX-License-Identifier: BSD-3-Clause
/*
 * The loops of apps/sor.c on plain memory, in a program that knows nothing of
 * Teamster: what a node alone is compared with.
 */
#include "../arguments.h"
#include "checksum.h"
#include "stencil.h"
#include "times.h"

static void colour_fill(double *cells, unsigned colour, size_t size)
{
    const size_t width = half_row_width(size);

    for (size_t row = 0; row < size + 2; row++) {
        const size_t start = half_row_at(row, colour, size).start;

        for (size_t k = 0; k < width; k++) {
            cells[row * width + k] = start_value(row, start + 2 * k);
        }
    }
}

static void colour_step(double *const cells[2], unsigned colour, size_t size)
{
    const size_t width = half_row_width(size);
    const double *other = cells[1 - colour];

    for (size_t row = 1; row <= size; row++) {
        const struct half_row half = half_row_at(row, colour, size);
        const size_t cell = row * width + half.first;

        sor_row(&cells[colour][cell], &other[cell - width],
                &other[cell + width], &other[cell + half.start - 1], half.n,
                1.5);
    }
}

int main(int argc, char **argv)
{
    const struct arguments arguments = arguments_parse(argc, argv);
    const size_t size = arguments.size;
    const size_t n_values = (size + 2) * half_row_width(size);
    double *red = doubles_new(2 * n_values);
    double *cells[2] = {red, red + n_values};
    double *ends_s = doubles_new(arguments.n_iterations + 1);
    const double start_s = now_s();

    colour_fill(cells[0], 0, size);
    colour_fill(cells[1], 1, size);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        colour_step(cells, 0, size);
        colour_step(cells, 1, size);
        ends_s[k] = now_s();
    }
    times_print(start_s, ends_s, arguments.n_iterations, (double)size * size,
                "point");
    checksum_print(checksum(red, 2 * n_values, 0));
    free(ends_s);
    free(red);
    return 0;
}

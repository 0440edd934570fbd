// SPDX-License-Identifier: BSD-3-Clause
/*
 * The loops of apps/jacobi.c on plain memory, in a program that knows nothing
 * of Teamster: what a node alone is compared with.
 */
#include "../arguments.h"
#include "checksum.h"
#include "stencil.h"
#include "times.h"

static void grid_fill(double *grid, size_t size)
{
    for (size_t row = 0; row < size + 2; row++) {
        for (size_t column = 0; column < size + 2; column++) {
            grid[row * (size + 2) + column] = start_value(row, column);
        }
    }
}

static void grid_step(double *to, const double *from, size_t size)
{
    const size_t width = size + 2;

    for (size_t row = 1; row <= size; row++) {
        const double *middle = &from[row * width + 1];

        jacobi_row(&to[row * width + 1], middle - width, middle, middle + width,
                   size);
    }
}

int main(int argc, char **argv)
{
    const struct arguments arguments = arguments_parse(argc, argv);
    const size_t size = arguments.size;
    const size_t n_values = (size + 2) * (size + 2);
    double *grids[2] = {doubles_new(n_values), doubles_new(n_values)};
    double *ends_s = doubles_new(arguments.n_iterations + 1);
    const double start_s = now_s();

    grid_fill(grids[0], size);
    grid_fill(grids[1], size);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        grid_step(grids[k % 2], grids[(k - 1) % 2], size);
        ends_s[k] = now_s();
    }
    times_print(start_s, ends_s, arguments.n_iterations, (double)size * size,
                "point");
    checksum_print(checksum(grids[arguments.n_iterations % 2], n_values, 0));
    free(ends_s);
    free(grids[0]);
    free(grids[1]);
    return 0;
}

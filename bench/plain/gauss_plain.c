// SPDX-License-Identifier: BSD-3-Clause
/*
 * The loops of apps/gauss.c on plain memory, in a program that knows nothing of
 * Teamster.
 */
#include "../arguments.h"
#include "checksum.h"
#include "dense.h"
#include "times.h"

static void step(double *matrix, size_t size, size_t pivot)
{
    const size_t width = system_width(size);

    for (size_t i = pivot + 1; i < size; i++) {
        eliminate_row(&matrix[i * width + pivot],
                      &matrix[pivot * width + pivot], size + 1 - pivot);
    }
}

int main(int argc, char **argv)
{
    const struct arguments arguments = arguments_parse(argc, argv);
    const size_t size = arguments.size;
    const size_t width = system_width(size);
    double *matrix = doubles_new(size * width);
    double *ends_s = doubles_new(arguments.n_iterations + 1);
    const double start_s = now_s();
    size_t pivot = 0;

    for (size_t row = 0; row < size; row++) {
        system_row_fill(&matrix[row * width], row, size);
    }
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        while (pivot < (size - 1) * k / arguments.n_iterations) {
            step(matrix, size, pivot++);
        }
        ends_s[k] = now_s();
    }
    times_print(start_s, ends_s, arguments.n_iterations, 0.0, "");
    system_solve_triangle(matrix, size);
    checksum_print(checksum(matrix, size * width, 0));
    free(ends_s);
    free(matrix);
    return 0;
}

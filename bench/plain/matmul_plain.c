// SPDX-License-Identifier: BSD-3-Clause
/*
 * The loops of apps/matmul.c on plain memory, in a program that knows nothing
 * of Teamster.
 */
#include "../arguments.h"
#include "checksum.h"
#include "dense.h"
#include "times.h"

int main(int argc, char **argv)
{
    const struct arguments arguments = arguments_parse(argc, argv);
    const size_t size = arguments.size;
    double *products[2] = {doubles_new(size * size), doubles_new(size * size)};
    double *b = doubles_new(size * size);
    double *ends_s = doubles_new(arguments.n_iterations + 1);
    const double start_s = now_s();

    for (size_t row = 0; row < size; row++) {
        left_row_fill(&products[0][row * size], row, size);
        right_row_fill(&b[row * size], row, size);
    }
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        product_rows(products[k % 2], products[(k - 1) % 2], b, size, size, 1);
        ends_s[k] = now_s();
    }
    times_print(start_s, ends_s, arguments.n_iterations,
                2.0 * (double)size * (double)size * (double)size, "flop");
    checksum_print(
        checksum(products[arguments.n_iterations % 2], size * size, 0));
    free(ends_s);
    free(b);
    free(products[0]);
    free(products[1]);
    return 0;
}

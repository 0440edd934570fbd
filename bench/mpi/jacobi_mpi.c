// SPDX-License-Identifier: BSD-3-Clause
/*
 * jacobi as an MPI program: a block of rows for each process, border rows
 * exchanged with non-blocking calls before each step.
 */
#include <mpi.h>

#include "../arguments.h"
#include "checksum.h"
#include "rows.h"
#include "stencil.h"
#include "times.h"

// grid row 0 is row `first` of the whole.
static void rows_fill(double *grid, size_t size, size_t first, size_t n)
{
    const size_t width = size + 2;

    for (size_t row = 0; row < n; row++) {
        for (size_t column = 0; column < width; column++) {
            grid[row * width + column] = start_value(first + row, column);
        }
    }
}

static void grids_fill(const struct rows *rows, double *const grids[2],
                       bool on_root)
{
    const size_t width = rows->size + 2;
    double *whole = NULL;

    if (!on_root) {
        rows_fill(grids[0], rows->size, rows->first - 1, rows->n + 2);
        rows_fill(grids[1], rows->size, rows->first - 1, rows->n + 2);
        return;
    }
    if (rows->rank == 0) {
        whole = doubles_new(width * width);
    }
    for (int i = 0; i < 2; i++) {
        if (whole != NULL) {
            rows_fill(whole, rows->size, 0, width);
        }
        rows_scatter(rows, whole, grids[i], width);
    }
    free(whole);
}

static void rows_step(const struct rows *rows, double *to, const double *from)
{
    const size_t width = rows->size + 2;

    for (size_t row = 1; row <= rows->n; row++) {
        const double *middle = &from[row * width + 1];

        jacobi_row(&to[row * width + 1], middle - width, middle, middle + width,
                   rows->size);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct rows rows;
    double *grids[2];
    double *ends_s;
    double start_s;
    uint64_t sum;
    int rank;
    int n_ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    arguments = arguments_parse(argc, argv);
    rows = rows_of(arguments.size, rank, n_ranks);
    grids[0] = doubles_new((rows.n + 2) * (rows.size + 2));
    grids[1] = doubles_new((rows.n + 2) * (rows.size + 2));
    ends_s = doubles_new(arguments.n_iterations + 1);

    MPI_Barrier(MPI_COMM_WORLD);
    start_s = now_s();
    grids_fill(&rows, grids, arguments.init_on_root);
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        rows_exchange(&rows, grids[(k - 1) % 2], rows.size + 2);
        rows_step(&rows, grids[k % 2], grids[(k - 1) % 2]);
        ends_s[k] = now_s();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[arguments.n_iterations] = now_s();
    sum = rows_checksum(&rows, grids[arguments.n_iterations % 2], rows.size + 2,
                        0);
    if (rank == 0) {
        times_print(start_s, ends_s, arguments.n_iterations,
                    (double)rows.size * rows.size, "point");
        checksum_print(sum);
    }
    free(ends_s);
    free(grids[0]);
    free(grids[1]);
    MPI_Finalize();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * sor as an MPI program: a block of rows for each process, of both colours;
 * the border rows of a colour are exchanged before the other colour's step.
 */
#include <mpi.h>

#include "../arguments.h"
#include "checksum.h"
#include "rows.h"
#include "stencil.h"
#include "times.h"

// cells row 0 is row `first` of the whole.
static void rows_fill(double *cells, unsigned colour, size_t size, size_t first,
                      size_t n)
{
    const size_t width = half_row_width(size);

    for (size_t row = 0; row < n; row++) {
        const size_t start = half_row_at(first + row, colour, size).start;

        for (size_t k = 0; k < width; k++) {
            cells[row * width + k] = start_value(first + row, start + 2 * k);
        }
    }
}

static void cells_fill(const struct rows *rows, double *const cells[2],
                       bool on_root)
{
    const size_t width = half_row_width(rows->size);
    double *whole = NULL;

    if (!on_root) {
        rows_fill(cells[0], 0, rows->size, rows->first - 1, rows->n + 2);
        rows_fill(cells[1], 1, rows->size, rows->first - 1, rows->n + 2);
        return;
    }
    if (rows->rank == 0) {
        whole = doubles_new((rows->size + 2) * width);
    }
    for (unsigned colour = 0; colour < 2; colour++) {
        if (whole != NULL) {
            rows_fill(whole, colour, rows->size, 0, rows->size + 2);
        }
        rows_scatter(rows, whole, cells[colour], width);
    }
    free(whole);
}

static void rows_step(const struct rows *rows, double *const cells[2],
                      unsigned colour)
{
    const size_t width = half_row_width(rows->size);
    const double *other = cells[1 - colour];

    for (size_t row = 1; row <= rows->n; row++) {
        const struct half_row half =
            half_row_at(rows->first - 1 + row, colour, rows->size);
        const size_t cell = row * width + half.first;

        sor_row(&cells[colour][cell], &other[cell - width],
                &other[cell + width], &other[cell + half.start - 1], half.n,
                1.5);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct rows rows;
    size_t width;
    double *cells[2];
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
    width = half_row_width(rows.size);
    cells[0] = doubles_new((rows.n + 2) * width);
    cells[1] = doubles_new((rows.n + 2) * width);
    ends_s = doubles_new(arguments.n_iterations + 1);

    MPI_Barrier(MPI_COMM_WORLD);
    start_s = now_s();
    cells_fill(&rows, cells, arguments.init_on_root);
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        rows_exchange(&rows, cells[1], width);
        rows_step(&rows, cells, 0);
        rows_exchange(&rows, cells[0], width);
        rows_step(&rows, cells, 1);
        ends_s[k] = now_s();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[arguments.n_iterations] = now_s();
    sum = rows_checksum(&rows, cells[0], width, 0) +
          rows_checksum(&rows, cells[1], width, (rows.size + 2) * width);
    if (rank == 0) {
        times_print(start_s, ends_s, arguments.n_iterations,
                    (double)rows.size * rows.size, "point");
        checksum_print(sum);
    }
    free(ends_s);
    free(cells[0]);
    free(cells[1]);
    MPI_Finalize();
    return 0;
}

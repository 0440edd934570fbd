// SPDX-License-Identifier: BSD-3-Clause
/*
 * gauss as an MPI program: the rows dealt to the processes in turn; in each
 * pivot step the process that has the pivot row sends it to all.
 */
#include <mpi.h>

#include "../arguments.h"
#include "checksum.h"
#include "dense.h"
#include "times.h"

// The rows of one process: rank, rank + n_ranks, ...
struct share {
    size_t size;
    size_t width;
    size_t rank;
    size_t n_ranks;
    double *rows; // one behind the other
};

static double *row_at(const struct share *share, size_t row)
{
    return &share->rows[row / share->n_ranks * share->width];
}

static struct share share_new(size_t size)
{
    int rank;
    int n_ranks;
    struct share share = {.size = size, .width = system_width(size)};

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    share.rank = (size_t)rank;
    share.n_ranks = (size_t)n_ranks;
    share.rows = doubles_new((size / share.n_ranks + 1) * share.width);
    return share;
}

// Each process makes its rows, or rank 0 makes all and hands them out.
static void fill(const struct share *share, double *buffer, bool on_root)
{
    for (size_t row = 0; row < share->size; row++) {
        const size_t owner = row % share->n_ranks;

        if (owner == share->rank && (share->rank == 0 || !on_root)) {
            system_row_fill(row_at(share, row), row, share->size);
        } else if (owner == share->rank) {
            MPI_Recv(row_at(share, row), (int)share->width, MPI_DOUBLE, 0, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (share->rank == 0 && on_root) {
            system_row_fill(buffer, row, share->size);
            MPI_Send(buffer, (int)share->width, MPI_DOUBLE, (int)owner, 0,
                     MPI_COMM_WORLD);
        }
    }
}

// @param buffer  [width]  for the pivot row of another process
static void step(const struct share *share, size_t pivot, double *buffer)
{
    const size_t owner = pivot % share->n_ranks;
    const size_t n = share->size + 1 - pivot;
    double *pivot_row =
        owner == share->rank ? &row_at(share, pivot)[pivot] : buffer;
    size_t i = share->rank;

    MPI_Bcast(pivot_row, (int)n, MPI_DOUBLE, (int)owner, MPI_COMM_WORLD);
    if (i <= pivot) {
        i += ((pivot - i) / share->n_ranks + 1) * share->n_ranks;
    }
    for (; i < share->size; i += share->n_ranks) {
        eliminate_row(&row_at(share, i)[pivot], pivot_row, n);
    }
}

// Rank 0 collects all rows, solves the triangle, and prints the checksum.
static void finish(const struct share *share)
{
    const size_t width = share->width;
    double *matrix = share->rank == 0 ? doubles_new(share->size * width) : NULL;

    for (size_t row = 0; row < share->size; row++) {
        const size_t owner = row % share->n_ranks;

        if (owner == share->rank && share->rank == 0) {
            memcpy(&matrix[row * width], row_at(share, row),
                   width * sizeof *matrix);
        } else if (owner == share->rank) {
            MPI_Send(row_at(share, row), (int)width, MPI_DOUBLE, 0, 0,
                     MPI_COMM_WORLD);
        } else if (share->rank == 0) {
            MPI_Recv(&matrix[row * width], (int)width, MPI_DOUBLE, (int)owner,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (matrix != NULL) {
        system_solve_triangle(matrix, share->size);
        checksum_print(checksum(matrix, share->size * width, 0));
    }
    free(matrix);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct share share;
    double *buffer;
    double *ends_s;
    double start_s;
    size_t pivot = 0;

    MPI_Init(&argc, &argv);
    arguments = arguments_parse(argc, argv);
    share = share_new(arguments.size);
    buffer = doubles_new(share.width);
    ends_s = doubles_new(arguments.n_iterations + 1);

    MPI_Barrier(MPI_COMM_WORLD);
    start_s = now_s();
    fill(&share, buffer, arguments.init_on_root);
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        while (pivot < (share.size - 1) * k / arguments.n_iterations) {
            step(&share, pivot++, buffer);
        }
        ends_s[k] = now_s();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[arguments.n_iterations] = now_s();
    if (share.rank == 0) {
        times_print(start_s, ends_s, arguments.n_iterations, 0.0, "");
    }
    finish(&share);
    free(ends_s);
    free(buffer);
    free(share.rows);
    MPI_Finalize();
    return 0;
}

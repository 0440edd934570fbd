// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_MPI_ROWS_H
#define BENCH_MPI_ROWS_H
/*
 * What the two MPI programs do alike: which rows a process has, and moving
 * rows between processes.
 */

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "checksum.h"

/** The rows of one process, of a grid with `size` rows inside its border. */
struct rows {
    int rank;
    int n_ranks;
    size_t size;
    size_t first; ///< first row of this process inside the border
    size_t n;     ///< how many it has
    int above;    ///< neighbours, MPI_PROC_NULL at the border
    int below;
};

static inline size_t rows_first(size_t size, int rank, int n_ranks)
{
    return 1 + size * (size_t)rank / (size_t)n_ranks;
}

static inline struct rows rows_of(size_t size, int rank, int n_ranks)
{
    struct rows rows = {.rank = rank, .n_ranks = n_ranks, .size = size};

    rows.first = rows_first(size, rank, n_ranks);
    rows.n = rows_first(size, rank + 1, n_ranks) - rows.first;
    rows.above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    rows.below = rank + 1 < n_ranks ? rank + 1 : MPI_PROC_NULL;
    return rows;
}

/**
 * Exchange border rows with both neighbours.
 * @param grid  [n + 2][width]  with a foreign or fixed row at each end
 */
static inline void rows_exchange(const struct rows *rows, double *grid,
                                 size_t width)
{
    double *last = &grid[rows->n * width];
    MPI_Request requests[4];

    MPI_Irecv(grid, (int)width, MPI_DOUBLE, rows->above, 0, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(last + width, (int)width, MPI_DOUBLE, rows->below, 0,
              MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(grid + width, (int)width, MPI_DOUBLE, rows->above, 0,
              MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(last, (int)width, MPI_DOUBLE, rows->below, 0, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/**
 * Hand out the rows of a grid that rank 0 has as a whole.
 * @param whole  [size + 2][width]  on rank 0
 * @param grid   [n + 2][width]     on every rank
 */
static inline void rows_scatter(const struct rows *rows, const double *whole,
                                double *grid, size_t width)
{
    int *counts = calloc((size_t)rows->n_ranks, sizeof *counts);
    int *starts = calloc((size_t)rows->n_ranks, sizeof *starts);

    for (int rank = 0; rank < rows->n_ranks; rank++) {
        const struct rows theirs = rows_of(rows->size, rank, rows->n_ranks);

        counts[rank] = (int)((theirs.n + 2) * width);
        starts[rank] = (int)((theirs.first - 1) * width);
    }
    MPI_Scatterv(whole, counts, starts, MPI_DOUBLE, grid, counts[rows->rank],
                 MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(counts);
    free(starts);
}

/**
 * The checksum of a grid that lies in parts. Every rank calls it.
 * @param first  the index of row 0 of the grid in what is summed up
 * @return the sum on rank 0; part of it elsewhere
 */
static inline uint64_t rows_checksum(const struct rows *rows,
                                     const double *grid, size_t width,
                                     size_t first)
{
    // The first and the last process have the border rows too.
    const size_t from = rows->rank == 0 ? 0 : 1;
    const size_t end = rows->n + 1 + (rows->rank + 1 == rows->n_ranks);
    const uint64_t mine = checksum(&grid[from * width], (end - from) * width,
                                   first + (rows->first - 1 + from) * width);
    uint64_t sum = mine;

    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum;
}

#endif

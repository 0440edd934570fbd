// SPDX-License-Identifier: BSD-3-Clause
/*
 * matmul as an MPI program: a block of rows of A and C for each process, and
 * all of B.
 */
#include <mpi.h>

#include "../arguments.h"
#include "checksum.h"
#include "dense.h"
#include "times.h"

// The rows of one process.
struct block {
    size_t size;
    size_t first;
    size_t n;
    int rank;
    int n_ranks;
};

static size_t first_row(const struct block *block, int rank)
{
    return block->size * (size_t)rank / (size_t)block->n_ranks;
}

static struct block block_of(size_t size)
{
    struct block block = {.size = size};

    MPI_Comm_rank(MPI_COMM_WORLD, &block.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &block.n_ranks);
    block.first = first_row(&block, block.rank);
    block.n = first_row(&block, block.rank + 1) - block.first;
    return block;
}

// Rank 0 has all start values and hands them out.
static void scatter(const struct block *block, double *a, double *b)
{
    const size_t size = block->size;
    double *whole = block->rank == 0 ? doubles_new(size * size) : NULL;
    int *counts = calloc((size_t)block->n_ranks, sizeof *counts);
    int *starts = calloc((size_t)block->n_ranks, sizeof *starts);

    for (int rank = 0; rank < block->n_ranks; rank++) {
        starts[rank] = (int)(first_row(block, rank) * size);
        counts[rank] = (int)(first_row(block, rank + 1) * size) - starts[rank];
    }
    for (size_t row = 0; whole != NULL && row < size; row++) {
        left_row_fill(&whole[row * size], row, size);
        right_row_fill(&b[row * size], row, size);
    }
    MPI_Scatterv(whole, counts, starts, MPI_DOUBLE, a, counts[block->rank],
                 MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(b, (int)(size * size), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(whole);
    free(counts);
    free(starts);
}

static void fill(const struct block *block, double *a, double *b)
{
    for (size_t row = 0; row < block->n; row++) {
        left_row_fill(&a[row * block->size], block->first + row, block->size);
    }
    for (size_t row = 0; row < block->size; row++) {
        right_row_fill(&b[row * block->size], row, block->size);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct block block;
    double *products[2];
    double *b;
    double *ends_s;
    double start_s;
    double n_operations;
    uint64_t mine;
    uint64_t sum = 0;

    MPI_Init(&argc, &argv);
    arguments = arguments_parse(argc, argv);
    block = block_of(arguments.size);
    products[0] = doubles_new(block.n * block.size);
    products[1] = doubles_new(block.n * block.size);
    b = doubles_new(block.size * block.size);
    ends_s = doubles_new(arguments.n_iterations + 1);

    MPI_Barrier(MPI_COMM_WORLD);
    start_s = now_s();
    (arguments.init_on_root ? scatter : fill)(&block, products[0], b);
    MPI_Barrier(MPI_COMM_WORLD);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= arguments.n_iterations; k++) {
        product_rows(products[k % 2], products[(k - 1) % 2], b, block.n,
                     block.size, 1);
        MPI_Barrier(MPI_COMM_WORLD); // an iteration ends for all
        ends_s[k] = now_s();
    }
    mine = checksum(products[arguments.n_iterations % 2], block.n * block.size,
                    block.first * block.size);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    n_operations =
        2.0 * (double)block.size * (double)block.size * (double)block.size;
    if (block.rank == 0) {
        times_print(start_s, ends_s, arguments.n_iterations, n_operations,
                    "flop");
        checksum_print(sum);
    }
    free(ends_s);
    free(b);
    free(products[0]);
    free(products[1]);
    MPI_Finalize();
    return 0;
}

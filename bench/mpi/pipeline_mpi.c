// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench/irregular/pipeline.c as an MPI program: each process is a stage.
 *
 *     mpirun -n 2 pipeline_mpi ITEMS 1
 */
#include "../arguments.h"
#include "../irregular/pipeline.h"
#include "total.h"

int main(int argc, char **argv)
{
    struct arguments arguments;
    uint64_t sum = 0;
    double start_s;
    double total_s;
    int rank;
    int n_ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    arguments = arguments_parse(argc, argv);
    start_s = total_begin();
    for (size_t i = 0; i < arguments.size; i++) {
        struct item item;

        if (rank == 0) {
            item_begin(&item, i);
        } else {
            MPI_Recv(&item, ITEM_WORDS, MPI_UINT64_T, rank - 1, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        item_work(&item, (uint64_t)rank);
        if (rank + 1 < n_ranks) {
            MPI_Send(&item, ITEM_WORDS, MPI_UINT64_T, rank + 1, 0,
                     MPI_COMM_WORLD);
        } else {
            sum += item_sum(&item);
        }
    }
    total_s = total_end(start_s);
    total_print(rank, total_s, sum);
    MPI_Finalize();
    return 0;
}

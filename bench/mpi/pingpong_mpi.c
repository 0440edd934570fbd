// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench/irregular/pingpong.c as an MPI program: a word goes to and fro between the two
 * processes of a pair.
 *
 *     mpirun -n 2 pingpong_mpi ROUNDS 1
 */
#include "../arguments.h"
#include "total.h"

int main(int argc, char **argv)
{
    struct arguments arguments;
    uint64_t word = 0;
    double start_s;
    double total_s;
    int rank;
    int n_ranks;
    int other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    arguments = arguments_parse(argc, argv);
    other = (rank + n_ranks / 2) % n_ranks;
    start_s = total_begin();
    for (size_t i = 0; i < arguments.size; i++) {
        if (rank < n_ranks / 2) {
            word++;
            MPI_Send(&word, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD);
            MPI_Recv(&word, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&word, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            word++;
            MPI_Send(&word, 1, MPI_UINT64_T, other, 0, MPI_COMM_WORLD);
        }
    }
    total_s = total_end(start_s);
    total_print(rank, total_s, rank < n_ranks / 2 ? word : 0);
    MPI_Finalize();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/* What MPI_Barrier() takes. Prints one line, see samples.h. */
#include <mpi.h>

#include "../samples.h"

enum { N_ROUNDS = 4000, N_WARM = 400 };

int main(int argc, char **argv)
{
    static double us[N_ROUNDS];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N_ROUNDS; i++) {
        const double start_us = now_us();

        MPI_Barrier(MPI_COMM_WORLD);
        us[i] = now_us() - start_us;
    }
    if (rank == 0) {
        samples_print("barrier", us + N_WARM, N_ROUNDS - N_WARM);
    }
    MPI_Finalize();
    return 0;
}

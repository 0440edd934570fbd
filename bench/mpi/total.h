// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_MPI_TOTAL_H
#define BENCH_MPI_TOTAL_H
/*
 * What the MPI programs print that programs of bench/irregular are compared with: the time
 * from the call of total_begin() by all to total_end() by all, and a checksum.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#include "checksum.h"
#include "times.h"

/** @return when all have begun, seconds */
static inline double total_begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return now_s();
}

/** @return what all took together, seconds */
static inline double total_end(double start_s)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return now_s() - start_s;
}

/** Add the parts of a sum and print. Every rank calls it. */
static inline void total_print(int rank, double total_s, uint64_t part)
{
    uint64_t sum = part;

    MPI_Reduce(&part, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("total time: %.6f s\n", total_s);
        checksum_print(sum);
    }
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench/irregular/cg.c as an MPI program: each process has a part of the rows; the direction
 * is gathered by all in each iteration.
 *
 *     mpirun -n 2 cg_mpi ROWS ITERATIONS
 */
#include "../arguments.h"
#include "../irregular/cg.h"
#include "total.h"

enum { RANKS_MAX = 64 };

static struct {
    int rank;
    int n_ranks;
    size_t size;
    size_t first, n; // of the rows
    int counts[RANKS_MAX];
    int starts[RANKS_MAX];
    double *x;         // [n]
    double *direction; // [size]
    double *residual;  // [n]
    double *product;   // [n]
} part;

static double sum_of_all(double mine)
{
    double sum;

    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void gather_direction(void)
{
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, part.direction,
                   part.counts, part.starts, MPI_DOUBLE, MPI_COMM_WORLD);
}

static double begin(void)
{
    double sum = 0.0;

    for (size_t i = 0; i < part.n; i++) {
        part.direction[part.first + i] = cg_solution(part.first + i);
    }
    gather_direction();
    for (size_t i = 0; i < part.n; i++) {
        part.residual[i] = cg_row(part.first + i, part.direction, part.size);
        sum += part.residual[i] * part.residual[i];
    }
    for (size_t i = 0; i < part.n; i++) {
        part.direction[part.first + i] = part.residual[i];
        part.x[i] = 0.0;
    }
    gather_direction();
    return sum_of_all(sum);
}

static double iterate(double square)
{
    double *direction = part.direction + part.first;
    double sum = 0.0;
    double step;
    double ratio;

    for (size_t i = 0; i < part.n; i++) {
        part.product[i] = cg_row(part.first + i, part.direction, part.size);
        sum += direction[i] * part.product[i];
    }
    step = square / sum_of_all(sum);
    sum = 0.0;
    for (size_t i = 0; i < part.n; i++) {
        part.x[i] += step * direction[i];
        part.residual[i] -= step * part.product[i];
        sum += part.residual[i] * part.residual[i];
    }
    sum = sum_of_all(sum);
    ratio = sum / square;
    for (size_t i = 0; i < part.n; i++) {
        direction[i] = part.residual[i] + ratio * direction[i];
    }
    gather_direction();
    return sum;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    double start_s;
    double total_s;
    double square;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &part.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &part.n_ranks);
    arguments = arguments_parse(argc, argv);
    part.size = arguments.size;
    for (int rank = 0; rank < part.n_ranks; rank++) {
        const size_t n = (size_t)part.n_ranks;
        const size_t first = part.size * (size_t)rank / n;

        part.starts[rank] = (int)first;
        part.counts[rank] = (int)(part.size * (size_t)(rank + 1) / n - first);
    }
    part.first = (size_t)part.starts[part.rank];
    part.n = (size_t)part.counts[part.rank];
    part.direction = doubles_new(part.size);
    part.x = doubles_new(part.n + 1);
    part.residual = doubles_new(part.n + 1);
    part.product = doubles_new(part.n + 1);
    start_s = total_begin();
    square = begin();
    for (unsigned k = 0; k < arguments.n_iterations; k++) {
        square = iterate(square);
    }
    total_s = total_end(start_s);
    total_print(part.rank, total_s, checksum(part.x, part.n, part.first));
    free(part.direction);
    free(part.x);
    free(part.residual);
    free(part.product);
    MPI_Finalize();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench/irregular/gups.c as an MPI program: each process has a part of the table; it sorts
 * the updates of a batch by whose words they change, and all exchange them.
 *
 *     mpirun -n 2 gups_mpi WORDS BATCHES
 */
#include <string.h>

#include "../arguments.h"
#include "../irregular/gups.h"
#include "total.h"

enum { RANKS_MAX = 64 };

static struct {
    int rank;
    int n_ranks;
    size_t n_words; // of the whole table
    uint64_t *mine; // [end - first]
} table;

static uint64_t sorted[RANKS_MAX][GUPS_BATCH];
static uint64_t received[RANKS_MAX][GUPS_BATCH];

static size_t first_of(int rank)
{
    return table.n_words * (size_t)rank / (size_t)table.n_ranks;
}

static int owner_of(size_t place)
{
    int rank = (int)(place * (size_t)table.n_ranks / table.n_words);

    while (place >= first_of(rank + 1)) {
        rank++;
    }
    return rank;
}

static void run_batch(unsigned batch)
{
    int counts[RANKS_MAX] = {0};
    int others[RANKS_MAX];
    int starts[RANKS_MAX];

    for (unsigned i = 0; i < GUPS_BATCH; i++) {
        const uint64_t drawn = gups_draw((uint64_t)table.rank, batch, i);
        const int owner = owner_of(gups_place(drawn, table.n_words));

        sorted[owner][counts[owner]++] = drawn;
    }
    for (int rank = 0; rank < table.n_ranks; rank++) {
        starts[rank] = rank * GUPS_BATCH;
    }
    MPI_Alltoall(counts, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(sorted, counts, starts, MPI_UINT64_T, received, others,
                  starts, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int rank = 0; rank < table.n_ranks; rank++) {
        for (int i = 0; i < others[rank]; i++) {
            const uint64_t update = received[rank][i];

            table.mine[gups_place(update, table.n_words) -
                       first_of(table.rank)] ^= update;
        }
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    double start_s;
    double total_s;
    uint64_t sum = 0;
    size_t n_mine;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &table.n_ranks);
    arguments = arguments_parse(argc, argv);
    table.n_words = arguments.size;
    n_mine = first_of(table.rank + 1) - first_of(table.rank);
    start_s = total_begin();
    table.mine = calloc(n_mine + 1, sizeof *table.mine);
    for (unsigned batch = 0; batch < arguments.n_iterations; batch++) {
        run_batch(batch);
    }
    total_s = total_end(start_s);
    for (size_t i = 0; i < n_mine; i++) {
        sum += table.mine[i] * (2 * (first_of(table.rank) + i) + 1);
    }
    total_print(table.rank, total_s, sum);
    free(table.mine);
    MPI_Finalize();
    return 0;
}

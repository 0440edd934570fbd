// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench/irregular/radix_sort.c as an MPI program. In each pass a process sorts its keys by their
 * digit, all tell each other how many of each they have, and each key goes to the process
 * that its place is at.
 *
 *     mpirun -n 2 radix_sort_mpi KEYS 1
 */
#include <string.h>

#include "../arguments.h"
#include "total.h"

enum { BITS = 8, N_DIGITS = 1 << BITS, N_PASSES = 4, RANKS_MAX = 64 };

// A key and where it goes: what a pass sends.
struct sent {
    uint32_t place;
    uint32_t key;
};

static struct {
    int rank;
    int n_ranks;
    size_t size;
    uint32_t *keys;   // [n]  this process's
    struct sent *out; // [n]  by whose they will be
    struct sent *in;  // [n]
    size_t first, n;  // of the keys
} part;

static size_t first_of(int rank)
{
    return part.size * (size_t)rank / (size_t)part.n_ranks;
}

static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

static unsigned digit_of(uint32_t key, unsigned pass)
{
    return key >> pass * BITS & (N_DIGITS - 1);
}

static void find_places(unsigned pass, uint32_t *places)
{
    static uint32_t counts[RANKS_MAX][N_DIGITS];
    uint32_t mine[N_DIGITS] = {0};
    uint32_t place = 0;

    for (size_t i = 0; i < part.n; i++) {
        mine[digit_of(part.keys[i], pass)]++;
    }
    MPI_Allgather(mine, N_DIGITS, MPI_UINT32_T, counts, N_DIGITS, MPI_UINT32_T,
                  MPI_COMM_WORLD);
    for (unsigned digit = 0; digit < N_DIGITS; digit++) {
        for (int rank = 0; rank < part.n_ranks; rank++) {
            if (rank == part.rank) {
                places[digit] = place;
            }
            place += counts[rank][digit];
        }
    }
}

static int owner_of(size_t place)
{
    int rank = (int)(place * (size_t)part.n_ranks / part.size);

    while (place >= first_of(rank + 1)) {
        rank++;
    }
    return rank;
}

static void count_sent(unsigned pass, const uint32_t *first_places, int *counts)
{
    uint32_t places[N_DIGITS];

    memcpy(places, first_places, sizeof places);
    for (size_t i = 0; i < part.n; i++) {
        counts[owner_of(places[digit_of(part.keys[i], pass)]++)]++;
    }
}

static void add_up(const int *counts, int *starts)
{
    starts[0] = 0;
    for (int rank = 1; rank < part.n_ranks; rank++) {
        starts[rank] = starts[rank - 1] + counts[rank - 1];
    }
}

static void run_pass(unsigned pass)
{
    uint32_t places[N_DIGITS];
    int counts[RANKS_MAX] = {0};
    int others[RANKS_MAX];
    int starts[RANKS_MAX];
    int other_starts[RANKS_MAX];
    int filled[RANKS_MAX];

    find_places(pass, places);
    count_sent(pass, places, counts);
    add_up(counts, starts);
    memcpy(filled, starts, sizeof filled);
    for (size_t i = 0; i < part.n; i++) {
        const uint32_t place = places[digit_of(part.keys[i], pass)]++;

        part.out[filled[owner_of(place)]++] =
            (struct sent){place, part.keys[i]};
    }
    MPI_Alltoall(counts, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
    add_up(others, other_starts);
    MPI_Alltoallv(part.out, counts, starts, MPI_UINT64_T, part.in, others,
                  other_starts, MPI_UINT64_T, MPI_COMM_WORLD);
    for (size_t i = 0; i < part.n; i++) {
        part.keys[part.in[i].place - part.first] = part.in[i].key;
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    double start_s;
    double total_s;
    uint64_t sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &part.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &part.n_ranks);
    arguments = arguments_parse(argc, argv);
    part.size = arguments.size;
    part.first = first_of(part.rank);
    part.n = first_of(part.rank + 1) - part.first;
    part.keys = calloc(part.n + 1, sizeof *part.keys);
    part.out = calloc(part.n + 1, sizeof *part.out);
    part.in = calloc(part.n + 1, sizeof *part.in);
    start_s = total_begin();
    for (size_t i = 0; i < part.n; i++) {
        part.keys[i] = (uint32_t)mix(part.first + i);
    }
    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        run_pass(pass);
    }
    total_s = total_end(start_s);
    for (size_t i = 0; i < part.n; i++) {
        sum += part.keys[i] * (2 * (part.first + i) + 1);
    }
    total_print(part.rank, total_s, sum);
    free(part.keys);
    free(part.out);
    free(part.in);
    MPI_Finalize();
    return 0;
}

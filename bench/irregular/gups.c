// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random updates in batches ("GUPS"): each thread draws words of a table by lot and changes
 * them. It draws many at once, sorts them by the region of the table that they are in, and
 * changes those of a region under its mutex.
 *
 *     gups [THREADS [WORDS [BATCHES]]]
 */
#include <string.h>

#include "gups_end.h"

enum { N_REGIONS = 64 };

static TM_SHARED struct {
    tm_mutex mutexes[N_REGIONS];
    uint64_t *table; // [size]
} job;

static size_t region_of(uint64_t update)
{
    return gups_place(update, program.size) * N_REGIONS / program.size;
}

static void change_region(size_t region, const uint64_t *updates, size_t n)
{
    if (n == 0) {
        return;
    }
    tm_mutex_lock(&job.mutexes[region]);
    for (size_t i = 0; i < n; i++) {
        job.table[gups_place(updates[i], program.size)] ^= updates[i];
    }
    tm_mutex_unlock(&job.mutexes[region]);
}

static void *update(void *arg)
{
    const size_t me = (size_t)arg;
    uint64_t(*sorted)[GUPS_BATCH] = malloc(N_REGIONS * sizeof *sorted);

    for (unsigned batch = 0; batch < program.n_rounds; batch++) {
        size_t counts[N_REGIONS] = {0};

        for (unsigned i = 0; i < GUPS_BATCH; i++) {
            const uint64_t drawn = gups_draw(me, batch, i);
            const size_t region = region_of(drawn);

            sorted[region][counts[region]++] = drawn;
        }
        for (size_t i = 0; i < N_REGIONS; i++) { // each thread begins elsewhere
            const size_t region =
                (i + me * N_REGIONS / program.n_threads) % N_REGIONS;

            change_region(region, sorted[region], counts[region]);
        }
    }
    free(sorted);
    return NULL;
}

int main(int argc, char **argv)
{
    program_begin(argc, argv, (struct program){2, 1 << 18, 200});
    job.table = program_alloc("table", program.size * sizeof(uint64_t));
    program_run(update);
    gups_end(job.table);
    return 0;
}

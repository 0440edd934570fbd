// SPDX-License-Identifier: BSD-3-Clause
/*
 * The shortest way through all of some towns and back, by branch and bound. Beginnings of
 * ways are numbered; threads take the next one by a counter. How long the shortest way is that
 * was found, they look up at each beginning, to give up those that are longer.
 *
 *     tsp [THREADS [TOWNS]]
 */
#include "program.h"

enum { TOWNS_MAX = 16, DEPTH = 3 }; // towns of a beginning, besides the first

static TM_SHARED struct {
    int64_t next; // beginning
    int64_t shortest;
    tm_mutex mutex; // for who changes `shortest`
    uint32_t distances[TOWNS_MAX][TOWNS_MAX];
} job;

struct way {
    unsigned n;
    unsigned towns[TOWNS_MAX];
    uint32_t been; // a bit for each
    int64_t length;
};

static void note_length(int64_t length)
{
    tm_mutex_lock(&job.mutex);
    if (length < tm_atomic_load(&job.shortest)) {
        tm_fetch_add(&job.shortest, length - tm_atomic_load(&job.shortest));
    }
    tm_mutex_unlock(&job.mutex);
}

static void go_to(struct way *way, unsigned town)
{
    way->length += job.distances[way->towns[way->n - 1]][town];
    way->towns[way->n++] = town;
    way->been |= 1u << town;
}

// @param bound  a way must be shorter than that
static void go_on(const struct way *way, int64_t *bound)
{
    if (way->length >= *bound) {
        return;
    }
    if (way->n == program.size) {
        const int64_t length =
            way->length + job.distances[way->towns[way->n - 1]][way->towns[0]];

        if (length < *bound) {
            *bound = length;
            note_length(length);
        }
        return;
    }
    for (unsigned town = 1; town < program.size; town++) {
        if (!(way->been & 1u << town)) {
            struct way longer = *way;

            go_to(&longer, town);
            go_on(&longer, bound);
        }
    }
}

static size_t n_beginnings(void)
{
    size_t n = 1;

    for (unsigned i = 0; i < DEPTH; i++) {
        n *= program.size - 1;
    }
    return n;
}

static void *search(void *arg)
{
    int64_t number;

    while ((number = tm_fetch_add(&job.next, 1)) < (int64_t)n_beginnings()) {
        struct way way = {.n = 1, .been = 1};

        for (unsigned i = 0; i < DEPTH; i++) {
            const unsigned town =
                1 + (unsigned)((size_t)number % (program.size - 1));

            number /= (int64_t)(program.size - 1);
            if (!(way.been & 1u << town)) {
                go_to(&way, town);
            }
        }
        if (way.n == DEPTH + 1) { // else a town comes twice
            int64_t bound = tm_atomic_load(&job.shortest);

            go_on(&way, &bound);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    program_begin(argc, argv, (struct program){2, 11, 1});
    if (program.size <= DEPTH || program.size > TOWNS_MAX) {
        fprintf(stderr, "tsp: %d to %d towns\n", DEPTH + 1, TOWNS_MAX);
        return 64;
    }
    for (unsigned i = 0; i < program.size; i++) {
        for (unsigned j = 0; j < i; j++) {
            job.distances[i][j] = job.distances[j][i] =
                100 + (uint32_t)(mix(i * TOWNS_MAX + j) % 900);
        }
    }
    job.shortest = INT32_MAX;
    program_run(search);
    if (job.shortest < 100 * (int64_t)program.size ||
        job.shortest > 1000 * (int64_t)program.size) {
        PROGRAM_FAIL("a way of length %lld", (long long)job.shortest);
    }
    program_print("beginnings", (double)n_beginnings(), (uint64_t)job.shortest);
    return 0;
}

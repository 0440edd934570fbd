// SPDX-License-Identifier: BSD-3-Clause
/*
 * A breadth-first search through a graph drawn by lot: how far is each vertex from vertex 0?
 * Level by level, each thread looks which of its vertices that were not reached have a
 * neighbour that was reached last, and when all have looked, notes them.
 *
 *     bfs [THREADS [VERTICES]]
 */
#include "program.h"

enum { N_EDGES = 4 }; // that a vertex can be reached by

static TM_SHARED struct {
    tm_barrier barrier;
    int32_t *distances;   // [size]  -1: not reached
    int64_t n_reached[2]; // on this level, and on the next one
} job;

// The graph needs no memory: neighbours are numbers drawn by lot.
static size_t neighbour(size_t vertex, unsigned edge)
{
    return mix(vertex * N_EDGES + edge) % program.size;
}

static int has_neighbour_at(size_t vertex, int32_t distance)
{
    for (unsigned edge = 0; edge < N_EDGES; edge++) {
        if (job.distances[neighbour(vertex, edge)] == distance) {
            return 1;
        }
    }
    return 0;
}

// @param[out] found  those of this thread that have a neighbour on the level
static size_t look_for(size_t me, int32_t level, size_t *found)
{
    const size_t end = part_start(program.size, me + 1);
    size_t n = 0;

    for (size_t i = part_start(program.size, me); i < end; i++) {
        if (job.distances[i] < 0 && has_neighbour_at(i, level)) {
            found[n++] = i;
        }
    }
    return n;
}

static void *search(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t start = part_start(program.size, me);
    const size_t n_mine = part_start(program.size, me + 1) - start;
    size_t *found = malloc((n_mine + 1) * sizeof *found);

    for (size_t i = 0; i < n_mine; i++) {
        job.distances[start + i] = start + i == 0 ? 0 : -1;
    }
    tm_barrier_wait(&job.barrier);
    for (int32_t level = 0;; level++) {
        const size_t n = look_for(me, level, found);

        tm_fetch_add(&job.n_reached[level % 2], (int64_t)n);
        tm_barrier_wait(&job.barrier);
        for (size_t i = 0; i < n; i++) {
            job.distances[found[i]] = level + 1;
        }
        if (tm_atomic_load(&job.n_reached[level % 2]) == 0) {
            break;
        }
        tm_barrier_wait(&job.barrier);
        if (me == 0) { // nobody adds to it before the next barrier
            tm_fetch_add(&job.n_reached[level % 2],
                         -tm_atomic_load(&job.n_reached[level % 2]));
        }
    }
    free(found);
    return NULL;
}

// Each distance is one more than that of a neighbour, and none is less than it could be.
static void check_distances(void)
{
    for (size_t i = 1; i < program.size; i++) {
        int32_t least = INT32_MAX;

        for (unsigned edge = 0; edge < N_EDGES; edge++) {
            const int32_t distance = job.distances[neighbour(i, edge)];

            if (distance >= 0 && distance < least) {
                least = distance;
            }
        }
        if (job.distances[i] != (least == INT32_MAX ? -1 : least + 1)) {
            PROGRAM_FAIL("vertex %zu has distance %d, and a neighbour %d", i,
                         job.distances[i], least);
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;

    program_begin(argc, argv, (struct program){2, 1 << 18, 1});
    job.distances = program_alloc("distances", program.size * sizeof(int32_t));
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(search);
    check_distances();
    for (size_t i = 0; i < program.size; i++) {
        sum += (uint64_t)(job.distances[i] + 2) * (2 * i + 1);
    }
    program_print("vertices", (double)program.size, sum);
    return 0;
}

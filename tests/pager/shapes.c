// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the threads do between two barriers is collected in one list for each
 * worker; at the barrier the lists are merged, an event of each in turn.
 */
#include "shapes.h"

#include <stdlib.h>

#define THREADS 16u
#define ITERATIONS 8u
#define MAX_WORKERS 8u

struct maker {
    struct trace *trace;
    struct trace of_worker[MAX_WORKERS];
    uint32_t n_workers;
    uint32_t thread;
    uint64_t random;
};

static uint32_t worker_of(const struct maker *maker)
{
    return maker->thread * maker->n_workers / THREADS;
}

static void use(struct maker *maker, uint32_t page)
{
    uint32_t worker = worker_of(maker);

    trace_add(&maker->of_worker[worker], worker, maker->thread, page);
}

static void use_run(struct maker *maker, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        use(maker, first + i);
    }
}

static void begin_turn(struct maker *maker, uint32_t thread)
{
    maker->thread = thread;
    use(maker, TRACE_TURN);
}

static void barrier(struct maker *maker)
{
    size_t at = 0;
    int is_more = 1;

    for (; is_more; at++) {
        is_more = 0;
        for (uint32_t w = 0; w < maker->n_workers; w++) {
            struct trace *list = &maker->of_worker[w];

            if (at < list->n) {
                trace_add(maker->trace, w, list->events[at].thread,
                          list->events[at].page);
                is_more = 1;
            }
        }
    }
    for (uint32_t w = 0; w < maker->n_workers; w++) {
        maker->of_worker[w].n = 0;
    }
}

static void finish(struct maker *maker)
{
    for (uint32_t w = 0; w < maker->n_workers; w++) {
        trace_release(&maker->of_worker[w]);
    }
}

static uint32_t draw(struct maker *maker, uint32_t limit)
{
    maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(maker->random >> 33) % limit;
}

/* Iterations in which each thread does the same, and a barrier. */
static void repeat(struct trace *trace, uint32_t n_workers,
                   uint32_t n_iterations, void (*turn)(struct maker *maker))
{
    struct maker maker = {.trace = trace, .n_workers = n_workers};

    for (uint32_t k = 0; k < n_iterations; k++) {
        trace_mark(trace);
        for (uint32_t t = 0; t < THREADS; t++) {
            begin_turn(&maker, t);
            turn(&maker);
        }
        barrier(&maker);
    }
    finish(&maker);
}

/* Two grids that change places; a row of the one from three of the other. */
static void make_jacobi(struct trace *trace, uint32_t n_workers)
{
    enum { ROW = 4, ROWS = 32 }; // pages; rows of a thread
    const uint32_t grid = (ROWS * THREADS + 2) * ROW;
    struct maker maker = {.trace = trace, .n_workers = n_workers};

    for (uint32_t k = 0; k < ITERATIONS; k++) {
        const uint32_t from = k % 2 * grid;
        const uint32_t to = grid - from;

        trace_mark(trace);
        for (uint32_t t = 0; t < THREADS; t++) {
            begin_turn(&maker, t);
            for (uint32_t row = t * ROWS + 1; row <= (t + 1) * ROWS; row++) {
                for (uint32_t i = 0; i < ROW; i++) {
                    use(&maker, from + (row - 1) * ROW + i);
                    use(&maker, from + row * ROW + i);
                    use(&maker, from + (row + 1) * ROW + i);
                    use(&maker, to + row * ROW + i);
                }
            }
        }
        barrier(&maker);
    }
    finish(&maker);
}

/* One grid, twice in each iteration: red, then black. */
static void make_sor(struct trace *trace, uint32_t n_workers)
{
    enum { ROW = 5, ROWS = 48 };
    struct maker maker = {.trace = trace, .n_workers = n_workers};

    for (uint32_t k = 0; k < ITERATIONS * 2; k++) {
        if (k % 2 == 0) {
            trace_mark(trace);
        }
        for (uint32_t t = 0; t < THREADS; t++) {
            begin_turn(&maker, t);
            for (uint32_t row = t * ROWS + 1; row <= (t + 1) * ROWS; row++) {
                use_run(&maker, (row - 1) * ROW, 3 * ROW);
            }
        }
        barrier(&maker);
    }
    finish(&maker);
}

/* For each row of A, all of B, and a row of C. */
static void turn_of_matmul(struct maker *maker)
{
    enum { B = 800, ROW = 8, ROWS = 5 };
    const uint32_t t = maker->thread;

    for (uint32_t row = t * ROWS; row < (t + 1) * ROWS; row++) {
        use_run(maker, B + row * 2 * ROW, ROW);
        use_run(maker, 0, B);
        use_run(maker, B + row * 2 * ROW + ROW, ROW);
    }
}

static void make_matmul(struct trace *trace, uint32_t n_workers)
{
    repeat(trace, n_workers, ITERATIONS, turn_of_matmul);
}

/* Elimination: the pivot row is read by all; rows are dealt out in turn, and
 * those above the pivot are done with. */
static void make_gauss(struct trace *trace, uint32_t n_workers)
{
    enum { ROW = 4, ROWS = 512, STEP = ROWS / 48 };
    struct maker maker = {.trace = trace, .n_workers = n_workers};

    for (uint32_t pivot = 0; pivot + STEP < ROWS; pivot += STEP) {
        trace_mark(trace);
        for (uint32_t t = 0; t < THREADS; t++) {
            begin_turn(&maker, t);
            use_run(&maker, pivot * ROW, ROW);
            for (uint32_t row = t; row < ROWS; row += THREADS) {
                if (row > pivot) {
                    use_run(&maker, row * ROW, ROW);
                }
            }
        }
        barrier(&maker);
    }
    finish(&maker);
}

/* All positions for each of a few blocks of a thread's own bodies. */
static void turn_of_nbody(struct maker *maker)
{
    enum { POSITIONS = 300, OWN = 160, BLOCKS = 4 };
    const uint32_t t = maker->thread;

    for (uint32_t block = 0; block < BLOCKS; block++) {
        use_run(maker, 0, POSITIONS);
        use_run(maker, POSITIONS + t * OWN + block * (OWN / BLOCKS),
                OWN / BLOCKS);
    }
}

static void make_nbody(struct trace *trace, uint32_t n_workers)
{
    repeat(trace, n_workers, ITERATIONS, turn_of_nbody);
}

/* A thread's pages lie anywhere, in any order, but always the same. */
static void turn_of_scattered(struct maker *maker)
{
    enum { SPACE = 4096, USES = 300 };

    if (maker->thread == 0) {
        maker->random = 1;
    }
    for (uint32_t i = 0; i < USES; i++) {
        use(maker, draw(maker, SPACE));
    }
}

static void make_scattered(struct trace *trace, uint32_t n_workers)
{
    repeat(trace, n_workers, ITERATIONS, turn_of_scattered);
}

/* The same pages of a thread each time, in another order. */
static void turn_of_shuffled(struct maker *maker)
{
    enum { OWN = 200 };
    const uint32_t t = maker->thread;

    for (uint32_t i = 0; i < 2 * OWN; i++) {
        use(maker, t * OWN + draw(maker, OWN));
    }
}

static void make_shuffled(struct trace *trace, uint32_t n_workers)
{
    repeat(trace, n_workers, ITERATIONS, turn_of_shuffled);
}

/* Other pages each time. */
static void turn_of_irregular(struct maker *maker)
{
    enum { SPACE = 4096, USES = 300 };

    for (uint32_t i = 0; i < USES; i++) {
        use(maker, draw(maker, SPACE));
    }
}

static void make_irregular(struct trace *trace, uint32_t n_workers)
{
    repeat(trace, n_workers, 3 * ITERATIONS, turn_of_irregular);
}

const struct shape shapes[] = {
    {"jacobi", make_jacobi, 1},       {"sor", make_sor, 1},
    {"matmul", make_matmul, 1},       {"nbody", make_nbody, 1},
    {"scattered", make_scattered, 1}, {"gauss", make_gauss, 0},
    {"shuffled", make_shuffled, 0},   {"irregular", make_irregular, 0},
};
const unsigned n_shapes = sizeof shapes / sizeof *shapes;

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The program of `teamster demo`: heat in a plate, as in jacobi.c, for so many seconds,
 * and it tells while it runs what becomes of it. For the command to read:
 *
 *     checksum X                  of the plate after iteration CHECKED
 *     i K MS                      iteration K took so long
 *     nodes T:P T:P ...           a few times a second: for each node its threads, and
 *                                 the pages that it has read from its swap file
 *
 * usage: plate SECONDS
 */
#include <stdio.h>
#include <stdlib.h>

#include "checksum.h"
#include "stencil.h"
#include "teamster.h"
#include "times.h"

#define N_THREADS 32u
#define SIZE 2048u // two grids of 32 MiB
#define WIDTH (SIZE + 2u)
#define EFFORT 4u  // a row is computed so often
#define CHECKED 4u // whose result is told
#define TELL_S 0.25

// What all threads share.
static TM_SHARED struct {
    double *grids[2]; // [SIZE + 2][SIZE + 2]
    double seconds;
    int is_over
        [2]; // iteration K is the last, at K % 2: the next one writes the other
    tm_barrier barrier;
} job;

// What thread 0 knows of the time.
struct watch {
    double start_s;
    double iteration_s; // when the last one ended
    double told_s;
};

static void fill_rows(double *grid, size_t first, size_t end)
{
    for (size_t row = first; row < end; row++) {
        for (size_t column = 0; column < WIDTH; column++) {
            grid[row * WIDTH + column] = start_value(row, column);
        }
    }
}

static void step_rows(double *to, const double *from, size_t first, size_t end)
{
    for (size_t row = first; row < end; row++) {
        const double *middle = &from[row * WIDTH + 1];

        for (unsigned time = 0; time < EFFORT; time++) {
            jacobi_row(&to[row * WIDTH + 1], middle - WIDTH, middle,
                       middle + WIDTH, SIZE);
        }
    }
}

/**
 * Nodes are asked one after the other: a thread that moves meanwhile may be counted twice or
 * not at all, and then nothing is told.
 *
 * @return whether it is told
 */
static int tell_nodes(void)
{
    char line[64 * TM_MAX_NODES];
    uint64_t n_counted = 0;
    int used = 0;

    for (unsigned i = 0; i < tm_node_count(); i++) {
        struct tm_node_stats stats = {0};

        if (tm_stats(i, &stats) == TM_OK) {
            const uint64_t n_threads = stats.n_threads - (i == 0); // main()

            used += snprintf(line + used, sizeof line - (size_t)used,
                             " %llu:%llu", (unsigned long long)n_threads,
                             (unsigned long long)stats.page_ins);
            n_counted += n_threads;
        }
    }
    if (n_counted != N_THREADS) {
        return 0;
    }
    printf("nodes%s\n", line);
    fflush(stdout);
    return 1;
}

// Thread 0, after iteration k.
static void tell_time(struct watch *watch, unsigned k)
{
    const double now = now_s();

    printf("i %u %.3f\n", k, (now - watch->iteration_s) * 1e3);
    // After the last one threads end, and are on no node any more.
    if (now >= watch->told_s + TELL_S && !job.is_over[k % 2] && tell_nodes()) {
        watch->told_s = now;
    }
    watch->iteration_s = now_s();
}

static void tell_checksum(size_t me, const double *grid, size_t first,
                          size_t end)
{
    const uint64_t part =
        checksum(&grid[first * WIDTH], (end - first) * WIDTH, first * WIDTH);
    int64_t sum;

    tm_reduce_int64(&job.barrier, TM_SUM, (int64_t)part, &sum);
    if (me == 0) {
        printf("checksum %016llx\n", (unsigned long long)sum);
    }
}

static void *work(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t first = 1 + SIZE * me / N_THREADS;
    const size_t end = 1 + SIZE * (me + 1) / N_THREADS;
    struct watch watch;
    unsigned k = 0;

    for (unsigned i = 0; i < 2; i++) { // the border is its neighbour's
        fill_rows(job.grids[i], me == 0 ? 0 : first,
                  me + 1 == N_THREADS ? SIZE + 2 : end);
    }
    tm_barrier_wait(&job.barrier);
    watch.start_s = watch.iteration_s = watch.told_s = now_s();
    do {
        double *to = job.grids[(k + 1) % 2];

        step_rows(to, job.grids[k % 2], first, end);
        k++;
        if (me == 0) {
            job.is_over[k % 2] =
                k > CHECKED && now_s() - watch.start_s >= job.seconds;
        }
        tm_iteration_end(&job.barrier);
        if (me == 0) {
            tell_time(&watch, k);
        }
        if (k == CHECKED) {
            tell_checksum(me, to, first, end);
        }
    } while (!job.is_over[k % 2]);
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[N_THREADS];

    tm_init(&argc, &argv);
    job.seconds = argc == 2 ? strtod(argv[1], NULL) : 0;
    if (job.seconds <= 0) {
        fprintf(stderr, "usage: plate SECONDS; \"teamster demo\" runs it\n");
        return 64;
    }
    for (unsigned i = 0; i < 2; i++) {
        job.grids[i] = tm_alloc(sizeof(double) * WIDTH * WIDTH, NULL);
        if (job.grids[i] == NULL) {
            return 71;
        }
    }
    tm_barrier_init(&job.barrier, N_THREADS);
    for (size_t i = 0; i < N_THREADS; i++) {
        if (tm_thread_create(&threads[i], NULL, work, (void *)i) != TM_OK) {
            return 71;
        }
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        tm_thread_join(threads[i], NULL);
    }
    return 0;
}

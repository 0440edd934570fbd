// SPDX-License-Identifier: BSD-3-Clause
#include "model/workers.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"

// Threads are ranked by their times, workers by what they have so far.

/** Restore the heap of workers, least loaded on top, after the top has grown. */
static void sink_top(struct ranked *heap, uint32_t n)
{
    const struct ranked top = heap[0];
    uint32_t at = 0;

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < n &&
            compare_rising(&heap[child + 1], &heap[child]) < 0) {
            child++;
        }
        if (child >= n || compare_rising(&heap[child], &top) >= 0) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = top;
}

static double deal(const struct ranked *threads, uint32_t n_threads,
                   struct ranked *workers, uint32_t n_workers)
{
    double makespan_s = 0;

    for (uint32_t w = 0; w < n_workers; w++) {
        workers[w] = (struct ranked){0, w};
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        workers[0].value += threads[i].value;
        if (workers[0].value > makespan_s) {
            makespan_s = workers[0].value;
        }
        sink_top(workers, n_workers);
    }
    return makespan_s;
}

static double sum_of(const double *time_s, uint32_t n_threads)
{
    double sum_s = 0;

    for (uint32_t i = 0; i < n_threads; i++) {
        sum_s += time_s[i];
    }
    return sum_s;
}

double workers_makespan(const double *time_s, uint32_t n_threads,
                        uint32_t n_workers)
{
    struct ranked *threads;
    double makespan_s;

    if (n_workers > n_threads) {
        n_workers = n_threads;
    }
    if (n_workers <= 1) {
        return sum_of(time_s, n_threads);
    }
    threads = memory_new((size_t)n_threads + n_workers, sizeof *threads);
    for (uint32_t i = 0; i < n_threads; i++) {
        threads[i] = (struct ranked){time_s[i], i};
    }
    qsort(threads, n_threads, sizeof *threads, compare_falling);
    makespan_s = deal(threads, n_threads, threads + n_threads, n_workers);
    free(threads);
    return makespan_s;
}

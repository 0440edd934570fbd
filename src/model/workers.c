// SPDX-License-Identifier: BSD-3-Clause
#include "model/workers.h"

#include <stdlib.h>

#include "base/memory.h"

/** A thread and its time, or a worker and what it has so far. */
struct load {
    double time_s;
    uint32_t number;
};

/** Longest first, then the lowest number. */
static int compare(const void *left, const void *right)
{
    const struct load *a = left;
    const struct load *b = right;

    if (a->time_s != b->time_s) {
        return a->time_s < b->time_s ? 1 : -1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

static int is_before(const struct load *a, const struct load *b)
{
    return a->time_s < b->time_s ||
           (a->time_s == b->time_s && a->number < b->number);
}

/** Restore the heap of workers, least loaded on top, after the top has grown. */
static void sink_top(struct load *heap, uint32_t n)
{
    const struct load top = heap[0];
    uint32_t at = 0;

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (child >= n || !is_before(&heap[child], &top)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = top;
}

static double deal(const struct load *threads, uint32_t n_threads,
                   struct load *workers, uint32_t n_workers)
{
    double makespan_s = 0;

    for (uint32_t w = 0; w < n_workers; w++) {
        workers[w] = (struct load){0, w};
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        workers[0].time_s += threads[i].time_s;
        if (workers[0].time_s > makespan_s) {
            makespan_s = workers[0].time_s;
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
    struct load *threads;
    double makespan_s;

    if (n_workers > n_threads) {
        n_workers = n_threads;
    }
    if (n_workers <= 1) {
        return sum_of(time_s, n_threads);
    }
    threads = memory_new((size_t)n_threads + n_workers, sizeof *threads);
    for (uint32_t i = 0; i < n_threads; i++) {
        threads[i] = (struct load){time_s[i], i};
    }
    qsort(threads, n_threads, sizeof *threads, compare);
    makespan_s = deal(threads, n_threads, threads + n_threads, n_workers);
    free(threads);
    return makespan_s;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "model/workers.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"

/** @param workers_s  [n_workers] zeros: what each has so far */
static double deal(const struct ranked *threads, uint32_t n_threads,
                   double *workers_s, uint32_t n_workers)
{
    double makespan_s = 0;

    for (uint32_t i = 0; i < n_threads; i++) {
        uint32_t least = 0;

        for (uint32_t w = 1; w < n_workers; w++) {
            least = workers_s[w] < workers_s[least] ? w : least;
        }
        workers_s[least] += threads[i].value;
        makespan_s = fmax(makespan_s, workers_s[least]);
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
    double *workers_s;
    double makespan_s;

    if (n_workers > n_threads) {
        n_workers = n_threads;
    }
    if (n_workers <= 1) {
        return sum_of(time_s, n_threads);
    }
    threads = memory_new(n_threads, sizeof *threads);
    workers_s = memory_new(n_workers, sizeof *workers_s);
    for (uint32_t i = 0; i < n_threads; i++) {
        threads[i] = (struct ranked){time_s[i], i};
    }
    qsort(threads, n_threads, sizeof *threads, compare_falling);
    makespan_s = deal(threads, n_threads, workers_s, n_workers);
    free(threads);
    free(workers_s);
    return makespan_s;
}

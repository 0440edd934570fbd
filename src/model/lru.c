// SPDX-License-Identifier: BSD-3-Clause
//
// A window over the sequence of uses instead of a stack: it ends at the present
// use and is as long as the different groups in it fit the memory. A use hits
// exactly if the group's last use lies in the window, because what was used
// since then, the group included, fits. Both ends only move forward, so the
// time is linear.
//
// I1  `pages` is the sum of the groups whose last use lies in [begin, now].
// I2  pages <= memory after each use.
#include "model/lru.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define NEVER UINT64_MAX

struct window {
    uint32_t *sequence; ///< the orders, one behind the other, twice
    uint64_t *last;     ///< [n_groups]: place of the group's last use
    uint64_t begin;
    double pages;
};

static int use_group(struct window *window, uint64_t now,
                     const uint32_t *group_pages, double memory_pages)
{
    const uint32_t group = window->sequence[now];
    const uint64_t last = window->last[group];
    const int hits = last != NEVER && last >= window->begin;

    window->last[group] = now;
    if (!hits) {
        window->pages += group_pages[group];
    }
    while (window->pages > memory_pages) {
        const uint32_t oldest = window->sequence[window->begin];

        if (window->last[oldest] == window->begin) {
            window->pages -= group_pages[oldest];
        }
        window->begin++;
    }
    return hits;
}

static uint64_t write_sequence(uint32_t *sequence,
                               const struct use_order *orders,
                               unsigned n_orders)
{
    uint64_t at = 0;

    for (unsigned k = 0; k < n_orders; k++) {
        if (orders[k].n > 0) {
            memcpy(sequence + at, orders[k].groups,
                   orders[k].n * sizeof *sequence);
        }
        at += orders[k].n;
    }
    memcpy(sequence + at, sequence, at * sizeof *sequence);
    return at;
}

void lru_missed(const struct use_order *orders, unsigned n_orders,
                const uint32_t *group_pages, uint32_t n_groups,
                double memory_pages, double *missed)
{
    struct window window = {0};
    uint64_t n = 0;

    for (unsigned k = 0; k < n_orders; k++) {
        n += orders[k].n;
    }
    window.sequence = memory_new(2 * n + 1, sizeof *window.sequence);
    window.last = memory_new(n_groups + 1ull, sizeof *window.last);
    write_sequence(window.sequence, orders, n_orders);
    for (uint64_t t = 0; t < n; t++) {
        window.last[window.sequence[t]] = NEVER;
        missed[window.sequence[t]] = 0;
    }
    for (uint64_t t = 0; t < 2 * n; t++) { // the first time warms up
        if (!use_group(&window, t, group_pages, memory_pages) && t >= n) {
            missed[window.sequence[t]] += 1.0 / n_orders;
        }
    }
    free(window.sequence);
    free(window.last);
}

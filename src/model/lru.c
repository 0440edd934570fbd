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

#include "base/memory.h"

#define NEVER UINT64_MAX

struct window {
    const uint32_t *order; ///< [n], over and over
    uint32_t n;
    uint64_t *last; ///< [n_groups]: place of the group's last use
    uint64_t begin;
    double pages;
};

static int use_group(struct window *window, uint64_t now,
                     const uint32_t *group_pages, double memory_pages)
{
    const uint32_t group = window->order[now % window->n];
    const uint64_t last = window->last[group];
    const int hits = last != NEVER && last >= window->begin;

    window->last[group] = now;
    if (!hits) {
        window->pages += group_pages[group];
    }
    while (window->pages > memory_pages) {
        const uint32_t oldest = window->order[window->begin % window->n];

        if (window->last[oldest] == window->begin) {
            window->pages -= group_pages[oldest];
        }
        window->begin++;
    }
    return hits;
}

void lru_missed(const uint32_t *order, uint32_t n, const uint32_t *group_pages,
                uint32_t n_groups, double memory_pages, double *missed)
{
    struct window window = {.order = order, .n = n};

    window.last = memory_new(n_groups, sizeof *window.last);
    for (uint32_t t = 0; t < n; t++) {
        window.last[order[t]] = NEVER;
        missed[order[t]] = 0;
    }
    for (uint64_t t = 0; t < 2ull * n; t++) { // the first time warms up
        if (!use_group(&window, t, group_pages, memory_pages) && t >= n) {
            missed[order[t - n]]++;
        }
    }
    free(window.last);
}

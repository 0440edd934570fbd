// SPDX-License-Identifier: BSD-3-Clause
//
// The latest places are compared with those p before, for each p from 1 on. A
// short inner loop must not be taken for the iteration: hence at least
// REPEATS_LEAST equal places, however short the period.
#include "reconfig/period.h"

#define ROOM (4 * PERIOD_LONGEST)
#define REPEATS_LEAST 16u

static uint32_t back(const struct period *period, uint32_t distance)
{
    return period->seen[(period->n - 1 - distance) % ROOM];
}

static int repeats(const struct period *period, uint32_t p)
{
    uint32_t n = 3 * p > REPEATS_LEAST ? 2 * p : REPEATS_LEAST - p;

    if (period->n < n + p) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (back(period, i) != back(period, i + p)) {
            return 0;
        }
    }
    return 1;
}

uint32_t period_feed(struct period *period, uint32_t place)
{
    period->seen[period->n % ROOM] = place;
    period->n++;
    for (uint32_t p = 1; p <= PERIOD_LONGEST; p++) {
        if (repeats(period, p)) {
            return p;
        }
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_PERIOD_H
#define RECONFIG_PERIOD_H

#include <stdint.h>

/*
 * Finds the iteration of a program that does not say where it ends: the period
 * in the sequence of its barriers.
 */

#define PERIOD_LONGEST 64u ///< barriers in an iteration, at most

/** All zero at first. */
struct period {
    uint32_t seen[4 * PERIOD_LONGEST]; ///< the latest places, as a ring
    uint32_t n;                        ///< that were fed
};

/**
 * Feed the place of the next barrier: where a thread called it, and which one.
 *
 * @return the smallest p <= PERIOD_LONGEST with which the latest places, at least
 *         16 and at least 3 periods, repeat; 0 if there is none (yet)
 *
 * Context: any thread; pure, O(PERIOD_LONGEST^2) at worst.
 */
uint32_t period_feed(struct period *period, uint32_t place);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_PAGER_PLAY_H
#define TESTS_PAGER_PLAY_H

#include "mem/replace.h"
#include "trace.h"

/*
 * Plays a trace as a pager would, with mem/replace to choose. What a pager does
 * not see, replace is not told: uses of pages that are resident and were touched
 * since they came.
 */
struct play {
    uint32_t budget;      ///< pages
    unsigned at_once;     ///< victims asked for when memory is full; 0: 1
    unsigned ahead;       ///< pages read ahead at each fault and tripwire
    uint32_t horizon;     ///< of replace_ahead()
    unsigned lookback;    ///< 0: the default
    unsigned learn;       ///< the iteration that is tracked, from 0
    unsigned again;       ///< and every so many iterations; 0: once
    int is_blind;         ///< nothing is ever learned
    unsigned check_every; ///< page-ins: replace_is_valid(); 0: never
};

/** @return page-ins from event `first` on, those read ahead too */
size_t play(const struct trace *trace, const struct play *how, size_t first);

/** Teach each thread's order of first use, and each worker's order of turns, as
 * events [first, end) show them. */
void play_learn(struct replace *replace, const struct trace *trace,
                size_t first, size_t end);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_THREAD_COUNTS_H
#define BASE_THREAD_COUNTS_H

#include <stdint.h>

#include "base/status.h"

/** A mapping by hand: how many threads each node gets, blocks of neighbours in the order
 * of their numbers. */
struct thread_counts {
    unsigned n; ///< 0: none were given
    uint32_t of_node[TM_MAX_NODES];
};

/** What is allowed, in words. */
#define THREAD_COUNTS_ALLOWED                                                  \
    "numbers of threads, one a node, with commas between"

/**
 * Read what --counts says.
 *
 * @param text         "10,8,8,6"; "" for none
 * @param[out] counts  undefined unless 1 is returned
 * @return 1, or 0 if the text is something else
 *
 * Context: any thread; pure.
 */
int thread_counts_read(const char *text, struct thread_counts *counts);

#endif

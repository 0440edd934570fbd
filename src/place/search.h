// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_SEARCH_H
#define PLACE_SEARCH_H

#include "place/policy.h"

/* The best of several mappings, and local search from it. */

struct search {
    const struct place_request *request;
    uint32_t *best;      ///< [n_threads]: the answer so far
    double best_s;       ///< its predicted time
    uint32_t *candidate; ///< [n_threads]: what search_offer() looks at
    double margin;       ///< part by which a candidate must be better
};

/** Make the candidate the best if it is predicted to be shorter; pinned threads
 * are brought back first. */
void search_offer(struct search *search);

/**
 * Make the best better where threads differ: by refine(), and up to 128 threads by the
 * same from the best with a few threads moved at random, until it is within 0.2 % of
 * the lower bound or the trials are used up. Then moves that win nothing are taken
 * back. Does nothing in clusters that are too large for a load table.
 *
 * Context: any thread; allocates. Deterministic for a seed.
 */
void search_refine(struct search *search);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_PROFILE_H
#define PLACE_PROFILE_H

#include "place/policy.h"

/*
 * All that one decision of a run was made from, and the decision: what
 * `--save-profile` keeps so that `teamster plan` can repeat it, or ask what
 * another cluster would have led to. docs/profile.md has the format of the
 * file; observe/profile_write.h writes it, planner/profile_read.h reads it.
 *
 * A profile refers to arrays that it does not own, unless it comes out of a
 * file: then profile_release() frees them.
 */

/** Of the file; a reader refuses others. */
#define PROFILE_VERSION 1

#define PROFILE_TEXT_MAX 64 ///< bytes of a text, with the 0 at its end

/** 2^64 bytes. Counts of pages in a profile are not above it. */
#define PROFILE_PAGES_MAX ((uint64_t)1 << 52)

/** No time, number of bytes or factor is above it, so that nothing that is
 * computed from them is infinite; no factor is below PROFILE_FACTOR_MIN. */
#define PROFILE_NUMBER_MAX 1e18
#define PROFILE_FACTOR_MIN 1e-18

/** Other whole numbers: what a double holds exactly. */
#define PROFILE_COUNT_MAX ((uint64_t)1 << 53)

/** What trigger_accepts() was asked before the decision was carried out. */
struct profile_acceptance {
    double now_s;
    double predicted_s;
    uint64_t iterations_left; ///< UINT64_MAX: nobody knew
    double moved_bytes;
    double bytes_per_s; ///< above 0
    double warm_up_s;
};

/** What the run did with what it knew. */
struct profile_decision {
    char policy[PROFILE_TEXT_MAX]; ///< its name; empty: none was asked
    uint64_t seed;                 ///< as in struct place_request
    uint32_t effort;               ///< likewise
    const uint32_t *node_of;       ///< [n_threads], its answer
    uint32_t n_moves;
    double before_s; ///< predicted for the mapping in force
    double after_s;  ///< and for the answer
    int owners_move;
    int is_proven;
    const double *node_before_s; ///< [n_nodes]: before_s of each; NULL: unknown
    const double *node_after_s;  ///< [n_nodes], likewise
    int is_carried_out;          ///< else the mapping in force was kept
    int was_weighed;             ///< `acceptance` says why it was or was not
    struct profile_acceptance acceptance;
};

struct profile {
    char teamster[PROFILE_TEXT_MAX]; ///< version that wrote it
    char program[PROFILE_TEXT_MAX];  ///< its file name; may be empty
    uint64_t iteration;              ///< the last that was measured, from 1
    double unit_speed; ///< speed= of a node whose power is 1.0; 0: the run was
                       ///< given no speeds
    struct cluster_view view;
    const uint32_t *node_of; ///< [n_threads]: the mapping in force
    struct cost_model model;
    struct measurement measured; ///< nodes NULL: nothing was measured
    struct profile_decision decision;
};

#endif

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

/** Written behind so many barriers of the iteration, 0 to 7. */
#define PROFILE_WRITTEN_BEHIND(n_barriers) (256u << (n_barriers))

/** Pages next to each other that a thread uses alike. */
struct profile_run {
    uint64_t page; ///< number in the run's space
    uint32_t n_pages;
    uint16_t flags; ///< of enum use_flags, at least one; and, if it is known,
                    ///< PROFILE_WRITTEN_BEHIND
    uint16_t diff_bytes; ///< that it changes of each; 0 if it does not write
};

/** An iteration that was looked at: the pages of each thread, in order of first use. */
struct profile_round {
    uint64_t iteration; ///< its number
    uint32_t *first;    ///< [n_threads + 1] of `runs`: where a thread's begin
    struct profile_run *runs; ///< [first[n_threads]]
};

/** Pages of a block, or of several that lie side by side. */
struct profile_block {
    uint64_t page;
    uint64_t n_pages;
};

/**
 * What threads do, iteration after iteration: what `teamster simulate` plays again. Iteration
 * k is as the round whose number leaves the same rest, when both are divided by n_rounds:
 * of a program that goes from one grid to another and back there are two.
 */
struct profile_script {
    char protocol[PROFILE_TEXT_MAX]; ///< of memory that names none
    uint32_t
        n_barriers; ///< of an iteration, that at its end included; at least 1
    uint32_t n_blocks;
    struct profile_block *blocks; ///< [n_blocks], rising; runs lie in them
    uint32_t n_rounds;            ///< 0: there is no script
    struct profile_round *rounds; ///< [n_rounds], by rest
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
    struct profile_script script;
};

#endif

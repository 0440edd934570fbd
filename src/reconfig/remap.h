// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_REMAP_H
#define RECONFIG_REMAP_H

#include "model/correct.h"
#include "model/groups.h"
#include "place/profile.h"
#include "reconfig/history.h"

/*
 * One decision: all that it is made of, and what came out. A plan is begun under
 * the node lock, by copying what is known; made without it, on the observer,
 * since that may take milliseconds; and carried out under the lock again.
 */

/** Where a plan finds the pages that tracking has found.
 * @param[out] n  how many
 * @return the thread's uses in order; NULL if it was not tracked */
typedef const struct page_use *remap_uses_fn(void *owner, uint64_t thread,
                                             size_t *n);

struct remap {
    const struct policy *policy;
    struct cluster_view view;
    uint64_t *numbers; ///< [n_threads] of the view's threads
    uint32_t *current; ///< [n_threads] where they are
    uint32_t *wanted;  ///< [n_threads] where they should be
    struct measurement measured;
    double *errors_s;       ///< [n_nodes] standard errors of measured times
    double slowest_error_s; ///< of measured.iteration_s
    struct cost_model model;
    struct prediction before; ///< of `current`
    struct prediction after;  ///< of `wanted`
    double warm_up_s; ///< until the threads' pages are at their new nodes
    uint32_t n_moves;
    int owners_move;    ///< as in struct mapping
    int is_proven;      ///< likewise
    int is_carried_out; ///< set by who does so
    int was_weighed;    ///< trigger_accepts() was asked `acceptance`
    struct profile_acceptance acceptance;
    uint64_t iteration; ///< that was the last when it was begun
    uint32_t
        n_untracked; ///< threads that are taken to use no pages: of these it
                     ///< is not known
    remap_uses_fn *uses;
    void *uses_owner;
};

/**
 * Copy what is known.
 *
 * @param nodes  [n_nodes]  static information; power as in the history
 * @param equations    the model without what it starts from
 * @param corrections  [n_nodes]; must live as long as the plan; not used if the model
 *                     is not corrected
 * @return TM_OK
 * @return TM_ESTATE  no thread takes part in iterations
 *
 * Context: under the node lock; allocates. The plan must be zeros, or released.
 */
TM_CHECKED tm_status remap_begin(struct remap *plan,
                                 const struct policy *policy,
                                 const struct cost_model *equations,
                                 const struct history *history,
                                 const struct node_view *nodes,
                                 unsigned n_nodes,
                                 const struct correction *corrections);

/** Where the uses are to be found; they must not change before remap_make() has
 * returned. Without this call the plan knows of none. */
void remap_set_uses(struct remap *plan, remap_uses_fn *uses, void *owner);

/**
 * Ask the policy.
 *
 * @return TM_OK
 * @return TM_EINVAL, TM_ELIMIT  as of groups_build(): what was tracked makes no sense
 *
 * Context: any thread, without the node lock; allocates.
 */
TM_CHECKED tm_status remap_make(struct remap *plan);

/** How far before.iteration_s less after.iteration_s may be off by what measured times
 * are, as a standard error. Of a plan that was made. */
double remap_gain_error_s(const struct remap *plan);

/** What the history tells of an iteration under the mapping in force, as a plan's
 * `measured`. @param[out] measured  with nodes [n_nodes] of the caller's
 * Context: under the node lock. */
void remap_measure(const struct history *history, unsigned n_nodes,
                   struct measurement *measured);

/** Free it. Zeros are fine. */
void remap_release(struct remap *plan);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_PLAN_H
#define PLANNER_PLAN_H

#include "place/policy.h"
#include "planner/scenario.h"

/** What is asked of a scenario. */
struct plan_question {
    const struct policy *const *policies; ///< [n_policies]
    unsigned n_policies;
    const uint32_t
        *counts; ///< [n_nodes], sum n_threads: a mapping by hand, blocks
                 ///< of threads in order of number, but for pinned ones,
                 ///< which stay; NULL: none
};

/** What a policy says to a scenario, or what a mapping by hand is like. */
struct answer {
    const struct policy *policy; ///< NULL: by hand
    const char *name;            ///< the policy's, or "by hand"
    struct mapping mapping;      ///< node_of is the answer's
    uint32_t n_moves;        ///< of the mapping, and threads whose node is gone
    struct prediction after; ///< nodes is the answer's
};

/** What is known of a scenario once policies have been asked. */
struct plan {
    const struct scenario *scenario;
    struct prediction in_force; ///< nodes is the plan's
    uint32_t n_homeless;        ///< threads whose node is gone: they have been
                                ///< put somewhere
    double bound_s;             ///< no mapping is faster
    struct answer *answers;     ///< [n_answers]: best first; among equals the
                                ///< one that moves less
    unsigned n_answers;
};

/**
 * Ask.
 *
 * @param scenario  settled; the plan refers to it
 * @param question  read only during the call
 * @param[out] plan to be released with plan_release(); set on success only
 */
void plan_make(struct plan *plan, const struct scenario *scenario,
               const struct plan_question *question);
void plan_release(struct plan *plan);

/** By how much a time is above the lower bound: 0.05 is 5 %; NAN if that is 0. */
double plan_above_bound(const struct plan *plan, double time_s);

/** @return the answer of a policy, or with NULL that by hand; NULL if it was not
 * asked */
const struct answer *plan_answer_of(const struct plan *plan,
                                    const struct policy *policy);

#endif

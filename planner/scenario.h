// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_SCENARIO_H
#define PLANNER_SCENARIO_H

#include "place/profile.h"

/*
 * A cluster and a program that can be changed: begins as what a profile says,
 * becomes what is asked about. After the last change scenario_settle() makes it
 * whole; until then threads may be without a node.
 */

#define NO_NODE UINT32_MAX

struct scenario {
    struct cluster_view view;
    struct cost_model model;
    struct correction *corrections; ///< [n_nodes], model.corrections; or NULL
    struct measurement measured; ///< of the mapping in force; nodes NULL: none
    uint32_t *origin;  ///< [n_threads]: where it is; NO_NODE if that is gone
    uint32_t *node_of; ///< [n_threads]: the same after scenario_settle(), those
                       ///< without a node put somewhere
    double unit_speed; ///< speed= of power 1.0; 0: not known
    uint64_t seed;     ///< for struct place_request
    uint32_t effort;   ///< likewise
    int is_changed;
    char *notes; ///< what was changed, a line each; NULL: nothing
};

/** Begin with what a profile says, copied. */
void scenario_init(struct scenario *scenario, const struct profile *profile);
void scenario_release(struct scenario *scenario);

/**
 * Predict by another model than the profile's. What was learned for that one does not
 * hold for it: it goes without.
 *
 * @return TM_OK
 * @return TM_ESTATE  it needs a reference processor, and the profile has none
 */
TM_CHECKED tm_status scenario_use_model(struct scenario *scenario,
                                        enum cost_kind kind);

/**
 * After changes: threads whose node is gone go where least is to be done, for
 * its power; if all nodes are others, threads are spread in blocks. What was
 * measured holds no longer: the prediction for the mapping in force takes its
 * place, for policies that start from a measurement.
 */
void scenario_settle(struct scenario *scenario);

// ---- for those who change it: hosts.c, replicate.c, what_if.c ----

/** Add a line of what was changed. */
__attribute__((format(printf, 2, 3))) void scenario_note(
    struct scenario *scenario, const char *format, ...);

/** Add a node behind the others. */
void scenario_add_node(struct scenario *scenario, const struct node_view *node);

/** Take a node away, which is not the last. Its threads become homeless. */
void scenario_remove_node(struct scenario *scenario, uint32_t node);

/** A node as most are: of each cost the median, power 1, one processor, no
 * memory, no name. */
void scenario_usual_node(const struct scenario *scenario,
                         struct node_view *node);

/** Give a node another memory: what is free and what there is in all change by
 * the same number of pages. */
void node_set_memory(struct node_view *node, uint64_t pages);

/** @return a thread that must stay on this node, NO_NODE if there is none */
uint32_t scenario_pinned_to(const struct scenario *scenario, uint32_t node);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_BALANCING_H
#define RUNTIME_BALANCING_H

#include "base/status.h"
#include "net/message.h"
#include "reconfig/scheme.h"

struct node;

/* The scheme, on the root: who runs where. */

/** On the root: is it about to change something, and not to be disturbed? */
int balancing_is_busy(struct node *node);
/** Or have threads moved just now, so that times tell nothing yet? */
int balancing_is_unsettled(struct node *node);
/** On the root: does somebody decide where threads run? */
int balancing_decides(struct node *node);

/** On the root: does the policy place the pieces of loops too, by the memory of nodes? */
int balancing_places_loops(const struct node *node);
/** What the scheme of a loop goes by. Root, under the node lock.
 * @param ids          [n]  live nodes
 * @param[out] crowds  [n]  of the config; the caller's */
void balancing_configure_loop(struct node *node, const node_id *ids, unsigned n,
                              uint32_t *crowds, struct scheme_config *config);
/** What a live node has to offer, as far as it is known by now. Root, under the node lock. */
void balancing_describe(struct node *node, node_id id, struct node_view *view);
/** What tracking is likely to cost, seconds. */
double balancing_tracking_s(struct node *node);
/** A text of one or more lines for who wants to know why. Root, under the node lock. */
void balancing_explain(struct node *node, const char *text);

/** What a profile of a plan says. Refers to the plan and to the times.
 * @param times_s  [2 * n_nodes] for those of the nodes */
void profile_fill(struct node *node, struct profile *profile,
                  const struct remap *plan, double *times_s);
/** With --save-profile, end the run at once if the root could not write it: the run
 * that the profile is to be of may take hours. */
void profile_check(struct node *node);
/** With --save-profile, write the latest decision's. */
void profile_save(struct node *node);

#endif

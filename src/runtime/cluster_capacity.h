// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_CLUSTER_CAPACITY_H
#define RUNTIME_CLUSTER_CAPACITY_H

#include "cluster/bootstrap.h"
#include "observe/probe.h"

struct node;

/** What nodes have to offer. Guarded by the node lock. */
struct cluster_capacity {
    struct node_capacity *nodes; ///< [TM_MAX_NODES]; NULL: not known yet
    struct node_costs
        *costs; ///< [TM_MAX_NODES] at the root, as they come; zeros
    struct node_costs own;
    struct probe probe;
    unsigned n_measured; ///< parts of own that are
};

/** Measure this node's, for its card. Computes for some milliseconds. */
void capacity_measure_own(struct node *node, struct node_capacity *capacity);
/** Take what the cards of all nodes say. @param members  [n_nodes] */
void capacity_take(struct node *node, const struct boot_member *members);
/** Begin to measure what pages and messages cost here; the root will be told. Under
 * the node lock, once. @return as observer_run() */
tm_status capacity_begin_costs(struct node *node);
/** What a node, < n_nodes, has to offer. In a cluster of one the first call measures
 * it. Lives as long as the process. Under the node lock. */
const struct node_capacity *capacity_of(struct node *node, unsigned id);
/** @param n_first  of how many nodes, <= n_nodes, the first
 *  @return how many may use the same processors as this node; it counts if it is one
 *          of them. In a cluster of one it is 1. */
unsigned capacity_n_beside(struct node *node, unsigned n_first);
/** The power of a live node beside others. Root, under the node lock. */
double cluster_power(struct node *node, node_id id);
/** What pages and messages cost at a node, as far as it is known: zeros until then,
 * and on nodes other than the root. Some 20 ms after the start all of it is there;
 * in a cluster of one only after capacity_begin_costs(). Under the node lock. */
const struct node_costs *cluster_costs(struct node *node, unsigned id);

#endif

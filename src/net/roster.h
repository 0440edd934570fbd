// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_ROSTER_H
#define NET_ROSTER_H

#include "base/status.h"

/**
 * Who takes part in a run. All nodes hold the same roster at the same roster epoch, but
 * for the moment of a change, in which nothing else happens
 * (reconfig/membership.h). Numbers of nodes are not given again.
 *
 * R1 `live` has the live nodes in rising order; the root, node 0, is the first.
 * R2 All live nodes are below n_ids.
 */
struct roster {
    uint32_t epoch; ///< the roster epoch: grows with each change
    unsigned n_ids; ///< numbers given so far, of those who have left too
    unsigned n_live;
    node_id live[TM_MAX_NODES];    ///< [n_live]
    uint8_t is_live[TM_MAX_NODES]; ///< by number
    node_id leaving; ///< a live node that is to get nothing more; NODE_NONE
};

/** Nodes 0 to n - 1, at roster epoch 1. */
void roster_init(struct roster *roster, unsigned n);

/** A node comes, or goes. Not the root, and not one that is there (is not).
 * The roster epoch grows. */
void roster_add(struct roster *roster, node_id node);
void roster_remove(struct roster *roster, node_id node);

/** Is a node there? Any number may be asked for. */
static inline int roster_has(const struct roster *roster, node_id node)
{
    return node < TM_MAX_NODES && roster->is_live[node];
}

/** Where a node is among the live ones, which is the same on all nodes.
 * @return n_live: it is none of them */
unsigned roster_place(const struct roster *roster, node_id node);

/** May threads and blocks be given to the node? */
static inline int roster_takes(const struct roster *roster, node_id node)
{
    return roster_has(roster, node) && node != roster->leaving;
}

/** One of the live nodes for a number, spread evenly; the same on all nodes. */
static inline node_id roster_pick(const struct roster *roster, uint64_t number)
{
    return roster->live[number % roster->n_live];
}

/** The live nodes that things may be given to.
 * @param[out] nodes  [TM_MAX_NODES] in rising order
 * @return how many, at least one: the root does not leave */
unsigned roster_open(const struct roster *roster, node_id *nodes);

/** Checks R1 and R2. */
int roster_is_valid(const struct roster *roster);

#define ROSTER_BYTES_MAX (2 + 2 * TM_MAX_NODES)

/** Write who is in it, as all nodes are told: n_ids u16, each live node u16.
 * @param[out] at  [ROSTER_BYTES_MAX]
 * @return bytes written */
size_t roster_encode(const struct roster *roster, uint8_t *at);

/** Read it. The roster epoch stays as it is, and nobody is leaving.
 * @return TM_OK
 * @return TM_EWIRE  it breaks R1 or R2; the roster is untouched */
tm_status roster_decode(struct roster *roster, const void *bytes, size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_HOST_RING_H
#define CLUSTER_HOST_RING_H

#include <stdint.h>

#include "net/roster.h"

/*
 * Hosts in a ring, in the order of their first nodes, their *leaders*. Each keeps what the one in
 * front of it has saved (runtime/buddies.c); and signs of life go round it (host_ring.c).
 */

/** The hosts behind it that a leader gives signs of life to. */
#define HOST_RING_REACH 3

/** What another node is to this one; both, perhaps, or neither. */
enum host_ring_near {
    HOST_RING_TO = 1,   ///< it gets this node's signs of life
    HOST_RING_FROM = 2, ///< its signs of life come here
};

/** Is a live node the first of its host? That one is its leader. @param host_of  of each node */
int host_ring_is_leader(const struct roster *roster, const uint16_t *host_of,
                        node_id node);

/** The leader of the host behind that of a live node. NODE_NONE: there is one host. */
node_id host_ring_next(const struct roster *roster, const uint16_t *host_of,
                       node_id node);

/** Who gives signs of life to whom, as a live node sees it.
 * @param[out] near  [n_ids] enum host_ring_near; 0 of the node itself and of those who left */
void host_ring_mark_near(const struct roster *roster, const uint16_t *host_of,
                         node_id self, uint8_t *near);

/** The most live nodes that a host has. */
unsigned host_ring_fullest(const struct roster *roster,
                           const uint16_t *host_of);

#endif

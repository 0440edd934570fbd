// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_HOST_RING_H
#define CLUSTER_HOST_RING_H

#include <stdint.h>

#include "net/roster.h"

/*
 * Hosts in a ring, in the order of their first nodes, their *leaders*: each keeps what the one in
 * front of it has saved (buddies.c).
 */

/** Is a live node the first of its host? That one is its leader. @param host_of  of each node */
int host_ring_is_leader(const struct roster *roster, const uint16_t *host_of,
                        node_id node);

/** The leader of the host behind that of a live node. NODE_NONE: there is one host. */
node_id host_ring_next(const struct roster *roster, const uint16_t *host_of,
                       node_id node);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_MEMBERS_H
#define RUNTIME_MEMBERS_H

#include <stdatomic.h>

#include "reconfig/membership.h"

struct node;

/** Nodes that come and go: members.c. Guarded by the node lock. */
struct members {
    struct membership *machine;
    uint16_t host_of[TM_MAX_NODES]; ///< of each node, as the launcher has it
    int is_spread; ///< there are, or have been, nodes that share no memory
    int is_new;    ///< this node is no member yet
    int has_asked; ///< to leave
    _Atomic unsigned n_terms;       ///< SIGTERMs; counted by their handler
    uint8_t has_left[TM_MAX_NODES]; ///< nothing is sent to them any more
    node_id gone[TM_MAX_NODES];     ///< have left a moment ago
    unsigned n_gone;
    uint64_t gone_ns; ///< when the last of these did
};

/** Nodes have met. @param host_of  [n_nodes] */
void members_note_hosts(struct node *node, const uint16_t *host_of);

/** The launcher wants something of that: BOOTSTRAP_CHANGE. Service thread, without
 * the lock. */
void members_follow(struct node *node);

#endif

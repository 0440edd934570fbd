// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_MEMBERS_H
#define RUNTIME_MEMBERS_H

#include <stdatomic.h>

#include "reconfig/membership.h"

/** Nodes that come and go: members.c. Guarded by the node lock. */
struct members {
    struct membership *machine;
    uint16_t host; ///< this node's, as the launcher counts hosts
    int is_spread; ///< there are, or have been, nodes that share no memory
    int is_new;    ///< this node is no member yet
    int has_asked; ///< to leave
    _Atomic unsigned n_terms;       ///< SIGTERMs; counted by their handler
    uint8_t has_left[TM_MAX_NODES]; ///< nothing is sent to them any more
    node_id gone;                   ///< has left a moment ago, NODE_NONE
    uint64_t gone_ns;
};

/** Before the node is connected. */
void members_open(void);
/** The node lives. */
void members_start(void);
/** Wait until nodes do not come or go any more. Under the node lock, which is given
 * back meanwhile. */
void members_wait(void);
/** Do nodes come or go? Then nothing is begun that is for the nodes there are: the
 * scheme and its plans end with the roster. Under the node lock. */
int members_are_changing(void);
/** The launcher wants something of that: BOOTSTRAP_CHANGE. Service thread, without
 * the lock. */
void members_follow(void);
/** Under the node lock. @return 1 if it wants to be called again soon */
int members_tick(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_MEMBERSHIP_PRIV_H
#define RECONFIG_MEMBERSHIP_PRIV_H

#include "reconfig/membership.h"

/* What every node does (membership.c), and how the root leads (membership_root.c). */

enum step { IDLE, EVACUATE, FREEZE, SWITCH, SPREAD, GO };

struct request {
    node_id node;
    int comes;
};

/** What all nodes have said in a round. */
struct round_answers {
    unsigned n_answers;
    int is_still;
    uint64_t sent;
    uint64_t received;
};

struct membership {
    struct port *port;
    struct engine *engine;
    struct sync *sync;
    struct membership_ops ops;

    enum step done; ///< the latest step that this node has taken
    unsigned turn;  ///< of membership_refuge()

    // the root's
    struct request requests[TM_MAX_NODES]; ///< the first is under way
    unsigned n_requests;
    enum step step;
    uint64_t since_ns;  ///< it waits to be begun, then: it was; 0: neither
    uint64_t step_ns;   ///< and this step
    uint64_t told_ns;   ///< threads were told to leave
    uint64_t freeze_ns; ///< not before: something was still there the last time
    int has_told;       ///< that it waits
    int has_threads;    ///< the leaver, in this round
    uint32_t round;
    int is_asking; ///< answers are awaited
    uint64_t asked_ns;
    int comer_owes; ///< the one that comes, in this round
    node_id members[TM_MAX_NODES];
    unsigned n_members;
    struct round_answers answers;
    struct round_answers last; ///< of the round before
    int was_quiet;             ///< in the round before
    uint64_t leaver_sent;      ///< in this round
    uint64_t leaver_received;
    uint64_t gone_sent; ///< N5
    uint64_t gone_received;
};

/** On the root: change_state has come. @return TM_OK, TM_EWIRE */
tm_status membership_receive_state(struct membership *membership, node_id from,
                                   const struct message_change_state *state);

#endif

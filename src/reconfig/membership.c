// SPDX-License-Identifier: BSD-3-Clause
//
// A change of the roster (net/roster.h): one node comes, or one leaves. The root
// takes all nodes through these steps, one change after the other:
//
//   IDLE      a request is there, and no plan or tracking is under way
//             leave -> EVACUATE, join -> FREEZE
//   EVACUATE  all know who leaves: nothing more goes there; its threads move away
//             at their next iteration ends; when it has none -> FREEZE
//   FREEZE    threads do not enter the runtime any more; what is under way goes on
//             until nothing is -> SWITCH; or, threads have come to the leaver
//             meanwhile: thaw, -> EVACUATE
//   SWITCH    everybody takes the new roster, and forgets the leaver; the root tells
//             the newcomer of all blocks
//   SPREAD    directory entries and managers go to their new nodes; the leaver gives
//             its pages away
//   GO        threads go on; the leaver ends -> IDLE
//
// In FREEZE, SWITCH and SPREAD the root asks all nodes again and again (change_step,
// with a new round) what there is under way (change_state). A step is over when, in
// two rounds one after the other, all say that they stand still, as many messages
// have been received as sent, and the numbers are the same in both: then none was on
// its way when the first of the two ended ([Mattern87], four counters).
//
// N1 Between the last round of FREEZE and GO nothing happens at any node but what
//    the steps do: no thread is in the runtime, no message is on its way.
// N2 A node in SPREAD hears only of nodes that have the new roster, since SWITCH was
//    over everywhere.
// N3 The leaver has no thread from FREEZE on: nobody can bring one there but by a
//    message, and none is on its way.
// N4 Until SWITCH begins nothing has changed and the root may give up: GO without a
//    change. From there on only a death ends it, and with it the run.
// N5 Counts of a node that has left are added to those of the others ever after, so
//    that sent and received stay equal.
#include "reconfig/membership_priv.h"

#include <stdlib.h>
#include <string.h>

// ---- the steps

static tm_status take_roster(struct membership *membership,
                             const struct message *message)
{
    struct roster before = membership->port->roster;
    struct roster *roster = &membership->port->roster;

    if (roster_decode(roster, message->body, message->body_size) != TM_OK) {
        return TM_EWIRE;
    }
    roster->epoch = message->u.change_step.epoch;
    engine_roster_changed(membership->engine, &before);
    sync_roster_changed(membership->sync, &before);
    membership->ops.switched(membership->ops.owner, &before);
    if (membership->port->self == 0 &&
        message->u.change_step.comes != NODE_NONE) {
        engine_describe_blocks(membership->engine,
                               message->u.change_step.comes);
    }
    return TM_OK;
}

static void freeze(struct membership *membership, int is_frozen)
{
    engine_freeze(membership->engine, is_frozen);
    sync_freeze(membership->sync, is_frozen);
    membership->ops.freeze(membership->ops.owner, is_frozen);
}

static void go_on(struct membership *membership, node_id leaves)
{
    const struct membership_ops *ops = &membership->ops;

    membership->port->roster.leaving = leaves;
    freeze(membership, 0);
    if (!roster_has(&membership->port->roster, membership->port->self)) {
        ops->gone(ops->owner);
    }
}

static tm_status take_step(struct membership *membership,
                           const struct message *message)
{
    const struct message_change_step *step = &message->u.change_step;

    switch (step->step) {
    case EVACUATE:
        membership->port->roster.leaving = step->leaves;
        if (step->leaves == membership->port->self) {
            // Pages follow those who ask for them first.
            engine_leaving(membership->engine, 0, UINT64_MAX);
        }
        break;
    case FREEZE:
        freeze(membership, 1);
        break;
    case SWITCH:
        if (take_roster(membership, message) != TM_OK) {
            return TM_EWIRE;
        }
        break;
    case SPREAD:
        engine_spread(membership->engine);
        sync_spread(membership->sync);
        break;
    case GO:
        go_on(membership, step->leaves);
        break;
    default:
        break;
    }
    membership->done = (enum step)step->step;
    return TM_OK;
}

static void answer(struct membership *membership,
                   const struct message_change_step *step)
{
    const struct membership_ops *ops = &membership->ops;
    struct message message = {.type = MESSAGE_change_state};
    struct message_change_state *state = &message.u.change_state;

    state->step = step->step;
    state->round = step->round;
    state->is_still = engine_is_still(membership->engine) != 0;
    state->n_threads = ops->n_threads(ops->owner);
    ops->count(ops->owner, &state->sent, &state->received);
    port_send(membership->port, 0, &message);
}

static tm_status receive_step(struct membership *membership, node_id from,
                              const struct message *message)
{
    const struct message_change_step *step = &message->u.change_step;

    if (from != 0 || step->step < EVACUATE || step->step > GO) {
        return TM_EWIRE;
    }
    if ((membership->done != (enum step)step->step || step->step == EVACUATE) &&
        take_step(membership, message) != TM_OK) {
        return TM_EWIRE;
    }
    if (step->step != EVACUATE && step->step != GO) {
        answer(membership, step);
    }
    return TM_OK;
}

node_id membership_refuge(struct membership *membership)
{
    node_id nodes[TM_MAX_NODES];
    unsigned n = roster_open(&membership->port->roster, nodes);

    return nodes[membership->turn++ % n];
}

void membership_leave(struct membership *membership)
{
    struct message message = {
        .type = MESSAGE_leave_ask,
        .u.leave_ask = {.node = membership->port->self},
    };

    port_send(membership->port, 0, &message);
}

// ---- both

tm_status membership_receive(struct membership *membership, node_id from,
                             const struct message *message)
{
    switch (message->type) {
    case MESSAGE_change_step:
        return receive_step(membership, from, message);
    case MESSAGE_change_state:
        return membership_receive_state(membership, from,
                                        &message->u.change_state);
    default:
        if (membership->port->self != 0 || message->u.leave_ask.node != from) {
            return TM_EWIRE;
        }
        membership_remove(membership, from);
        return TM_OK;
    }
}

struct membership *membership_new(struct port *port, struct engine *engine,
                                  struct sync *sync,
                                  const struct membership_ops *ops)
{
    struct membership *membership = calloc(1, sizeof *membership);

    if (membership != NULL) {
        membership->port = port;
        membership->engine = engine;
        membership->sync = sync;
        membership->ops = *ops;
    }
    return membership;
}

void membership_free(struct membership *membership)
{
    free(membership);
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_MEMBERSHIP_H
#define RECONFIG_MEMBERSHIP_H

#include "pages/engine.h"
#include "sync/sync.h"

/*
 * Nodes join and leave a running job. One machine a node; the root's leads:
 * membership.c says how. Messages in, messages and calls of the table out; the
 * same code runs over the simulated network. Called under the node lock.
 */
struct membership;

/** How a request has ended, or how far it is. */
enum membership_report {
    MEMBERSHIP_DONE,    ///< the node has joined, or has left
    MEMBERSHIP_WAITS,   ///< it has for some seconds; `why` says for what
    MEMBERSHIP_REFUSED, ///< nothing has changed; `why` says why
};

/** What the machine asks of those around it. None may call it back at once, but
 * for `tell`. */
struct membership_ops {
    void *owner;

    /** From now on (1) threads do not enter the runtime, and nothing is sent by the
     * passing of time but signs of life; or they may again (0). What has come is
     * still answered. */
    void (*freeze)(void *owner, int is_frozen);

    /** Threads on this node. */
    unsigned (*n_threads)(void *owner);

    /** Messages sent and received by this node since the start, those to itself
     * too; but for those that membership_is_aside() names. */
    void (*count)(void *owner, uint64_t *sent, uint64_t *received);

    /** On the root: what has to end before a change may begin; it is asked again soon. NULL:
     * nothing, it may begin now. */
    const char *(*why_not_yet)(void *owner);

    /** On the root: a thread is to move away from a node that leaves. */
    void (*move)(void *owner, uint64_t thread, node_id to);

    /** On the root: how much a node can compute, beside others. */
    double (*power)(void *owner, node_id node);

    /** The port's roster is another now, and engine and sync know it. Everything
     * still stands. */
    void (*switched)(void *owner, const struct roster *before);

    /** This node is not in the roster any more and has given everything away: it
     * ends. */
    void (*gone)(void *owner);

    /** On the root: what has become of a request. */
    void (*tell)(void *owner, node_id node, int comes,
                 enum membership_report report, const char *why);
};

/** @param port  its roster is changed by this machine only; port, engine and sync
 *               outlive it
 *  @return NULL if memory is short */
struct membership *membership_new(struct port *port, struct engine *engine,
                                  struct sync *sync,
                                  const struct membership_ops *ops);
void membership_free(struct membership *membership);

/** On the root: have a node leave. ops.tell follows, perhaps at once. */
void membership_remove(struct membership *membership, node_id node);

/** On the root: a node that all are connected with is to join. ops.tell follows. */
void membership_add(struct membership *membership, node_id node);

/** On any node but the root: this node would leave. */
void membership_leave(struct membership *membership);

/** A message of types change_step, change_state and leave_ask has come.
 * @return TM_OK, TM_EWIRE */
tm_status membership_receive(struct membership *membership, node_id from,
                             const struct message *message);

/** Do what is due. To be called every millisecond while membership_is_busy(). */
void membership_tick(struct membership *membership);

/** On the root: is there something to do? */
int membership_is_busy(const struct membership *membership);

/** Do messages of this type not count as something under way? Those of the machine
 * itself and of checkpoints, signs of life, and what is asked about deadlocks. */
static inline int membership_is_aside(unsigned type)
{
    const enum message_owner owner = message_owner(type);

    return owner == OWNER_members || owner == OWNER_liveness ||
           owner == OWNER_deadlock || owner == OWNER_run ||
           owner == OWNER_checkpoint;
}

/** On the root: messages that nodes had sent and received that have left. */
uint64_t membership_gone_sent(const struct membership *membership);
uint64_t membership_gone_received(const struct membership *membership);

/** Where a thread that has to leave this node goes; the others take turns. */
node_id membership_refuge(struct membership *membership);

#endif

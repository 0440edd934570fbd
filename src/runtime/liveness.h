// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_LIVENESS_H
#define RUNTIME_LIVENESS_H

#include "cluster/bootstrap.h"
#include "net/message.h"
#include "net/transport.h"
#include "os/death_watch.h"

struct node;

/* Who is alive. */

/** Who of this host has died; the service thread's. */
struct neighbours {
    struct death_watch *watch; ///< NULL: a launcher sees deaths
    uint64_t died_ns;          ///< when one did, 0: none
    node_id dead;
};

/** The first node whose connection has ended, or that another one has lost: liveness.c. */
struct loss {
    uint64_t seen_ns; ///< 0: none has
    node_id node;
    char why[256];
};

// ---- liveness.c: who is alive. All under the node lock

/** The launcher ends the run, not in order. Takes the node lock itself. */
_Noreturn void liveness_stop(struct node *node);

/** What the transport tells: a net_event_fn. */
void liveness_event(void *owner, enum net_event event, node_id node,
                    const char *why);

/** A message has come. */
void liveness_hear(struct node *node, node_id from);

/** A beat of the launcher's, of that number, is known to another node or has come. */
void liveness_hear_launcher(struct node *node, uint32_t number);

// ---- process_watch.c: deaths on this host, if no launcher sees them

/** Nodes are connected. @param roster  who and where they are */
void process_watch_begin(struct node *node, const struct boot_roster *roster);

/** Readable if process_watch_poll() has something to do; -1: there is nothing. */
int process_watch_fd(struct node *node);

/** From the service thread, outside the node lock. */
void process_watch_poll(struct node *node);

/** From the service thread, several times a second. */
void process_watch_tick(struct node *node);

#endif

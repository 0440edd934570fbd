// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_LIFESIGNS_H
#define RUNTIME_LIFESIGNS_H

#include "cluster/bootstrap.h"
#include "net/transport.h"
#include "os/death_watch.h"

struct node;

/* Who is alive, and what the launcher is told of this node. */

/** How far the launcher believes this node to be: progress.c. */
struct told {
    uint64_t at_ns;
    uint64_t n_iterations;
    unsigned n_threads;
};

/** Who of this host has died; the service thread's. */
struct neighbours {
    struct death_watch *watch; ///< NULL: a launcher sees deaths
    uint64_t died_ns;          ///< when one did, 0: none
    node_id dead;
};

/** The first node whose connection has ended: lifesigns.c. */
struct loss {
    uint64_t seen_ns; ///< 0: none has
    node_id node;
    char why[256];
};

// ---- lifesigns.c: who is alive. All under the node lock

/** The launcher ends the run, not in order. Takes the node lock itself. */
_Noreturn void lifesigns_stop(struct node *node);

/** What the transport tells: a net_event_fn. */
void lifesigns_event(void *owner, enum net_event event, node_id node,
                     const char *why);

/** A message has come. */
void lifesigns_hear(struct node *node, node_id from);

/** A beat of the launcher's, of that number, is known to another node or has come. */
void lifesigns_hear_launcher(struct node *node, uint32_t number);

// ---- progress.c

/** Tell the launcher how far this node is, if that is news. Under the node lock, from
 * the service thread. */
void progress_tick(struct node *node);

// ---- neighbours.c: deaths on this host, if no launcher sees them

/** Nodes are connected. @param roster  their cards and hosts */
void neighbours_watch(struct node *node, const struct boot_roster *roster);

/** Readable if neighbours_poll() has something to do; -1: there is nothing. */
int neighbours_fd(struct node *node);

/** From the service thread, outside the node lock. */
void neighbours_poll(struct node *node);

/** From the service thread, several times a second. */
void neighbours_tick(struct node *node);

#endif

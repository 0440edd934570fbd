// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SERVICE_H
#define RUNTIME_SERVICE_H

#include "base/status.h"

struct node;

/* The service thread, and what workers do when they have nothing to run. */

// ---- service.c

/** @param end_process  what it does when the run is over for this node: finish_now() */
tm_status service_start(struct node *node,
                        void (*end_process)(struct node *node));
/** The service thread ends. */
void service_join(struct node *node);
/** Nobody wakes it any more. */
void service_close(struct node *node);

// ---- idle_polling.c

/** Find out how polling is to be. Before there are other kernel threads. */
void polling_start(struct node *node);

/** Do senders ring this node only if nobody polls? Then a worker that polls says
 * so, and nobody need come by. */
int polling_has_doorbell(struct node *node);

/** Is there no thread that could run? */
int polling_all_idle(struct node *node);

/** Do what the machine of attendance says. Without the node lock.
 * @param actions  a set of enum attendance_action */
void polling_carry_out(struct node *node, unsigned actions);

/** What a worker does when it has nothing to run. */
int service_idle(void *owner, unsigned worker);

// ---- worker_affinity.c

/** Find out whether the workers of this run have an affinity: before the other
 * functions. Context: the program's start. */
void worker_affinity_open(struct node *node);

/** A worker that has nothing to run goes back to the processor that it has an affinity
 * for, if it has one and has not tried just now. Context: that worker. */
void worker_affinity_keep(struct node *node, unsigned worker);

#endif

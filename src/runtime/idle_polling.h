// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_IDLE_POLLING_H
#define RUNTIME_IDLE_POLLING_H

struct node;
/** So long somebody polls for more after something has come. */
#define POLLING_SPIN_NS (100 * 1000u)

/** Longer polling is long. */
#define POLLING_LONG_NS (80 * 1000u)

/** Find out how polling is to be. Before there are other kernel threads. */
void polling_start(struct node *node);

/** Do senders ring this node only if nobody polls? Then a worker that polls says
 * so, and nobody need come by. */
int polling_has_doorbell(struct node *node);

/** Does a worker poll the network? */
int polling_is_on(struct node *node);

/** Is there no thread that could run? */
int polling_all_idle(struct node *node);

/** The service thread polls periodically from now on; or no longer does. Then it
 * lets the transport make progress before it sleeps. Context: that thread. */
void polling_begin_periodic(struct node *node);
void polling_end_periodic(struct node *node);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_LOOK_H
#define RUNTIME_LOOK_H

struct node;
/** So long somebody looks for more after something has come. */
#define LOOK_SPIN_NS (100 * 1000u)

/** A longer look is a long one. */
#define LOOK_LONG_NS (80 * 1000u)

/** Find out how looks are to be. Before there are other kernel threads. */
void look_start(struct node *node);

/** Do senders ring this node only if nobody looks? Then a worker that looks says
 * so, and nobody need come by. */
int look_is_rung(struct node *node);

/** Does a worker look at the network? */
int look_is_on(struct node *node);

/** Is there no thread that could run? */
int look_all_idle(struct node *node);

/** The service thread comes by now and then from now on; or no longer does. Then it
 * lets the transport make progress before it sleeps. Context: that thread. */
void look_begin_patrol(struct node *node);
void look_end_patrol(struct node *node);

#endif

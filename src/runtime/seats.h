// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SEATS_H
#define RUNTIME_SEATS_H

struct node;
/** Find out whether this run has seats: before the other functions. Context: the
 * program's start. */
void seats_open(struct node *node);

/** A worker that has nothing to run goes to its seat, if it has one and has not
 * tried just now. Context: that worker. */
void seats_take_worker(struct node *node, unsigned worker);

#endif

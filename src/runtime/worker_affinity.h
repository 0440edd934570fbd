// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_WORKER_AFFINITY_H
#define RUNTIME_WORKER_AFFINITY_H

struct node;
/** Find out whether the workers of this run have an affinity: before the other
 * functions. Context: the program's start. */
void worker_affinity_open(struct node *node);

/** A worker that has nothing to run goes back to the processor that it has an affinity
 * for, if it has one and has not tried just now. Context: that worker. */
void worker_affinity_keep(struct node *node, unsigned worker);

#endif

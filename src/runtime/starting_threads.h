// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_STARTING_THREADS_H
#define RUNTIME_STARTING_THREADS_H

#include "net/roster.h"

struct node;

/** share_out of sync_ops, on the root: how many of the threads that start each node gets
 * by what is known of it (--first-mapping=known).
 * @param owner  the struct node */
int starting_shares(void *owner, const node_id *nodes, unsigned n_nodes,
                    const uint32_t *load, uint32_t n, uint32_t *counts);

/** What is known of nodes, relative to each other. Under the node lock.
 * @param ids             [n_nodes]
 * @param[out] power      [n_nodes]  of a worker
 * @param[out] n_workers  [n_nodes] */
void starting_powers(struct node *node, const node_id *ids, unsigned n_nodes,
                     double *power, uint32_t *n_workers);

#endif

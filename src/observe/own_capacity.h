// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_OWN_CAPACITY_H
#define OBSERVE_OWN_CAPACITY_H

#include "cluster/node_capacity.h"
#include "os/memory_watch.h"

/** What is declared of a node, not measured. */
struct declared {
    unsigned n_workers;
    double speed;    ///< in any unit; 0: not declared
    double share;    ///< of a processor that a worker gets; 1: all of it
    uint64_t memory; ///< bytes; 0: not declared
};

/**
 * Measure what this node has to offer. What cannot be measured stays 0.
 *
 * @param watch  opened
 * Context: any kernel thread; computes for 1 to 5 ms, reads files.
 */
void capacity_measure(struct node_capacity *capacity,
                      const struct declared *declared,
                      const struct memory_watch *watch);

#endif

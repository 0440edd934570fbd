// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_METER_H
#define RUNTIME_METER_H

#include <stdatomic.h>
#include <stdint.h>

struct node;
struct thread;

/* What faults take, by clocks that are read as seldom as will do. */

/** Of a node. Any thread. */
struct meter {
    uint64_t trap_ns;             ///< trap_cost_measure()
    _Atomic uint64_t wait_ns;     ///< for pages of other nodes, all threads
    _Atomic uint64_t usual_ns[2]; ///< a fault's processor time; if it pages
};

/** A fault that is handled: when it began, by the clocks that are read for it; 0: not
 * read. */
struct fault_clock {
    uint64_t wall_ns;
    uint64_t cpu_ns;
};

/** What a fault had to do with memory that is short. */
struct fault_paging {
    uint64_t waited_ns; ///< until the page was in memory, or there was room
    uint64_t
        taken_ns; ///< when the kernel was found to have taken it; 0: it has not
    int is_cause; ///< the node is short of memory, and the page was there: what it
                  ///< has cost comes from that
};

/** @return processor time of this kernel thread since then, without the reading of the
 * clock */
uint64_t meter_cpu_since(const struct node *node, uint64_t began_ns);

/** The calling thread has faulted. */
struct fault_clock meter_begin(const struct node *node, struct thread *thread);

/** It has been handled, but for waiting for other nodes: note what that took. */
void meter_end(struct node *node, struct thread *thread,
               const struct fault_clock *clock,
               const struct fault_paging *paging);

/** It has waited since then for another node's page. @param began_ns  by the clock */
void meter_note_wait(struct node *node, uint64_t began_ns);

#endif

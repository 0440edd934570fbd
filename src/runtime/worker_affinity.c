// SPDX-License-Identifier: BSD-3-Clause
//
// Where nodes of one machine have as many workers as there are processors, or
// nearly so, each worker has an affinity for a processor of its own.
//
// The kernel may put two workers on one processor, when the program starts or when
// one is woken. It notices soon if both compute. It does not if they wait for each
// other at barriers: none of them is ready to run for long, and the other
// processor is not idle for long enough to look for work, because service threads
// poll there. Barriers of two nodes then took 25 to 150 us instead of 1.5, in one
// run of five.
//
// An affinity is a preference: nobody is bound to the processor. The kernel may move a
// thread for a reason we do not know; so it goes back when it has nothing to do, and not
// more often than every SETTLE_NS.
#include "runtime/service.h"

#include "base/clock.h"
#include "os/processor.h"
#include "runtime/node.h"

#define SETTLE_NS (20 * 1000 * 1000u)

// Of the calling kernel thread.
struct worker_affinity {
    int is_known;
    unsigned processor;
    uint64_t settled_ns;
};

// With processors to spare the kernel finds better places than we do.
void worker_affinity_open(struct node *node)
{
    unsigned n_workers =
        capacity_n_beside(node, node->n_nodes) * node->n_workers;
    unsigned n = processor_count();

    node->has_worker_affinity =
        node->n_nodes > 1 && n_workers <= n && 2 * n_workers > n;
}

// @param index  of the processor among all
static void return_to_own(struct node *node, struct worker_affinity *affinity,
                          unsigned index)
{
    uint64_t now_ns;

    if (!node->has_worker_affinity) {
        return;
    }
    if (!affinity->is_known) {
        affinity->processor = processor_nth(index);
        affinity->is_known = 1;
    }
    if (processor_self() == affinity->processor) {
        return;
    }
    now_ns = clock_now_ns();
    if (now_ns - affinity->settled_ns >= SETTLE_NS) {
        affinity->settled_ns = now_ns;
        processor_visit(affinity->processor);
    }
}

void worker_affinity_keep(struct node *node, unsigned worker)
{
    static _Thread_local struct worker_affinity affinity
        __attribute__((tls_model("initial-exec")));

    return_to_own(node, &affinity,
                  capacity_n_beside(node, node->self) * node->n_workers +
                      worker);
}

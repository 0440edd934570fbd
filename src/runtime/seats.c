// SPDX-License-Identifier: BSD-3-Clause
//
// Where nodes of one machine have as many workers as there are processors, or
// nearly so, each worker has a processor of its own that it prefers, its seat.
//
// The kernel may put two workers on one processor, when the program starts or when
// one is woken. It notices soon if both compute. It does not if they wait for each
// other at barriers: none of them is ready to run for long, and the other
// processor is not idle for long enough to look for work, because service threads
// patrol there. Barriers of two nodes then took 25 to 150 us instead of 1.5, in one
// run of five.
//
// A seat is a preference: nobody is bound to it. The kernel may move a thread for
// a reason we do not know; so it goes back when it has nothing to do, and not more
// often than every SETTLE_NS.
#include "runtime/seats.h"

#include "base/clock.h"
#include "os/processor.h"
#include "runtime/node.h"

#define SETTLE_NS (20 * 1000 * 1000u)

// Of the calling kernel thread.
struct seat {
    int is_known;
    unsigned processor;
    uint64_t settled_ns;
};

// With processors to spare the kernel finds better places than we do.
void seats_open(struct node *node)
{
    unsigned n_workers =
        capacity_n_beside(node, node->n_nodes) * node->n_workers;
    unsigned n = processor_count();

    node->has_seats = node->n_nodes > 1 && n_workers <= n && 2 * n_workers > n;
}

// @param index  of the seat among the processors
static void take(struct node *node, struct seat *seat, unsigned index)
{
    uint64_t now_ns;

    if (!node->has_seats) {
        return;
    }
    if (!seat->is_known) {
        seat->processor = processor_nth(index);
        seat->is_known = 1;
    }
    if (processor_self() == seat->processor) {
        return;
    }
    now_ns = clock_now_ns();
    if (now_ns - seat->settled_ns >= SETTLE_NS) {
        seat->settled_ns = now_ns;
        processor_visit(seat->processor);
    }
}

void seats_take_worker(struct node *node, unsigned worker)
{
    static _Thread_local struct seat seat
        __attribute__((tls_model("initial-exec")));

    take(node, &seat,
         capacity_n_beside(node, node->self) * node->n_workers + worker);
}

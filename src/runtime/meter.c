// SPDX-License-Identifier: BSD-3-Clause
//
// What faults take. The scheme compares what threads compute, so the processor time
// that goes to handling their faults is taken off (iteration.c), and what too little
// memory costs is counted for each thread (thread_paging.c).
//
// Reading processor time is a system call: it is read in one fault in so many, no
// divisor of usual numbers of pages, and the others are taken to be like these. A
// thread's first faults are measured more often, for the very first take longer; and so is
// each of a thread that pages: its faults take many times what it computes between them,
// one unlike the other, so that a mean of few would leave anything of that.
//
// What the kernel takes for a trap no clock of the handler sees: it is measured once, at
// the start.
//
// On a node that emulates a slow one each nanosecond counts several times: there it is
// read in every fault, and nothing else.
#include "runtime/meter.h"

#include "base/clock.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/threads.h"

#define MEASURED 61u
#define MEASURED_EARLY 8u
#define EARLY 64u

static int is_measured(struct thread *thread)
{
    const uint64_t n = thread->n_faults++;

    return thread->pages || n % (n < EARLY ? MEASURED_EARLY : MEASURED) == 0;
}

struct fault_clock meter_begin(const struct node *node, struct thread *thread)
{
    if (node->options.share < 1) {
        return (struct fault_clock){.cpu_ns = clock_thread_cpu_ns()};
    }
    return (struct fault_clock){
        .wall_ns = clock_now_ns(),
        .cpu_ns = is_measured(thread) ? clock_thread_cpu_ns() : 0,
    };
}

uint64_t meter_cpu_since(const struct node *node, uint64_t began_ns)
{
    const uint64_t clock_ns = node->iteration.clock_ns;
    const uint64_t ns = clock_thread_cpu_ns() - began_ns;

    return ns > clock_ns ? ns - clock_ns : 0;
}

// What handling a fault took of the processor. Not what it took by the clock: others
// have the processor and the node lock meanwhile.
// @param pages  whether it had to do with memory that is short: these take longer
static uint64_t handling_ns(struct node *node, const struct fault_clock *clock,
                            int pages)
{
    _Atomic uint64_t *usual_ns = &node->meter.usual_ns[pages != 0];
    uint64_t mean_ns;
    uint64_t ns;

    if (node->options.share < 1) {
        return node_slowed_ns(node, clock_thread_cpu_ns() - clock->cpu_ns +
                                        node->meter.trap_ns);
    }
    mean_ns = atomic_load_explicit(usual_ns, memory_order_relaxed);
    if (clock->cpu_ns == 0) {
        return mean_ns + node->meter.trap_ns;
    }
    ns = meter_cpu_since(node, clock->cpu_ns);
    atomic_store_explicit(usual_ns, mean_ns == 0 ? ns : (7 * mean_ns + ns) / 8,
                          memory_order_relaxed);
    return ns + node->meter.trap_ns;
}

void meter_end(struct node *node, struct thread *thread,
               const struct fault_clock *clock,
               const struct fault_paging *paging)
{
    uint64_t handled_ns;

    thread->pages = paging->is_cause || paging->waited_ns > 0;
    handled_ns = handling_ns(node, clock, thread->pages);
    thread->handling_ns += handled_ns;
    if (paging->is_cause) {
        paging_note_cost(node, thread,
                         node->options.share < 1
                             ? paging->waited_ns + handled_ns
                             : clock_now_ns() - clock->wall_ns +
                                   node->meter.trap_ns);
    }
}

void meter_note_wait(struct node *node, uint64_t began_ns)
{
    atomic_fetch_add_explicit(&node->meter.wait_ns, clock_now_ns() - began_ns,
                              memory_order_relaxed);
}

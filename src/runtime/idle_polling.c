// SPDX-License-Identifier: BSD-3-Clause
//
// Idle polling: a worker that has nothing to run polls the network itself for a while
// (service.c says why). While it does, nobody need wake this node.
//
// If senders ring (net/doorbell.h), they are told: polling begins and ends with the
// transport's note_polling(). Not so between short polling, such as at barriers one
// after the other: a thread runs for a microsecond, and whoever sends something meanwhile
// would ring. The worker then leaves the end of its polling to the service thread, if
// that polls periodically, and takes it back when it polls again.
//
//     none --begin--> polling --stop, long, or nobody polls periodically--> none
//                     polling --stop, short, polled periodically--> left
//                     left --begin--> polling
//                     left --end of periodic polling--> none
//
// L1  Whoever ends polling lets the transport make progress afterwards: what came
//     before has rung nobody.
// L2  `is_polling_left` is written before `is_polled_periodically` is read by who leaves
//     its polling, and the other way round by who ends the periodic polling: one of them
//     sees it.
#include "runtime/service.h"

#include <sched.h>

#include "base/clock.h"
#include "os/processor.h"
#include "runtime/node.h"
#include "runtime/paging.h"

#define LONG_SPIN_NS (2 * 1000 * 1000u)
#define CROWDED_NS (50 * 1000u)
#define LOST_NS (1000 * 1000u)
#define CROWDED_FOR_NS (500 * 1000 * 1000u)
#define SHORT_POLLING_NS (30 * 1000u)

int polling_all_idle(struct node *node)
{
    unsigned n_threads;
    unsigned n_parked;

    ult_census(node->ult, &n_threads, &n_parked);
    return n_threads == n_parked;
}

void polling_start(struct node *node)
{
    node->spins = node->n_nodes > 1 &&
                  capacity_n_beside(node, node->n_nodes) * node->n_workers <=
                      processor_count();
}

// Do senders wake this node only if nobody polls? Then a worker that polls says so, and
// nobody polls periodically.
int polling_has_doorbell(struct node *node)
{
    return node->spins && node->transport->has_doorbell(node->net);
}

int polling_is_on(struct node *node)
{
    return atomic_load_explicit(&node->polling_since_ns,
                                memory_order_relaxed) != 0;
}

// ---- periodic polling, by the service thread

// A worker that stops polling leaves that to a service thread that polls periodically; and
// it may come back first.
static int take_over_polling(struct node *node)
{
    return atomic_exchange(&node->is_polling_left, 0);
}

void polling_begin_periodic(struct node *node)
{
    atomic_store(&node->is_polled_periodically, 1);
}

void polling_end_periodic(struct node *node)
{
    if (atomic_load_explicit(&node->is_polled_periodically,
                             memory_order_relaxed)) {
        atomic_store(&node->is_polled_periodically, 0);
        if (take_over_polling(node)) {
            node->transport->note_polling(node->net, 0);
        }
    }
}

// @return 1 periodic polling will notice that no worker polls any more
static int leave_polling(struct node *node)
{
    if (atomic_exchange(&node->is_polling_left, 1)) {
        return 0; // another worker's
    }
    return atomic_load(&node->is_polled_periodically) ||
           !take_over_polling(node);
}

// ---- workers

static void poll_once(struct node *node)
{
    if (mutex_trylock(&node->lock)) { // else somebody else is at it
        node->transport->progress(node->net);
        (void)paging_poll(node);
        node_leave(node);
    }
}

static void note_crowd(struct node *node, uint64_t now_ns)
{
    atomic_store_explicit(&node->crowded_until_ns, now_ns + CROWDED_FOR_NS,
                          memory_order_relaxed);
}

static int is_crowded(struct node *node, uint64_t now_ns)
{
    return now_ns <=
           atomic_load_explicit(&node->crowded_until_ns, memory_order_relaxed);
}

// Give way to others on this processor, where processors are scarce. Who asks for
// it keeps it for milliseconds, and to be woken is faster than that: then no more
// of it for a while. The same if somebody took it between two polls.
// @return the time afterwards
static uint64_t give_way(struct node *node, uint64_t now_ns)
{
    const uint64_t most_ns = node->spins ? LOST_NS : CROWDED_NS;
    uint64_t then_ns;

    if (node->spins) {
        __builtin_ia32_pause();
    } else {
        sched_yield();
    }
    then_ns = clock_now_ns();
    if (then_ns - now_ns > most_ns) {
        note_crowd(node, then_ns);
    }
    return then_ns;
}

// Until when may a worker that has nothing to run keep its processor busy?
static uint64_t poll_until_ns(struct node *node, uint64_t now_ns)
{
    if (node->n_nodes < 2) {
        return now_ns;
    }
    if (is_crowded(node, now_ns)) {
        return node->spins ? now_ns + POLLING_SPIN_NS : now_ns;
    }
    return now_ns + (node->spins ? LONG_SPIN_NS : POLLING_SPIN_NS);
}

static void begin_polling(struct node *node, uint64_t now_ns)
{
    uint64_t none = 0;

    if (!take_over_polling(node)) {
        node->transport->note_polling(node->net, 1);
    }
    atomic_compare_exchange_strong_explicit(&node->polling_since_ns, &none,
                                            now_ns, memory_order_relaxed,
                                            memory_order_relaxed);
}

// Senders ring from now on. Not at once after short polling, if that is noticed later:
// more often follow, with messages between.
static void stop_polling_with_doorbell(struct node *node, uint64_t since_ns,
                                       uint64_t now_ns)
{
    if (now_ns < since_ns + SHORT_POLLING_NS) {
        atomic_store_explicit(&node->polled_short_ns, now_ns,
                              memory_order_relaxed);
        if (leave_polling(node)) {
            return;
        }
    }
    node->transport->note_polling(node->net, 0);
    node_enter_serving(
        node); // not only if nobody has the lock: note_polling()'s promise
    node->transport->progress(node->net);
    node_leave(node);
}

static void stop_polling(struct node *node, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t first_ns = atomic_exchange_explicit(&node->polling_since_ns, 0,
                                                 memory_order_relaxed);

    if (polling_has_doorbell(node)) {
        stop_polling_with_doorbell(node, since_ns, now_ns);
    } else {
        node->transport->note_polling(node->net, 0);
        if (first_ns != 0 && now_ns > first_ns + POLLING_LONG_NS) {
            node_wake_service(node);
        }
    }
}

int service_idle(void *owner, unsigned worker)
{
    struct node *node = owner;
    const uint64_t since_ns = clock_now_ns();
    const uint64_t until_ns = poll_until_ns(node, since_ns);
    uint64_t now_ns = since_ns;

    worker_affinity_keep(node, worker);
    if (polling_all_idle(node)) {
        node_enter_serving(node);
        if (!atomic_load_explicit(&node->is_frozen, memory_order_relaxed)) {
            sync_poll(node->sync, 1);
        }
        node_leave(node);
    }
    if (node->spins) {
        begin_polling(node, now_ns);
    }
    poll_once(node);
    while (now_ns < until_ns && (node->spins || !is_crowded(node, now_ns)) &&
           !ult_is_wanted(node->ult, worker)) {
        atomic_store_explicit(&node->polled_ns, now_ns, memory_order_relaxed);
        poll_once(node);
        now_ns = give_way(node, now_ns);
    }
    if (node->spins) {
        stop_polling(node, since_ns, now_ns);
    }
    return ult_is_wanted(node->ult, worker);
}

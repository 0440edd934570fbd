// SPDX-License-Identifier: BSD-3-Clause
//
// Idle polling: a worker that has nothing to run polls the network itself for a while;
// attendance.c says why, how long, and who is told. Where processors are scarcer than
// workers it offers its own to others between two polls. Where there are processors for
// all, it polls as long as an iteration may last: whoever sleeps is woken by an interrupt
// from another processor, which on a virtual machine takes 40 us.
//
// A node without others has no network to poll, but a worker waits for the others of its
// node just so: they make its threads runnable, at a barrier or by a mutex.
#include "runtime/service.h"

#include <sched.h>

#include "base/clock.h"
#include "os/processor.h"
#include "runtime/node.h"
#include "runtime/paging.h"

#define ALONE_SPIN_NS (2 * 1000 * 1000u)

int polling_all_idle(struct node *node)
{
    unsigned n_threads;
    unsigned n_parked;

    ult_census(node->ult, &n_threads, &n_parked);
    return n_threads == n_parked;
}

void polling_start(struct node *node)
{
    const int has_processors =
        capacity_n_beside(node, node->n_nodes) * node->n_workers <=
        processor_count();

    node->attendance.spins = has_processors && node->n_nodes > 1;
    node->attendance.is_alone = has_processors && node->n_nodes < 2;
}

int polling_has_doorbell(struct node *node)
{
    return node->attendance.spins && node->transport->has_doorbell(node->net);
}

void polling_carry_out(struct node *node, unsigned actions)
{
    if (actions & (ATTENDANCE_MUTE | ATTENDANCE_UNMUTE)) {
        node->transport->note_polling(node->net,
                                      (actions & ATTENDANCE_MUTE) != 0);
    }
    if (actions & ATTENDANCE_RECHECK) { // not only if nobody has the lock
        node_enter_serving(node);
        node->transport->progress(node->net);
        node_leave(node);
    }
    if (actions & ATTENDANCE_WAKE) {
        node_wake_service(node);
    }
}

static void poll_once(struct node *node)
{
    if (mutex_trylock(&node->lock)) { // else somebody else is at it
        node->transport->progress(node->net);
        (void)paging_poll(node);
        node_leave(node);
    }
}

// @return the time afterwards
static uint64_t give_way(struct node *node, uint64_t now_ns)
{
    uint64_t then_ns;

    if (node->attendance.spins) {
        __builtin_ia32_pause();
    } else {
        sched_yield();
    }
    then_ns = clock_now_ns();
    attendance_note_gap(&node->attendance, now_ns, then_ns);
    return then_ns;
}

// @return when a worker of a node without others has waited long enough for its other
//         workers; at once if there is none, or no processor for each
static uint64_t alone_until_ns(const struct node *node, uint64_t now_ns)
{
    return node->n_workers < 2 || !node->attendance.is_alone
               ? now_ns
               : now_ns + ALONE_SPIN_NS;
}

static void wait_for_workers(struct node *node, unsigned worker)
{
    uint64_t now_ns = clock_now_ns();
    const uint64_t until_ns = alone_until_ns(node, now_ns);

    while (!ult_is_wanted(node->ult, worker) &&
           attendance_polls(&node->attendance, now_ns, until_ns)) {
        const uint64_t before_ns = now_ns;

        __builtin_ia32_pause();
        now_ns = clock_now_ns();
        attendance_note_gap(&node->attendance, before_ns, now_ns);
    }
}

// @return of service_idle(): give_way() does so only without processors for all
static int answer_of(const struct node *node, unsigned worker)
{
    const int stays_awake = node->attendance.spins || node->attendance.is_alone;

    return !ult_is_wanted(node->ult, worker) ? 0
           : stays_awake                     ? ULT_STAYED_AWAKE
                                             : 1;
}

int service_idle(void *owner, unsigned worker)
{
    struct node *node = owner;
    struct attendance *attendance = &node->attendance;
    const uint64_t since_ns = clock_now_ns();
    const uint64_t until_ns = attendance_poll_until_ns(attendance, since_ns);
    uint64_t now_ns = since_ns;

    worker_affinity_keep(node, worker);
    if (polling_all_idle(node)) {
        node_enter_serving(node);
        if (!atomic_load_explicit(&node->is_frozen, memory_order_relaxed)) {
            sync_poll(node->sync, 1);
        }
        node_leave(node);
    }
    if (node->n_nodes < 2) {
        poll_once(node);
        wait_for_workers(node, worker);
        return answer_of(node, worker);
    }
    polling_carry_out(node, attendance_begin_polling(attendance, now_ns));
    poll_once(node);
    while (!ult_is_wanted(node->ult, worker) &&
           attendance_polls(attendance, now_ns, until_ns)) {
        poll_once(node);
        now_ns = give_way(node, now_ns);
    }
    polling_carry_out(node, attendance_end_polling(attendance,
                                                   polling_has_doorbell(node),
                                                   since_ns, now_ns));
    return answer_of(node, worker);
}

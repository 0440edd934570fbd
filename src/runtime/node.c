// SPDX-License-Identifier: BSD-3-Clause
//
// The node lock, and how threads wait for what happens under it.
//
// A thread that needs something takes the lock, calls a state machine (engine,
// sync) with a waiter on its own stack, gives the lock back, and parks. Whoever
// handles the answer, the service thread or another worker, wakes the waiter
// under the lock and unparks the thread.
//
// Messages that a node sends itself are handled before the lock is given back,
// by whoever sent them: an operation that needs no other node is over when
// node_leave() returns.
//
// N1 The lock is held by kernel threads, never across a switch of threads, and
//    never while the program's view of shared memory is touched.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/deadlock.h"
#include "runtime/distribution.h"
#include "runtime/finish.h"
#include "runtime/iteration.h"
#include "runtime/lifesigns.h"
#include "runtime/members.h"
#include "runtime/paging.h"
#include "runtime/report.h"
#include "runtime/runtime.h"
#include "runtime/statics.h"
#include "runtime/stats.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <stddef.h>

struct runtime runtime;

void node_enter_serving(void)
{
    mutex_lock(&runtime.lock);
}

void node_enter(void)
{
    mutex_lock(&runtime.lock);
    if (__builtin_expect(
            atomic_load_explicit(&runtime.is_frozen, memory_order_relaxed),
            0)) {
        members_wait();
    }
}

int node_enter_to_ask(unsigned node)
{
    node_enter();
    if (node < TM_MAX_NODES &&
        roster_has(&runtime.port.roster, (node_id)node)) {
        return 1;
    }
    node_leave();
    return 0;
}

void node_leave(void)
{
    engine_let_go(runtime.engine);
    while (runtime.n_to_self > 0) {
        runtime.transport->progress(runtime.net);
    }
    engine_finish_batch(runtime.engine);
    if (runtime.paging.pager != NULL) {
        pager_settle(runtime.paging.pager);
    }
    mutex_unlock(&runtime.lock);
}

static void wake(struct waiter *waiter)
{
    struct wait *wait =
        (struct wait *)((char *)waiter - offsetof(struct wait, waiter));
    struct ult *ult = wait->ult; // the wait may be gone after the store
    struct thread *thread = ult_user(ult);

    thread->end_key = 0;
    // Pairs with the load in wait_for().
    atomic_store_explicit(&wait->is_done, 1, memory_order_release);
    ult_unpark(ult);
}

void wait_init(struct wait *wait)
{
    *wait = (struct wait){.ult = ult_self(), .waiter = {.wake = wake}};
    wait->waiter.thread = thread_self()->number;
    wait->waiter.place = thread_self()->place;
}

void wait_for(struct wait *wait, int may_switch)
{
    // A handler of the program's own, on a stack that the next signal would use.
    may_switch = may_switch &&
                 !trap_is_on_own_stack((uintptr_t)__builtin_frame_address(0));
    // Pairs with the store in wake(). Ends when the answer comes, or the run.
    while (!atomic_load_explicit(&wait->is_done, memory_order_acquire)) {
        ult_park(may_switch);
    }
}

struct thread *thread_self(void)
{
    struct ult *ult = ult_self();

    return ult == NULL ? NULL : ult_user(ult);
}

tm_status check_call(const char *function, uintptr_t place)
{
    struct thread *thread = thread_self();

    if (node_step() == RUNTIME_FORKED) {
        log_error("%s() in a child of fork(): it is no part of the cluster; "
                  "exec*() and _exit() work",
                  function);
        return TM_ESTATE;
    }
    while (node_step() == RUNTIME_ENDED && node_is_finishing()) {
        pause(); // another node has ended the run: finish_now() ends the process
    }
    if (node_step() != RUNTIME_RUNNING) {
        log_error("%s() %s", function,
                  node_step() == RUNTIME_ENDED ? "after tm_end()"
                                               : "before tm_init()");
        return TM_ESTATE;
    }
    if (thread == NULL) {
        log_error("%s() outside a Teamster thread: kernel threads made with "
                  "pthread_create() cannot call it",
                  function);
        return TM_ESTATE;
    }
    thread->place = place;
    node_pay();
    return TM_OK;
}

static void send(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    if (runtime.members.has_left[to] ||
        runtime.members.has_left[runtime.self]) {
        return; // it is over with it, or with this node
    }
    if (to == runtime.self) {
        runtime.n_to_self++;
    } else {
        runtime.iteration.sent_bytes[to] += message_size(message);
    }
    runtime.n_sent += !membership_is_aside(message->type);
    runtime.transport->send(runtime.net, to, message);
}

static uint64_t now_ns(void *owner)
{
    (void)owner;
    return clock_now_ns();
}

tm_status node_open_port(void)
{
    runtime.port = (struct port){
        .self = runtime.self,
        .send = send,
        .now_ns = now_ns,
    };
    roster_init(&runtime.port.roster, runtime.n_nodes);
    return TM_OK;
}

static tm_status receive_runtime(node_id from, const struct message *message)
{
    switch (message->type) {
    case MESSAGE_stats_ask:
    case MESSAGE_stats_are:
        stats_receive(from, message);
        return TM_OK;
    case MESSAGE_thread_stats_ask:
    case MESSAGE_thread_stats_are:
        thread_paging_receive(from, message);
        return TM_OK;
    case MESSAGE_iteration:
        return distribution_receive(from, message);
    case MESSAGE_iteration_mode:
        iteration_receive_mode(message);
        return TM_OK;
    case MESSAGE_pages_soon:
    case MESSAGE_pages_unused:
        return pages_receive(runtime.pages, message);
    case MESSAGE_probe:
    case MESSAGE_costs:
        return statics_receive(from, message);
    case MESSAGE_paging_ask:
        return paging_receive(message);
    case MESSAGE_beat: // its sender has been heard
        lifesigns_hear_launcher(message->u.beat.launcher);
        return TM_OK;
    case MESSAGE_track:
        return tracking_receive(from, message);
    case MESSAGE_track_set:
    case MESSAGE_track_done:
        return tracking_collect(from, message);
    case MESSAGE_finish:
        finish_receive(message);
        return TM_OK;
    case MESSAGE_change_step:
    case MESSAGE_change_state:
    case MESSAGE_leave_ask:
        return membership_receive(runtime.members.machine, from, message);
    default:
        deadlock_receive(from, message);
        return TM_OK;
    }
}

static void refuse(node_id from, const struct message *message,
                   tm_status status)
{
    if (runtime.n_refused++ < LOG_REFUSED_MAX) {
        log_error("message %s from node %u is refused: %s",
                  message_name(message->type), from, tm_strerror(status));
    }
}

// Does a message show that something happens? (D1 of deadlock.c)
static int is_activity(enum message_type type)
{
    return (type < MESSAGE_idle || sync_takes(type)) &&
           type != MESSAGE_barrier_check;
}

void node_receive(void *owner, node_id from, const struct message *message)
{
    tm_status status;

    (void)owner;
    if (from == runtime.self) {
        runtime.n_to_self--;
    }
    if (planned_takes(&runtime.planned, message)) {
        return;
    }
    runtime.activity += is_activity(message->type);
    runtime.n_received += !membership_is_aside(message->type);
    lifesigns_hear(from);
    if (message->type < 40) {
        status = engine_receive(runtime.engine, from, message);
    } else if (message->type == MESSAGE_thread_move ||
               message->type == MESSAGE_thread_stack) {
        status = migration_receive(runtime.migration, from, message);
    } else if (sync_takes(message->type)) {
        status = sync_receive(runtime.sync, from, message);
    } else {
        status = receive_runtime(from, message);
    }
    if (status != TM_OK) {
        refuse(from, message, status);
    } else if (message->type == MESSAGE_extent_close) {
        freed_note(message);
    }
}

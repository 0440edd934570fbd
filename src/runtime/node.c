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
#include "runtime/node.h"
#include "base/clock.h"
#include "base/log.h"
#include "os/kthread.h"
#include "protocol/protocol_calls.h"
#include "runtime/threads.h"
#include "runtime/unchanged.h"

#include <stddef.h>
#include <unistd.h>

struct node this_node;

// Sleepers look now and then, should a wake-up be lost.
#define FROZEN_LOOK_NS (100 * 1000 * 1000u)

// ---- what is sent

static void send_bundle(struct node *node)
{
    const node_id to = node->bundle.to;
    struct message message;

    bundle_take(&node->bundle, &message);
    node->transport->send(node->net, to, &message);
}

// Another message to that node follows, or has come before: both in one frame.
static void send_along(struct node *node, node_id to,
                       const struct message *message)
{
    struct bundle *bundle = &node->bundle;

    if (bundle->n > 0 && !bundle_takes(bundle, to, message)) {
        send_bundle(node); // B1
    }
    if (bundle->n == 0 &&
        !(message->goes_along && bundle_takes(bundle, to, message))) {
        node->transport->send(node->net, to, message);
        return;
    }
    bundle_add(bundle, to, message);
    if (!message->goes_along) {
        send_bundle(node);
    }
}

static void send(void *owner, node_id to, const struct message *message)
{
    struct node *node = owner;

    if (node->members.has_left[to] || node->members.has_left[node->self]) {
        return; // it is over with it, or with this node
    }
    node->n_sent += !membership_is_aside(message->type);
    if (to == node->self) {
        node->n_to_self++;
        node->transport->send(node->net, to, message);
        return;
    }
    if (node->has_detector && message->type != MESSAGE_beat) {
        detector_sent(&node->detector, to);
    }
    node->iteration.sent_bytes[to] += message_size(message);
    if (message->goes_along || node->bundle.n > 0) {
        send_along(node, to, message);
    } else {
        node->transport->send(node->net, to, message);
    }
}

static uint64_t now_ns(void *owner)
{
    (void)owner;
    return clock_now_ns();
}

tm_status node_open_port(struct node *node)
{
    node->port = (struct port){
        .self = node->self,
        .owner = node,
        .send = send,
        .now_ns = now_ns,
    };
    roster_init(&node->port.roster, node->n_nodes);
    return TM_OK;
}

// ---- the lock

void node_enter_serving(struct node *node)
{
    mutex_lock(&node->lock);
}

// Until nodes do not come or go any more; the lock is given back meanwhile.
static void stand_still(struct node *node)
{
    while (node_is_frozen(node)) {
        mutex_unlock(&node->lock);
        kthread_wait(&node->is_frozen, 1, FROZEN_LOOK_NS);
        mutex_lock(&node->lock);
    }
}

void node_enter(struct node *node)
{
    mutex_lock(&node->lock);
    if (__builtin_expect(node_is_frozen(node), 0)) {
        stand_still(node);
    }
}

int node_enter_to_ask(struct node *node, unsigned id)
{
    node_enter(node);
    if (id < TM_MAX_NODES && roster_has(&node->port.roster, (node_id)id)) {
        return 1;
    }
    node_leave(node);
    return 0;
}

void node_leave(struct node *node)
{
    engine_let_go(node->engine);
    while (node->n_to_self > 0) {
        node->transport->progress(node->net);
    }
    engine_finish_batch(node->engine);
    if (node->paging.pager != NULL) {
        pager_settle(node->paging.pager);
    }
    if (node->bundle.n > 0) { // B2 of bundle.c
        send_bundle(node);
    }
    mutex_unlock(&node->lock);
}

void node_freeze(struct node *node, int is_frozen)
{
    atomic_store_explicit(&node->is_frozen, is_frozen != 0,
                          memory_order_relaxed); // under the node lock
    if (!is_frozen) {
        kthread_wake_all(&node->is_frozen);
    }
}

int node_is_changing(struct node *node)
{
    return node->port.roster.leaving != NODE_NONE || node_is_frozen(node);
}

void node_wake_service(struct node *node)
{
    uint64_t one = 1;
    ssize_t written = write(node->wake_fd, &one, sizeof one);

    (void)written; // full: it will wake anyway
}

void node_finish_soon(struct node *node, int exit_code)
{
    if (!node_is_finishing(node)) {
        node->exit_code = exit_code;
        // Pairs with the load in node_is_finishing().
        atomic_store_explicit(&node->is_finishing, 1, memory_order_release);
    }
}

// ---- threads that wait

static void wake(struct waiter *waiter)
{
    struct wait *wait =
        (struct wait *)((char *)waiter - offsetof(struct wait, waiter));
    struct ult *ult = wait->ult; // the wait may be gone after the store
    struct thread *thread = ult_user(ult);

    thread->end_key = 0;
    // Pairs with the load in wait_is_over().
    atomic_store_explicit(&wait->is_done, 1, memory_order_release);
    ult_unpark(ult);
}

void wait_init(struct wait *wait)
{
    *wait = (struct wait){
        .ult = ult_self(), .call = "call", .waiter = {.wake = wake}};
    wait->waiter.thread = thread_self()->number;
    wait->waiter.place = thread_self()->place;
}

int wait_is_over(const struct wait *wait)
{
    // Pairs with the store in wake().
    return atomic_load_explicit(&wait->is_done, memory_order_acquire);
}

void wait_for(struct wait *wait, int may_switch)
{
    // A handler of the program's own, on a stack that the next signal would use.
    may_switch = may_switch &&
                 !trap_is_on_own_stack((uintptr_t)__builtin_frame_address(0));
    // Ends when the answer comes, or the run.
    while (!wait_is_over(wait)) {
        ult_park(may_switch);
    }
}

void wait_begin(struct node *node, struct wait *wait)
{
    wait_init(wait);
    node_enter(node);
}

void wait_begin_call(struct node *node, struct wait *wait)
{
    wait_begin(node, wait);
    sync_thread_launch(node->sync, wait->waiter.thread);
}

tm_status wait_end(struct node *node, struct wait *wait)
{
    node_leave(node);
    wait_for(wait, 1);
    return wait->waiter.status;
}

void wait_for_release(struct node *node)
{
    struct wait wait;

    wait_begin(node, &wait);
    engine_release(node->engine, NODE_NONE, &wait.waiter);
    wait_end(node, &wait);
}

struct thread *thread_self(void)
{
    struct ult *ult = ult_self();

    return ult == NULL ? NULL : ult_user(ult);
}

struct thread *thread_find(struct node *node, uint64_t number)
{
    uint32_t slot = thread_slot_of(number);
    struct thread *thread;

    if (slot >= node_n_slots(node)) {
        return NULL;
    }
    thread = node->threads[slot];
    return thread != NULL && thread->number == number ? thread : NULL;
}

void node_await_end(const struct node *node)
{
    while (node_step(node) == RUNTIME_ENDED &&
           (node_is_finishing(node) || node->unchanged != NULL)) {
        if (node->unchanged != NULL &&
            atomic_load_explicit(&node->ender, memory_order_acquire) ==
                gettid()) {
            node->unchanged->end();
        }
        pause();
    }
}

tm_status check_call(const char *function, uintptr_t place)
{
    struct node *const node = &this_node;
    struct thread *thread = thread_self();

    if (node_step(node) == RUNTIME_FORKED) {
        log_error("%s() in a child of fork(): it is no part of the cluster; "
                  "exec*() and _exit() work",
                  function);
        return TM_ESTATE;
    }
    node_await_end(node);
    if (node_step(node) != RUNTIME_RUNNING) {
        log_error("%s() %s", function,
                  node_step(node) == RUNTIME_ENDED ? "after tm_end()"
                                                   : "before tm_init()");
        return TM_ESTATE;
    }
    if (thread == NULL) {
        // A lock that is none would be missed by those only who look.
        log_fatal(EXIT_INTERNAL,
                  "%s() outside a Teamster thread: kernel threads made with "
                  "pthread_create() cannot call it",
                  function);
    }
    if (__builtin_expect(node->prepared.is_followed, 0) &&
        thread->number == 0) {
        prepared_note_call(&node->prepared, function);
    }
    thread->place = place;
    node_pay(node);
    return TM_OK;
}

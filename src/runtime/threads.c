// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of the program: their records on this node, their beginning, end and
// moves, and the public functions of chapter 5.
//
//   threads_start     a record and a stack; run() calls the program's function
//   run -> end        the function returned: the worker frees the slot, then tells
//                     the root
//   threads_move_if_wanted -> leave   the worker packs and sends the thread, if it
//                     still is to go: nodes may have come and gone in between
//   threads_arrived   a thread comes: record and stack made of the message; it
//                     goes on inside threads_move_if_wanted() here
//
// T1 node->threads[slot] is the record of the thread in that slot here, or NULL.
// T2 A function that a thread may leave on one node and return from on another
//    keeps no pointer to anything of the node across that call. The node itself is a
//    variable of the library, which has the same address everywhere.
// T3 Between a thread's decision to go and its leaving the node lock is free: it may
//    be wanted elsewhere by then, and the node it was to go to may have left.
#include "runtime/threads.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/random.h"
#include "pages/causality.h"
#include "runtime/belongings.h"
#include "runtime/event_trace.h"
#include "runtime/node.h"
#include "runtime/parts.h"

#include <stdio.h>
#include <stdlib.h>

struct thread *thread_new(struct node *node, uint64_t number, const char *name)
{
    struct thread *thread = calloc(1, sizeof *thread);

    ensure_memory(thread != NULL);
    thread->number = number;
    thread->target = NODE_NONE;
    snprintf(thread->name, sizeof thread->name, "%s", name == NULL ? "" : name);
    ensure(node->threads[thread_slot_of(number)] == NULL); // T1
    node->threads[thread_slot_of(number)] = thread;
    return thread;
}

static void free_record(struct thread *thread)
{
    ensure(thread->claims.n == 0); // the pager would still look there
    free(thread);
}

// On the worker's stack, when the thread's own will not be used any more.
static void end(void *owner, struct ult *ult)
{
    struct node *node = owner;
    struct thread *thread = ult_user(ult);

    node_enter(node);
    node->threads[thread_slot_of(thread->number)] = NULL;
    parts_thread_left(node, thread);
    ult_forget(ult);
    sync_thread_exit(node->sync, thread->number, thread->result);
    node_leave(node);
    free_record(thread);
}

// The caller is about to end. It may move meanwhile.
static void part_with_belongings(void)
{
    const struct arena *arena = ult_arena(ult_self());
    const struct belongings *own = arena == NULL ? NULL : arena_root(arena);

    if (own != NULL) {
        own->end();
    }
}

// The calling thread's end.
static _Noreturn void finish(struct node *node, void *result)
{
    struct thread *thread;

    part_with_belongings();
    thread = thread_self();
    tasking_check_end(node, thread, "ended");
    thread->result = (uint64_t)(uintptr_t)result;
    node_pay(node);
    node_enter(node);
    sync_thread_launch(node->sync, thread->number);
    node_leave(node);
    ult_suspend(end, node);
    ensure(!"a thread that has ended goes on");
    abort();
}

// The program's functions run in here: nothing of it may be kept in registers
// across the call but the argument.
static void run(void *argument)
{
    struct node *const node = &this_node;
    struct thread *thread = argument;
    void *(*start)(void *) = (void *(*)(void *))(uintptr_t)thread->start;
    void *result = start((void *)(uintptr_t)thread->arg);

    if (node_step(node) == RUNTIME_FORKED) {
        exit(0); // a child of fork(), whose only thread has ended
    }
    finish(node, result); // T2: its record is another one, if it has moved
}

tm_status threads_start(void *owner, uint64_t number, uint64_t start,
                        uint64_t arg, const char *name)
{
    struct node *node = owner;
    struct thread *thread;
    tm_status status;

    if (node->threads[thread_slot_of(number)] != NULL) {
        return TM_EWIRE; // T1
    }
    thread = thread_new(node, number, name);
    thread->n_barriers = sync_most_counted(node->sync);
    thread->start = start;
    thread->arg = arg;
    status = ult_spawn(node->ult, thread_slot_of(number), run, thread, thread,
                       &thread->ult);
    if (status != TM_OK) {
        log_fatal(EXIT_MEMORY, "node %u cannot start thread %llu: %s",
                  node->self, (unsigned long long)number, tm_strerror(status));
    }
    return TM_OK;
}

int threads_set_target(void *owner, uint64_t number, node_id id)
{
    struct node *node = owner;
    struct thread *thread = thread_find(node, number);

    if (thread == NULL) {
        return 0;
    }
    thread->target = id;
    return 1;
}

tm_status threads_arrived(void *owner, const struct moved_thread *moved)
{
    struct node *node = owner;
    struct thread *thread;
    tm_status status;

    if (!ult_fits(node->ult, &moved->packed) ||
        node->threads[thread_slot_of(moved->number)] != NULL) {
        return TM_EWIRE;
    }
    thread = thread_new(node, moved->number, moved->name);
    thread->moves = moved->moves;
    thread->n_barriers = moved->n_barriers;
    thread->passed = moved->n_barriers;
    thread->noted_ns = moved->compute_ns;
    status = ult_unpack(node->ult, &moved->packed, thread, &thread->ult);
    if (status != TM_OK) {
        log_fatal(EXIT_MEMORY, "node %u cannot take thread %llu: %s",
                  node->self, (unsigned long long)moved->number,
                  tm_strerror(status));
    }
    ult_add_time(thread->ult, moved->compute_ns);
    node->n_moved_in++;
    parts_thread_arrived(node, thread);
    trace_arrival(node, thread);
    migration_pages_thread_arrived(node->pages, moved->number);
    sync_thread_arrived(node->sync, moved->number, moved->moves);
    return TM_OK;
}

// For tests: half of the threads go to a random node at each iteration end.
static void shuffle(struct node *node, struct thread *thread)
{
    uint64_t draw;

    if (node->options.shuffle == 0 || thread->number == 0) {
        return;
    }
    draw = random_next(&node->shuffle_state) >> 33;
    if (draw % 2 == 0) {
        thread->target = roster_pick(&node->port.roster, draw / 2);
    }
}

// Where a thread goes that has not been told: nowhere, unless this node leaves.
static node_id refuge(struct node *node, const struct thread *thread)
{
    return node->port.roster.leaving == node->self && thread->number != 0
               ? membership_refuge(node->members.machine)
               : NODE_NONE;
}

// Where it goes is settled. Under the node lock.
static int is_to_move(struct node *node, struct thread *thread)
{
    if (!roster_takes(&node->port.roster, thread->target)) {
        thread->target = refuge(node, thread);
    }
    if (thread->target == node->self ||
        sync_thread_holds(node->sync, thread->number) || thread->n_groups > 0) {
        thread->target = NODE_NONE;
    }
    return thread->target != NODE_NONE;
}

// On the worker's stack: the thread's context is complete.
static void leave(void *owner, struct ult *ult)
{
    struct node *node = owner;
    struct thread *thread = ult_user(ult);
    struct moved_thread moved = {
        .number = thread->number,
        .compute_ns = ult_time_ns(ult),
        .moves = thread->moves + 1,
        .n_barriers = thread->n_barriers,
        .name = thread->name,
    };

    node_enter(node);
    if (!is_to_move(node, thread)) { // any more: T3
        ult_unpark(ult);
        node_leave(node);
        return;
    }
    ult_pack(ult, &moved.packed);
    engine_order(node->engine, 0, thread->target, ORDER_MOVES);
    trace_move(node, thread, thread->target); // before it can arrive
    migration_send(node->migration, thread->target, &moved);
    node->threads[thread_slot_of(thread->number)] = NULL;
    parts_thread_left(node, thread);
    ult_forget(ult);
    node->n_moved_out++;
    node_leave(node);
    free_record(thread);
}

void threads_move_if_wanted(struct node *node)
{
    struct thread *thread = thread_self();
    int moves;

    node_enter(node);
    shuffle(node, thread);
    moves = is_to_move(node, thread);
    node_leave(node);
    if (moves) {
        ult_suspend(leave, node); // returns on the other node, mostly: T2, T3
    }
    checkpoint_hold(node);
}

// ---- public

static void note_created(struct node *node, uint64_t number)
{
    if (thread_self()->number == 0) {
        prepared_note_result(&node->prepared, number);
    }
}

tm_status tm_thread_create(tm_thread *number, const tm_thread_attr *attr,
                           void *(*start)(void *), void *arg)
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_thread_create");
    tm_thread_attr wanted = {0};
    struct wait wait;

    if (status != TM_OK) {
        return status;
    }
    wanted = attr == NULL ? wanted : *attr;
    wanted.node = prepared_node(&node->prepared, node->n_nodes, wanted.node);
    if (node->n_nodes > 1 &&
        (wanted.placement != TM_ON_NODE || wanted.node != node->self)) {
        report_argument(node, arg);
    }
    wait_begin(node, &wait);
    tasking_forbid(node, "tm_thread_create");
    sync_thread_create(node->sync, (uint64_t)(uintptr_t)start,
                       (uint64_t)(uintptr_t)arg, &wanted, &wait.waiter);
    status = wait_end(node, &wait);
    note_created(node, wait.waiter.result);
    if (number != NULL && status == TM_OK) {
        *number = wait.waiter.result;
    }
    return status;
}

// In a run that goes on from a checkpoint nobody knows of waits that were under way.
static tm_status join(struct node *node, uint64_t number, struct wait *wait)
{
    do {
        wait_begin_call(node, wait);
        thread_self()->join = wait;
        sync_thread_join(node->sync, number, &wait->waiter);
        node_leave(node);
    } while (!hold_while_waiting(node, wait));
    return wait->waiter.status;
}

// main() is in no checkpoint, and not held for one.
static tm_status join_in_main(struct node *node, uint64_t number,
                              struct wait *wait)
{
    tm_status status;

    wait_begin_call(node, wait);
    prepared_begin_wait(&node->prepared);
    sync_thread_join(node->sync, number, &wait->waiter);
    status = wait_end(node, wait);
    prepared_end_wait(&node->prepared);
    return status;
}

// Wait for the end of a thread; main() for its own, which is the end of all others.
static tm_status await_end(struct node *node, uint64_t number, void **result)
{
    const int is_main = thread_self()->number == 0;
    struct wait wait;
    tm_status status;

    if (is_main) {
        cut_marks_prepared(node);
    }
    if (is_main && node->prepared.is_repeated) {
        node_enter(node);
        sync_thread_launch(node->sync, 0); // while none starts
        node_leave(node);
        restore_all(node);
    }
    status =
        is_main ? join_in_main(node, number, &wait) : join(node, number, &wait);
    if (result != NULL && status == TM_OK) {
        *result = (void *)(uintptr_t)wait.waiter.result;
    }
    return status;
}

tm_status tm_thread_join(tm_thread number, void **result)
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_thread_join");

    if (status != TM_OK) {
        return status;
    }
    return number == 0 ? TM_ENOTHREAD : await_end(node, number, result);
}

tm_status tm_thread_detach(tm_thread number)
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_thread_detach");
    struct wait wait;

    if (status != TM_OK) {
        return status;
    }
    wait_begin(node, &wait);
    sync_thread_detach(node->sync, number, &wait.waiter);
    return wait_end(node, &wait);
}

void tm_thread_exit(void *result)
{
    struct node *const node = &this_node;

    if (CHECK_CALL("tm_thread_exit") != TM_OK) {
        log_fatal(EXIT_INTERNAL, "tm_thread_exit() cannot end the caller");
    }
    node_enter(node);
    tasking_forbid(node, "tm_thread_exit");
    node_leave(node);
    if (thread_self()->number == 0) {
        part_with_belongings();
        await_end(node, 0, NULL);
        exit(0);
    }
    finish(node, result);
}

tm_thread tm_thread_self(void)
{
    struct thread *thread = thread_self();

    return thread == NULL ? 0 : thread->number;
}

void tm_thread_yield(void)
{
    struct node *const node = &this_node;

    if (CHECK_CALL("tm_thread_yield") != TM_OK) {
        return;
    }
    if (sync_has_batch(node->sync)) {
        node_enter(node);
        sync_thread_launch(node->sync, thread_self()->number);
        node_leave(node);
    }
    ult_yield();
}

static void forget(struct waiter *waiter)
{
    free(waiter);
}

void threads_send(struct node *node, uint64_t number, node_id id)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);

    ensure_memory(waiter != NULL);
    waiter->wake = forget;
    sync_thread_migrate(node->sync, number, id, waiter);
}

tm_status tm_thread_migrate(tm_thread number, unsigned id)
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_thread_migrate");
    struct wait wait;

    if (status != TM_OK) {
        return status;
    }
    if (number == 0 || id >= node->n_nodes) {
        return TM_EINVAL;
    }
    wait_begin(node, &wait);
    sync_thread_migrate(node->sync, number, (node_id)id, &wait.waiter);
    return wait_end(node, &wait);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that are held for a checkpoint, on each node: those that end their iteration when
// they have ended `above` of them or more. They are suspended as if they were to move. So are
// those that wait for the end of another, wherever they are; in a run that goes on they wait
// anew.
//
// H1 A held thread is suspended, is_held, and counts in n_held; it has ended `above` iterations,
//    or is_aside and counts in n_aside.
// H2 A thread that is_aside and counted for a cut waits for one that has not ended.
#include "base/clock.h"
#include "base/ensure.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"
#include "runtime/outside.h"
#include "runtime/threads.h"
#include "runtime/unchanged.h"

#include <string.h>

static struct thread *thread_at(const struct node *node, unsigned slot)
{
    return node->threads[slot];
}

static void wake_joining(struct node *node)
{
    for (unsigned slot = 1; slot <= node->options.max_threads; slot++) {
        const struct thread *thread = thread_at(node, slot);

        if (thread != NULL && thread->join != NULL && !thread->is_held) {
            ult_unpark(thread->ult);
        }
    }
}

static void let_go(struct node *node, struct thread *thread)
{
    node->checkpoint.n_held--;
    node->checkpoint.n_aside -= (uint32_t)thread->is_aside;
    thread->is_held = 0;
    thread->is_aside = 0;
    ult_resume(thread->ult);
}

static int is_to_go_on(const struct thread *thread, uint64_t above)
{
    return thread->is_aside ? above == NONE_HELD : thread->n_barriers < above;
}

void hold_above(struct node *node, uint64_t above)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    for (unsigned slot = 1;
         slot <= node->options.max_threads && checkpoint->n_held > 0; slot++) {
        struct thread *thread = thread_at(node, slot);

        if (thread != NULL && thread->is_held && is_to_go_on(thread, above)) {
            thread->passed = thread->n_barriers;
            let_go(node, thread);
        }
    }
    if (above != NONE_HELD) {
        wake_joining(node);
    }
    node->iteration.began_ns = clock_now_ns(); // holding them was not its work
}

// ---- those that wait for the end of another

void hold_let_joined_go(struct node *node)
{
    for (unsigned slot = 1;
         slot <= node->options.max_threads && node->checkpoint.n_aside > 0;
         slot++) {
        struct thread *thread = thread_at(node, slot);

        if (thread != NULL && thread->is_aside && wait_is_over(thread->join)) {
            let_go(node, thread); // H2
        }
    }
}

// On the worker's stack.
static void hold_aside(void *owner, struct ult *ult)
{
    struct node *node = owner;
    struct checkpoint *checkpoint = &node->checkpoint;
    struct thread *thread = ult_user(ult);

    node_enter(node);
    if (checkpoint->above == NONE_HELD || wait_is_over(thread->join)) {
        ult_unpark(ult);
    } else {
        thread->is_held = 1;
        thread->is_aside = 1;
        checkpoint->n_held++;
        checkpoint->n_aside++;
    }
    node_leave(node);
}

static int is_gathering(struct node *node)
{
    int is;

    node_enter(node);
    is = node->checkpoint.above != NONE_HELD;
    node_leave(node);
    return is;
}

int hold_while_waiting(struct node *node, struct wait *wait)
{
    const uint64_t process = node->checkpoint.process;

    while (!wait_is_over(wait)) {
        if (is_gathering(node)) {
            ult_suspend(hold_aside, node);
            if (node->checkpoint.process != process) {
                return 0;
            }
        } else {
            ult_park(1);
        }
    }
    node_enter(node);
    thread_self()->join = NULL;
    node_leave(node);
    return 1;
}

// ---- those that end an iteration

void hold_tell(struct node *node)
{
    const struct message message = {.type = MESSAGE_cut_held,
                                    .u.cut_held = {node->checkpoint.cut}};

    if (!node->checkpoint.is_told) {
        node->checkpoint.is_told = 1;
        port_send(&node->port, 0, &message);
    }
}

// On the worker's stack: the thread's context is complete.
static void hold(void *owner, struct ult *ult)
{
    struct node *node = owner;
    struct checkpoint *checkpoint = &node->checkpoint;
    struct thread *thread = ult_user(ult);

    node_enter(node);
    if (thread->n_barriers < checkpoint->above) { // it is not wanted any more
        thread->passed = thread->n_barriers;
        ult_unpark(ult);
    } else {
        thread->is_held = 1;
        checkpoint->n_held++;
        hold_tell(node);
    }
    node_leave(node);
}

void checkpoint_hold(struct node *node)
{
    struct thread *thread = thread_self();
    int is_to_stay;

    node_enter(node);
    is_to_stay =
        thread->number != 0 && thread->n_barriers >= node->checkpoint.above;
    thread->passed = is_to_stay ? thread->passed : thread->n_barriers;
    node_leave(node);
    if (is_to_stay) {
        ult_suspend(hold, node); // returns in another run, perhaps
    }
}

static void count_thread(const struct thread *thread,
                         struct message_cut_state *state)
{
    if (!thread->is_held) {
        state->passed =
            thread->passed > state->passed ? thread->passed : state->passed;
        return;
    }
    state->n_held++;
    if (thread->is_aside) {
        return;
    }
    state->least =
        thread->n_barriers < state->least ? thread->n_barriers : state->least;
    state->most =
        thread->n_barriers > state->most ? thread->n_barriers : state->most;
}

void hold_answer(struct node *node, uint32_t round)
{
    const char *why = engine_why_unsaved(node->engine);
    struct message message = {.type = MESSAGE_cut_state};
    struct message_cut_state *state = &message.u.cut_state;
    uint32_t n_threads = 0;

    why = why == NULL ? sync_why_unsaved(node->sync) : why;
    if (why == NULL && tasks_are_pending(node->tasking.tasks)) {
        why = "tasks have been spawned and not waited for (tm_wait)";
    }
    *state = (struct message_cut_state){
        .cut = node->checkpoint.cut,
        .round = round,
        // A clerk that has told what it wrote, or read, may have to end yet.
        .is_still =
            engine_settles(node->engine) != 0 && !node->checkpoint.has_clerk,
        .least = UINT64_MAX,
        .sent = node->n_sent,
        .received = node->n_received,
        .n_ended = node->iteration.n_ended,
    };
    hold_let_joined_go(node);
    for (unsigned slot = 1; slot <= node->options.max_threads; slot++) {
        if (thread_at(node, slot) != NULL) {
            n_threads++;
            count_thread(thread_at(node, slot), state);
        }
    }
    // It asks the kernel, so not before it matters.
    if (why == NULL && node->unchanged != NULL && state->n_held == n_threads) {
        why = node->unchanged->why_unsaved();
    }
    if (why == NULL && node->options.buddy_is_tried) {
        why = outside_why_unsaved(node); // O1
    }
    if (why == NULL && node->options.buddy_is_tried &&
        state->n_held == n_threads) {
        why = buddies_why_not_back(node);
    }
    ensure(state->n_held == node->checkpoint.n_held); // H1
    message.body = why;
    message.body_size = why == NULL ? 0 : (uint32_t)strlen(why);
    port_send(&node->port, 0, &message);
}

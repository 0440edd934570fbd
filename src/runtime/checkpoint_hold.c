// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that are held for a checkpoint, on each node: those that end their iteration when
// they have ended `above` of them or more. They are suspended as if they were to move.
//
// H1 A held thread is suspended, is_held, and counts in n_held; it has ended `above` iterations.
#include "base/clock.h"
#include "base/ensure.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"
#include "runtime/threads.h"

#include <string.h>

static struct thread *thread_at(const struct node *node, unsigned slot)
{
    return node->threads[slot];
}

void hold_above(struct node *node, uint64_t above)
{
    struct checkpoint *checkpoint = &node->checkpoint;

    for (unsigned slot = 1;
         slot <= node->options.max_threads && checkpoint->n_held > 0; slot++) {
        struct thread *thread = thread_at(node, slot);

        if (thread != NULL && thread->is_held && thread->n_barriers < above) {
            thread->is_held = 0;
            thread->passed = thread->n_barriers;
            checkpoint->n_held--;
            ult_resume(thread->ult);
        }
    }
    node->iteration.began_ns = clock_now_ns(); // holding them was not its work
}

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
    for (unsigned slot = 1; slot <= node->options.max_threads; slot++) {
        if (thread_at(node, slot) != NULL) {
            count_thread(thread_at(node, slot), state);
        }
    }
    ensure(state->n_held == node->checkpoint.n_held); // H1
    message.body = why;
    message.body_size = why == NULL ? 0 : (uint32_t)strlen(why);
    port_send(&node->port, 0, &message);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What is done once. The manager knows how far it is, and for ever:
//
//     NEW --once_ask: its thread is to do it--> RUNNING --once_end--> DONE
//
// Who asks meanwhile waits. once_end releases before it goes out, so whoever hears that it
// is done sees what was done. A node that has heard it asks no more (is_known).
//
// I1  Calls wait only while it is RUNNING.
#include "sync/sync_priv.h"

static void ask_manager(struct sync *sync, enum call_kind kind, uint64_t key,
                        struct waiter *waiter)
{
    struct call *call = call_manager(sync, kind, key, waiter);

    call->message.u.once_ask.key = key;
    call->message.u.once_ask.token = call->token;
    call->message.u.once_ask.thread = waiter->thread;
    call->message.u.once_ask.is_end = kind == CALL_ONCE_END;
    call_send(call, kind == CALL_ONCE_END);
}

void sync_once_begin(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    const struct once *once = table_find(&sync->onces, key);

    if (once != NULL && once->is_known) {
        waiter_wake(waiter, TM_OK, 1);
    } else {
        ask_manager(sync, CALL_ONCE, key, waiter);
    }
}

void sync_once_end(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    ask_manager(sync, CALL_ONCE_END, key, waiter);
}

void sync_once_know(struct sync *sync, uint64_t key)
{
    struct once *once = object_get(&sync->onces, key);

    once->is_known = true;
}

static tm_status begin(struct sync *sync, node_id from,
                       const struct message_once_ask *ask)
{
    struct once *once = object_get(&sync->onces, ask->key);

    if (once->state == ONCE_DONE) {
        order_takes(sync, ask->key, from);
        answer(sync, from, ask->token, TM_OK, 1);
    } else if (once->state == ONCE_NEW) {
        once->state = ONCE_RUNNING;
        once->thread = ask->thread;
        answer(sync, from, ask->token, TM_OK, 0);
    } else if (once->thread == ask->thread) {
        answer(sync, from, ask->token, TM_EDEADLK, 0);
    } else {
        request_push(sync, &once->waiting,
                     (struct request){.node = from, .token = ask->token});
    }
    return TM_OK;
}

static tm_status end(struct sync *sync, node_id from,
                     const struct message_once_ask *ask)
{
    struct once *once = table_find(&sync->onces, ask->key);

    if (once == NULL || once->state != ONCE_RUNNING ||
        once->thread != ask->thread) {
        return TM_EWIRE;
    }
    once->state = ONCE_DONE;
    while (once->waiting.first != NULL) {
        struct request request = request_pop(sync, &once->waiting);

        order_takes(sync, ask->key, request.node);
        answer(sync, request.node, request.token, TM_OK, 1);
    }
    answer(sync, from, ask->token, TM_OK, 1);
    return TM_OK;
}

tm_status once_receive_ask(struct sync *sync, node_id from,
                           const struct message *message)
{
    const struct message_once_ask *ask = &message->u.once_ask;

    if (!is_manager(sync, ask->key) || ask->is_end > 1) {
        return TM_EWIRE;
    }
    return ask->is_end ? end(sync, from, ask) : begin(sync, from, ask);
}

bool once_is_valid(const struct sync *sync, const void *record)
{
    const struct once *once = record;

    (void)sync;
    return once->waiting.first == NULL || once->state == ONCE_RUNNING; // I1
}

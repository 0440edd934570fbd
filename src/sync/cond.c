// SPDX-License-Identifier: BSD-3-Clause
//
// Condition variables. The manager keeps the calls that wait, in order. A call
// of sync_cond_wait() goes
//
//     cond_wait sent, the mutex still held --call_done: it is noted-->
//     the mutex given back --cond_wake--> locks the mutex again --> woken
//
// cond_wake comes with a signal, or because the call's time is over (wait_cancel); who
// has been taken out of the queue by a signal is not there for the other.
//
// A record that nobody waits at knows nothing, and goes.
//
// I1  The mutex is given back only after the manager has noted the call. Any
//     signal that is sent by somebody who comes after that, through the mutex
//     or through anything else, is therefore sent after the call was noted, and
//     reaches the manager later: it is not lost.
// I2  The manager answers before it wakes, and messages between two nodes stay
//     in order: cond_wake finds the call noted.
//
// A signal takes a call from the front of the queue. One that was sent while
// nobody waited may find somebody who has begun since, and wake him for
// nothing; it cannot take another signal's place for good: who is woken for
// nothing waits again only after he has looked, under the mutex.
//
// sync_cond_signal() releases first. That the waiter's node sees what was
// written under the mutex is the mutex's affair.
#include "sync/sync_priv.h"

static void let_go(struct sync *sync, const struct cond *cond)
{
    if (cond->waiting.first == NULL) {
        table_drop(&sync->conds, cond->key);
    }
}

void sync_cond_wait(struct sync *sync, uint64_t key, uint64_t mutex,
                    struct waiter *waiter)
{
    tm_status status = lock_may_wait(sync, mutex, waiter->thread);
    struct call *call;

    if (status != TM_OK) {
        waiter_wake(waiter, status, 0);
        return;
    }
    call = call_manager(sync, CALL_COND_WAIT, key, waiter);
    call->mutex = mutex;
    call->message.u.cond_wait.key = key;
    call->message.u.cond_wait.token = call->token;
    call_send(call, 0);
}

tm_status cond_receive_wait(struct sync *sync, node_id from,
                            const struct message *message)
{
    uint64_t key = message->u.cond_wait.key;
    uint64_t token = message->u.cond_wait.token;
    struct cond *cond;

    if (!is_manager(sync, key)) {
        return TM_EWIRE;
    }
    cond = object_get(&sync->conds, key);
    request_push(sync, &cond->waiting,
                 (struct request){.node = from, .token = token});
    answer(sync, from, token, TM_OK, 0);
    return TM_OK;
}

void cond_noted(struct sync *sync, struct call *call)
{
    call->state = CALL_NOTED;
    lock_give_back(sync, call->mutex, call->caller);
}

void sync_cond_signal(struct sync *sync, uint64_t key, int all,
                      struct waiter *waiter)
{
    struct call *call = call_manager(sync, CALL_COND_SIGNAL, key, waiter);

    call->message.u.cond_signal.key = key;
    call->message.u.cond_signal.all = all != 0;
    call_send(call, 1);
}

tm_status cond_receive_signal(struct sync *sync, node_id from,
                              const struct message *message)
{
    uint64_t key = message->u.cond_signal.key;
    struct message wake = {.type = MESSAGE_cond_wake};
    struct cond *cond;

    (void)from;
    if (!is_manager(sync, key)) {
        return TM_EWIRE;
    }
    cond = table_find(&sync->conds, key);
    if (cond == NULL) {
        return TM_OK; // nobody waits
    }
    while (cond->waiting.first != NULL) {
        struct request request = request_pop(sync, &cond->waiting);

        wake.u.cond_wake.token = request.token;
        order_takes(sync, key, request.node);
        send_to(sync, request.node, &wake);
        if (!message->u.cond_signal.all) {
            break;
        }
    }
    let_go(sync, cond);
    return TM_OK;
}

void cond_cancel(struct sync *sync, node_id from, uint64_t key, uint64_t token)
{
    struct cond *cond = table_find(&sync->conds, key);
    struct message wake = {.type = MESSAGE_cond_wake};

    if (cond != NULL && request_take(sync, &cond->waiting, from, token)) {
        wake.u.cond_wake.token = token;
        wake.u.cond_wake.is_late = 1;
        send_to(sync, from, &wake);
        let_go(sync, cond);
    }
}

tm_status cond_receive_wake(struct sync *sync, node_id from,
                            const struct message *message)
{
    struct call *call = call_find(sync, message->u.cond_wake.token);
    struct waiter *caller;
    uint64_t mutex;

    if (call == NULL || call->state != CALL_NOTED || from != call->to ||
        (message->u.cond_wake.is_late && !call->is_cancelled)) {
        return TM_EWIRE;
    }
    caller = call->caller;
    mutex = call->mutex;
    call->caller = NULL; // is woken with the mutex
    call_end(call, TM_OK, 0);
    caller->until_ns = 0; // for the mutex it waits as long as that takes
    caller->is_over = message->u.cond_wake.is_late;
    sync_lock(sync, mutex, 0, caller);
    return TM_OK;
}

bool cond_is_valid(const struct sync *sync, const void *record)
{
    const struct cond *cond = record;

    return (is_manager(sync, cond->key) || cond->waiting.first == NULL) &&
           table_find(&sync->conds, cond->key) == cond;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Semaphores. All of one is at its manager: the value, and the calls that wait
// for it, in order. sem_post releases before its message goes out, so who gets
// past sem_wait because of it sees what the poster wrote.
//
// What a post can be told is that nobody has initialised the semaphore. A node that has once
// been told of success asks no more (is_known): with two nodes the post is one message, and
// the caller need not wait for it. With more it does: who is told of something else by the
// caller could be at the manager before the post, and find the value 0.
//
// A call whose time is over (wait_cancel) is answered so if it still waits here.
//
// I1  Calls wait only while the value is 0.
// I2  A semaphore that was never initialised has value 0 and no calls.
#include "sync/sync_priv.h"

/** What a call does to a semaphore. */
enum sem_wish {
    SEM_WAIT,
    SEM_TRY, ///< it does not wait
    SEM_ASK, ///< it takes nothing, and is told the value
};

void sync_sem_init(struct sync *sync, uint64_t key, uint32_t value,
                   struct waiter *waiter)
{
    struct call *call = call_manager(sync, CALL_SEM_INIT, key, waiter);

    call->message.u.sem_init.key = key;
    call->message.u.sem_init.token = call->token;
    call->message.u.sem_init.value = value;
    call_send(call, 1);
}

tm_status sem_receive_init(struct sync *sync, node_id from,
                           const struct message *message)
{
    uint64_t key = message->u.sem_init.key;
    tm_status status = TM_EBUSY;
    struct sem *sem;

    if (!is_manager(sync, key)) {
        return TM_EWIRE;
    }
    sem = object_get(&sync->sems, key);
    if (sem->waiting.first == NULL) {
        sem->is_initialised = true;
        sem->value = message->u.sem_init.value;
        status = TM_OK;
    }
    answer(sync, from, message->u.sem_init.token, status, 0);
    return TM_OK;
}

void sync_sem_wait(struct sync *sync, uint64_t key, int only_try,
                   struct waiter *waiter)
{
    struct call *call = call_manager(sync, CALL_SEM_WAIT, key, waiter);

    call->message.u.sem_wait.key = key;
    call->message.u.sem_wait.token = call->token;
    call->message.u.sem_wait.wish = only_try != 0 ? SEM_TRY : SEM_WAIT;
    call_send(call, 0);
}

void sync_sem_ask(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    struct call *call = call_manager(sync, CALL_SEM_WAIT, key, waiter);

    call->message.u.sem_wait.key = key;
    call->message.u.sem_wait.token = call->token;
    call->message.u.sem_wait.wish = SEM_ASK;
    call_send(call, 0);
}

tm_status sem_receive_wait(struct sync *sync, node_id from,
                           const struct message *message)
{
    uint64_t key = message->u.sem_wait.key;
    uint64_t token = message->u.sem_wait.token;
    struct sem *sem;

    if (!is_manager(sync, key) || message->u.sem_wait.wish > SEM_ASK) {
        return TM_EWIRE;
    }
    sem = object_get(&sync->sems, key);
    if (!sem->is_initialised) {
        answer(sync, from, token, TM_EINVAL, 0);
    } else if (message->u.sem_wait.wish == SEM_ASK) {
        answer(sync, from, token, TM_OK, sem->value);
    } else if (sem->value > 0) {
        sem->value--;
        order_takes(sync, key, from);
        answer(sync, from, token, TM_OK, 0);
    } else if (message->u.sem_wait.wish == SEM_TRY) {
        answer(sync, from, token, TM_EBUSY, 0);
    } else {
        request_push(sync, &sem->waiting,
                     (struct request){.node = from, .token = token});
    }
    return TM_OK;
}

void sem_cancel(struct sync *sync, node_id from, uint64_t key, uint64_t token)
{
    struct sem *sem = table_find(&sync->sems, key);

    if (sem != NULL && request_take(sync, &sem->waiting, from, token)) {
        answer(sync, from, token, TM_ETIMEDOUT, 0);
    }
}

void sync_sem_post(struct sync *sync, uint64_t key, struct waiter *waiter)
{
    const struct sem *sem = table_find(&sync->sems, key);
    const bool is_known =
        sem != NULL && sem->is_known && sync->port->roster.n_live <= 2;
    struct call *call = call_manager(
        sync, is_known ? CALL_SEM_ADD : CALL_SEM_POST, key, waiter);

    call->message.u.sem_post.is_known = is_known;
    call->message.u.sem_post.key = key;
    call->message.u.sem_post.token = call->token;
    call_send(call, 1);
}

/* One more; the first that waits takes it at once. */
static tm_status add_one(struct sync *sync, struct sem *sem)
{
    if (!sem->is_initialised) {
        return TM_EINVAL;
    }
    if (sem->waiting.first != NULL) {
        struct request request = request_pop(sync, &sem->waiting);

        order_takes(sync, sem->key, request.node);
        answer(sync, request.node, request.token, TM_OK, 0);
    } else if (sem->value == UINT32_MAX) {
        return TM_ELIMIT;
    } else {
        sem->value++;
    }
    return TM_OK;
}

tm_status sem_receive_post(struct sync *sync, node_id from,
                           const struct message *message)
{
    uint64_t key = message->u.sem_post.key;
    tm_status status;

    if (!is_manager(sync, key)) {
        return TM_EWIRE;
    }
    status = add_one(sync, object_get(&sync->sems, key));
    if (!message->u.sem_post.is_known) {
        answer(sync, from, message->u.sem_post.token, status, 0);
    } else if (status == TM_ELIMIT) {
        report_error(sync,
                     "the semaphore at 0x%llx has been posted %u times more "
                     "than waited for",
                     (unsigned long long)key, UINT32_MAX);
    } else {
        return status == TM_OK ? TM_OK : TM_EWIRE;
    }
    return TM_OK;
}

bool sem_is_valid(const struct sync *sync, const void *record)
{
    const struct sem *sem = record;

    (void)sync;
    return sem->waiting.first == NULL ||
           (sem->value == 0 && sem->is_initialised); // I1, I2
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Calls in flight. What nearly all calls of a thread have in common:
//
//     FREE --call_manager, call_root--> MADE --release done, message sent--> SENT
//     SENT --call_done--> FREE, the caller is woken
//     SENT --call_done, of sync_cond_wait()--> NOTED --cond_wake--> FREE
//
// A call that is to end at a time stays as it is when that has come: wait_cancel goes to
// the manager, who answers that the time is over, or has answered already. So it is
// the manager alone who decides, and nothing is granted to somebody who has left.
//
// Kinds that need no answer (expects_answer) go from MADE to FREE.
//
// I1  A token is the call's place (low half) and its generation, which grows
//     each time the place is used: a token that comes from the wire a second
//     time, or is made up, finds nothing.
// I2  A call keeps its address while it is in flight: sync_ops.release holds a
//     pointer to its first member.
// I3  Calls with a time (until_ns) are counted in sync->n_timed.
#include "sync/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "sync/sync_priv.h"

static const struct {
    const char *name;
    enum message_type message;
} kinds[] = {
    [CALL_UNLOCK] = {"tm_mutex_unlock", MESSAGE_unlock_away},
    [CALL_COND_WAIT] = {"tm_cond_wait", MESSAGE_cond_wait},
    [CALL_COND_SIGNAL] = {"tm_cond_signal", MESSAGE_cond_signal},
    [CALL_SEM_INIT] = {"tm_sem_init", MESSAGE_sem_init},
    [CALL_SEM_WAIT] = {"tm_sem_wait", MESSAGE_sem_wait},
    [CALL_SEM_POST] = {"tm_sem_post", MESSAGE_sem_post},
    [CALL_SEM_ADD] = {"tm_sem_post", MESSAGE_sem_post},
    [CALL_RDLOCK] = {"tm_rwlock_rdlock", MESSAGE_rwlock_ask},
    [CALL_WRLOCK] = {"tm_rwlock_wrlock", MESSAGE_rwlock_ask},
    [CALL_RWUNLOCK] = {"tm_rwlock_unlock", MESSAGE_rwlock_unlock},
    [CALL_ONCE] = {"tm_once_run", MESSAGE_once_ask},
    [CALL_ONCE_END] = {"tm_once_run", MESSAGE_once_ask},
    [CALL_BARRIER_INIT] = {"tm_barrier_init", MESSAGE_barrier_init},
    [CALL_CREATE] = {"tm_thread_create", MESSAGE_thread_create},
    [CALL_LAUNCH] = {"launch", MESSAGE_thread_launch},
    [CALL_EXIT] = {"exit", MESSAGE_thread_exit},
    [CALL_JOIN] = {"tm_thread_join", MESSAGE_thread_join},
    [CALL_DETACH] = {"tm_thread_detach", MESSAGE_thread_detach},
    [CALL_KEY] = {"a call about a key", MESSAGE_key_call},
    [CALL_MIGRATE] = {"tm_thread_migrate", MESSAGE_thread_migrate},
};

static bool expects_answer(enum call_kind kind)
{
    return kind != CALL_COND_SIGNAL && kind != CALL_SEM_ADD &&
           kind != CALL_LAUNCH && kind != CALL_EXIT;
}

static struct call *call_at(const struct calls *calls, uint32_t place)
{
    if (place / CALLS_PER_CHUNK >= calls->n_chunks) {
        return NULL;
    }
    return &calls->chunks[place / CALLS_PER_CHUNK][place % CALLS_PER_CHUNK];
}

static void add_chunk(struct calls *calls)
{
    struct call *chunk = calloc(CALLS_PER_CHUNK, sizeof *chunk);

    ensure_memory(chunk != NULL);
    calls->chunks =
        realloc(calls->chunks, (calls->n_chunks + 1) * sizeof(struct call *));
    ensure_memory(calls->chunks != NULL);
    calls->chunks[calls->n_chunks] = chunk;
    for (uint32_t i = CALLS_PER_CHUNK; i-- > 0;) {
        chunk[i].token = calls->n_chunks * CALLS_PER_CHUNK + i;
        chunk[i].next_free = calls->free;
        calls->free = &chunk[i];
    }
    calls->n_chunks++;
}

static void send_now(struct call *call)
{
    call->message.body = call->message.body_size > 0 ? call->name : NULL;
    call->state = CALL_SENT;
    if (call->gives_back) {
        lock_pack(call->sync, call->key, call->to, CARRY_BACK, &call->message);
    }
    send_to(call->sync, call->to, &call->message);
    if (!expects_answer(call->kind)) {
        call_end(call, TM_OK, 0);
    }
}

static bool goes_to_manager(enum call_kind kind)
{
    return kind >= CALL_UNLOCK && kind <= CALL_BARRIER_INIT;
}

static void release_is_done(struct waiter *waiter)
{
    struct call *call = (struct call *)waiter;

    order_gives(call->sync,
                goes_to_manager(call->kind) ? call->key
                                            : THREAD_OBJECT(call->thread),
                call->to);
    send_now(call);
}

static struct call *call_new(struct sync *sync, enum call_kind kind,
                             uint64_t thread, struct waiter *caller)
{
    struct call *call;

    if (sync->calls.free == NULL) {
        add_chunk(&sync->calls);
    }
    call = sync->calls.free;
    sync->calls.free = call->next_free;
    *call = (struct call){
        .release = {.wake = release_is_done, .thread = thread},
        .sync = sync,
        .state = CALL_MADE,
        .kind = kind,
        .token = call->token + (1ull << 32),
        .thread = thread,
        .caller = caller,
        .until_ns = caller == NULL ? 0 : caller->until_ns,
        .message = {.type = kinds[kind].message},
    };
    time_begins(sync, call->until_ns); // I3
    return call;
}

struct call *call_manager(struct sync *sync, enum call_kind kind, uint64_t key,
                          struct waiter *waiter)
{
    struct call *call = call_new(sync, kind, waiter->thread, waiter);

    call->key = key;
    call->to = manager_of(sync, key);
    return call;
}

struct call *call_root(struct sync *sync, enum call_kind kind, uint64_t thread,
                       struct waiter *waiter)
{
    struct call *call = call_new(sync, kind, thread, waiter);

    call->to = ROOT;
    return call;
}

void call_send(struct call *call, int release)
{
    if (release) {
        release_for(call->sync, call->to, &call->release);
    } else {
        send_now(call);
    }
}

struct call *call_find(struct sync *sync, uint64_t token)
{
    struct call *call = call_at(&sync->calls, (uint32_t)token);

    if (call == NULL || call->token != token || call->state == CALL_FREE) {
        return NULL;
    }
    return call;
}

void call_end(struct call *call, tm_status status, uint64_t result)
{
    struct waiter *caller = call->caller;

    call->state = CALL_FREE;
    call->sync->n_timed -= call->until_ns > 0; // I3
    call->next_free = call->sync->calls.free;
    call->sync->calls.free = call;
    if (caller != NULL) {
        waiter_wake(caller, status, result);
    }
}

tm_status call_receive_done(struct sync *sync, node_id from,
                            const struct message *message)
{
    struct call *call = call_find(sync, message->u.call_done.token);
    int32_t status = (int32_t)message->u.call_done.status;

    if (call == NULL || call->state != CALL_SENT || status > TM_OK ||
        status < TM_ETIMEDOUT) {
        return TM_EWIRE;
    }
    if (from != call->to && call->kind != CALL_UNLOCK) {
        return TM_EWIRE;
    }
    if (call->kind == CALL_COND_WAIT) {
        cond_noted(sync, call);
        return TM_OK;
    }
    if (call->take == NULL ? message->body_size > 0
                           : call->take(sync, call, from, message) != TM_OK) {
        return TM_EWIRE;
    }
    if (call->kind == CALL_CREATE && status == TM_OK &&
        call->message.u.thread_create.on_node == 0) {
        threads_created(sync, call->thread);
    }
    if (call->kind == CALL_SEM_POST && status == TM_OK) {
        sem_know(sync, call->key);
    }
    call_end(call, status, message->u.call_done.result);
    return TM_OK;
}

/* What wait_cancel calls the object of a call that can be cancelled now; -1: none. */
static int object_of(const struct call *call)
{
    if (call->state == CALL_NOTED) {
        return 1;
    }
    if (call->state != CALL_SENT) {
        return -1;
    }
    switch (call->kind) {
    case CALL_SEM_WAIT:
        return 0;
    case CALL_RDLOCK:
    case CALL_WRLOCK:
        return 2;
    default:
        return -1;
    }
}

static void cancel(struct call *call)
{
    struct message message = {.type = MESSAGE_wait_cancel};

    call->is_cancelled = true;
    message.u.wait_cancel.object = (uint8_t)object_of(call);
    message.u.wait_cancel.key = call->key;
    message.u.wait_cancel.token = call->token;
    send_to(call->sync, call->to, &message);
}

void calls_poll(struct sync *sync, uint64_t now_ns)
{
    for (uint32_t i = 0; i < sync->calls.n_chunks * CALLS_PER_CHUNK; i++) {
        struct call *call = call_at(&sync->calls, i);

        if (call->state == CALL_FREE || call->is_cancelled) {
            continue;
        }
        if (call->until_ns > now_ns || object_of(call) < 0) {
            time_goes_on(sync, call->until_ns);
        } else if (call->until_ns > 0) {
            cancel(call);
        }
    }
}

void calls_interrupt(struct sync *sync, uint64_t thread)
{
    for (uint32_t i = 0; i < sync->calls.n_chunks * CALLS_PER_CHUNK; i++) {
        struct call *call = call_at(&sync->calls, i);

        if (call->state == CALL_SENT && call->thread == thread &&
            call->caller != NULL && call->caller->may_interrupt) {
            sync->n_timed += call->until_ns == 0; // I3
            call->until_ns = 1;
            time_goes_on(sync, call->until_ns);
        }
    }
}

void calls_turn(struct sync *sync)
{
    for (uint32_t i = 0; i < sync->calls.n_chunks * CALLS_PER_CHUNK; i++) {
        struct call *call = call_at(&sync->calls, i);

        if (call->state != CALL_FREE && goes_to_manager(call->kind)) {
            call->to = manager_of(sync, call->key);
        }
    }
}

enum wait_line call_wait_line(const struct sync *sync, uint32_t place,
                              uint32_t position, char *text, size_t size)
{
    const struct call *call = call_at(&sync->calls, place);
    unsigned long long thread;
    unsigned long long key;

    if (call == NULL) {
        return LINE_NO_PLACE;
    }
    if (call->state == CALL_FREE || call->caller == NULL || position > 0) {
        return LINE_NEXT_PLACE;
    }
    thread = call->thread;
    key = call->key;
    switch (call->kind) {
    case CALL_COND_WAIT:
        snprintf(text, size,
                 "thread %llu waits for condition variable 0x%llx with mutex "
                 "0x%llx",
                 thread, key, (unsigned long long)call->mutex);
        break;
    case CALL_SEM_WAIT:
        snprintf(text, size, "thread %llu waits for semaphore 0x%llx", thread,
                 key);
        break;
    case CALL_RDLOCK:
    case CALL_WRLOCK:
        snprintf(text, size,
                 "thread %llu waits for reader-writer lock 0x%llx to %s",
                 thread, key, call->kind == CALL_WRLOCK ? "write" : "read");
        break;
    case CALL_ONCE:
        snprintf(text, size,
                 "thread %llu waits for the end of what is done once, 0x%llx",
                 thread, key);
        break;
    case CALL_JOIN:
        if (key == thread) {
            snprintf(text, size, "thread %llu waits for the end of all others",
                     thread);
            break;
        }
        snprintf(text, size, "thread %llu waits for the end of thread %llu",
                 thread, key);
        break;
    default:
        snprintf(text, size, "thread %llu waits for the end of %s()", thread,
                 kinds[call->kind].name);
        break;
    }
    return LINE_WRITTEN;
}

bool calls_are_valid(const struct sync *sync)
{
    uint32_t n_free = 0;

    for (const struct call *call = sync->calls.free; call != NULL;
         call = call->next_free) {
        if (call->state != CALL_FREE) {
            return false;
        }
        n_free++;
    }
    for (uint32_t i = 0; i < sync->calls.n_chunks * CALLS_PER_CHUNK; i++) {
        const struct call *call = call_at(&sync->calls, i);

        if ((uint32_t)call->token != i) { // I1
            return false;
        }
        if (call->state == CALL_NOTED && call->kind != CALL_COND_WAIT) {
            return false;
        }
        n_free -= call->state == CALL_FREE;
    }
    return n_free == 0;
}

void calls_release(struct calls *calls)
{
    for (uint32_t i = 0; i < calls->n_chunks; i++) {
        free(calls->chunks[i]);
    }
    free(calls->chunks);
    *calls = (struct calls){0};
}

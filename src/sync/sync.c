// SPDX-License-Identifier: BSD-3-Clause
//
// The table of handlers, and the machine's beginning and end. Where things are:
//   lock.c, lock_manager.c           mutexes: a node's part, the manager's
//   cond.c, sem.c                    condition variables, semaphores
//   rwlock.c, once.c                 reader-writer locks, what is done once
//   barrier.c, meeting.c, reduce.c   barriers: a node's part, the manager's
//   thread_calls.c                   threads: a node's part
//   thread_launch.c, thread_registry.c  the root's: when they start, and its list
//   sleep.c                          threads that sleep
//   keys.c                           keys of threads' own values
//   call.c                           calls in flight
//   manager_change.c                 managers, when nodes come and go
//   common.c                         what all of these use
//
// Everything runs under the node lock; nothing here waits. Messages of a node
// to itself take the same way as all others, so each step is written once.
#include "sync/sync.h"

#include <stdlib.h>

#include "sync/sync_priv.h"

enum { LOCKS_KEPT = 32768 };

struct handler {
    receive_fn *receive;
    bool at_root; // goes to the root only
};

static tm_status receive_cancel(struct sync *sync, node_id from,
                                const struct message *message)
{
    static void (*const cancels[])(struct sync * sync, node_id from,
                                   uint64_t key, uint64_t token) = {
        sem_cancel, cond_cancel, rwlock_cancel};
    uint8_t object = message->u.wait_cancel.object;
    uint64_t key = message->u.wait_cancel.key;

    if (object >= sizeof cancels / sizeof cancels[0] ||
        !is_manager(sync, key)) {
        return TM_EWIRE;
    }
    cancels[object](sync, from, key, message->u.wait_cancel.token);
    return TM_OK; // its answer may have gone out before this came
}

static const struct handler handlers[MESSAGES_END] = {
#define HANDLER(name) [MESSAGE_##name]
    HANDLER(lock_ask) = {lock_receive_ask, false},
    HANDLER(lock_cancel) = {lock_receive_cancel, false},
    HANDLER(wait_cancel) = {receive_cancel, false},
    HANDLER(lock_grant) = {lock_receive_grant, false},
    HANDLER(lock_recall) = {lock_receive_recall, false},
    HANDLER(lock_back) = {lock_receive_back, false},
    HANDLER(lock_decline) = {lock_receive_decline, false},
    HANDLER(lock_busy) = {lock_receive_busy, false},
    HANDLER(unlock_away) = {lock_receive_unlock, false},
    HANDLER(cond_wait) = {cond_receive_wait, false},
    HANDLER(cond_signal) = {cond_receive_signal, false},
    HANDLER(cond_wake) = {cond_receive_wake, false},
    HANDLER(sem_init) = {sem_receive_init, false},
    HANDLER(sem_wait) = {sem_receive_wait, false},
    HANDLER(sem_post) = {sem_receive_post, false},
    HANDLER(rwlock_ask) = {rwlock_receive_ask, false},
    HANDLER(rwlock_unlock) = {rwlock_receive_unlock, false},
    HANDLER(once_ask) = {once_receive_ask, false},
    HANDLER(barrier_init) = {barrier_receive_init, false},
    HANDLER(barrier_arrive) = {barrier_receive_arrive, false},
    HANDLER(barrier_leave) = {barrier_receive_leave, false},
    HANDLER(barrier_check) = {thread_registry_receive_check, true},
    HANDLER(barrier_starved) = {barrier_receive_starved, false},
    HANDLER(call_done) = {call_receive_done, false},
    HANDLER(thread_create) = {thread_registry_receive_create, true},
    HANDLER(thread_launch) = {thread_registry_receive_launch, true},
    HANDLER(thread_start) = {threads_receive_start, false},
    HANDLER(thread_exit) = {thread_registry_receive_exit, true},
    HANDLER(thread_join) = {thread_registry_receive_join, true},
    HANDLER(thread_detach) = {thread_registry_receive_detach, true},
    HANDLER(key_call) = {key_receive_call, true},
    HANDLER(thread_migrate) = {thread_registry_receive_migrate, true},
    HANDLER(thread_target) = {threads_receive_target, false},
    HANDLER(thread_at) = {thread_registry_receive_at, true},
    HANDLER(thread_missed) = {thread_registry_receive_missed, true},
    HANDLER(lock_part) = {lock_receive_part, false},
    HANDLER(cond_part) = {cond_receive_part, false},
    HANDLER(sem_part) = {sem_receive_part, false},
    HANDLER(rwlock_part) = {rwlock_receive_part, false},
    HANDLER(once_part) = {once_receive_part, false},
    HANDLER(barrier_part) = {barrier_receive_part, false},
    HANDLER(lock_last) = {lock_receive_last, false},
#undef HANDLER
};

static void poll_times(struct sync *sync)
{
    if (sync->n_timed > 0 && sync->due_ns <= time_now(sync)) {
        sync->due_ns = UINT64_MAX;
        lock_poll(sync, time_now(sync));
        calls_poll(sync, time_now(sync));
        sleep_poll(sync, time_now(sync));
    }
}

/* ---- public ---- */

struct sync *sync_new(const struct port *port, const struct sync_ops *ops,
                      uint32_t max_threads)
{
    struct sync *sync = calloc(1, sizeof *sync);

    if (sync == NULL) {
        return NULL;
    }
    sync->port = port;
    sync->ops = *ops;
    if (thread_registry_init(&sync->registry, &port->roster, max_threads) !=
        TM_OK) {
        free(sync);
        return NULL;
    }
    sync->due_ns = UINT64_MAX;
    sync->locks_kept = LOCKS_KEPT;
    lock_records_init(&sync->lock_pool);
    cond_records_init(&sync->cond_pool);
    sem_records_init(&sync->sem_pool);
    rwlock_records_init(&sync->rwlock_pool, &sync->claim_pool);
    once_records_init(&sync->once_pool);
    barrier_records_init(&sync->barrier_pool);
    creator_records_init(&sync->creator_pool);
    pool_init(&sync->request_pool, sizeof(struct request));
    return sync;
}

void sync_free(struct sync *sync)
{
    if (sync == NULL) {
        return;
    }
    barrier_release_all(sync);
    map_release(&sync->locks);
    map_release(&sync->conds);
    map_release(&sync->sems);
    map_release(&sync->rwlocks);
    map_release(&sync->onces);
    map_release(&sync->barriers);
    map_release(&sync->creators);
    pool_release(&sync->lock_pool);
    pool_release(&sync->cond_pool);
    pool_release(&sync->sem_pool);
    pool_release(&sync->rwlock_pool);
    pool_release(&sync->claim_pool);
    pool_release(&sync->once_pool);
    pool_release(&sync->barrier_pool);
    pool_release(&sync->creator_pool);
    pool_release(&sync->request_pool);
    calls_release(&sync->calls);
    thread_registry_release(&sync->registry);
    free(sync->scratch);
    free(sync->keys);
    free(sync);
}

tm_status sync_receive(struct sync *sync, node_id from,
                       const struct message *message)
{
    const struct handler *handler = &handlers[message->type];
    tm_status status = TM_EWIRE;

    if (handler->receive != NULL &&
        (!handler->at_root || sync->port->self == ROOT)) {
        status = handler->receive(sync, from, message);
    }
    sync->n_refused += status != TM_OK;
    return status;
}

uint64_t sync_n_refused(const struct sync *sync)
{
    return sync->n_refused;
}

void sync_poll(struct sync *sync, int workers_are_idle)
{
    threads_poll(sync);
    poll_times(sync);
    barrier_poll(sync, workers_are_idle);
}

int sync_wants_poll(const struct sync *sync)
{
    return sync->watched != NULL || sync->creators.n > 0 || sync->n_timed > 0;
}

int sync_has_timed(const struct sync *sync)
{
    return sync->n_timed > 0;
}

int sync_has_batch(const struct sync *sync)
{
    // Pairs with note_batches(). A caller asks for its own threads only, which
    // it has seen created under the node lock.
    return atomic_load_explicit(&sync->n_batches, memory_order_relaxed) > 0;
}

uint64_t sync_n_barriers(const struct sync *sync)
{
    return sync->n_barriers;
}

uint64_t sync_most_counted(const struct sync *sync)
{
    return sync->most;
}

/* A cursor is the kind of lines (8 bits), place (24), position (32). */
int sync_next_wait(const struct sync *sync, uint64_t *cursor, char *text,
                   size_t size)
{
    static wait_line_fn *const kinds[] = {lock_wait_line, rwlock_wait_line,
                                          barrier_wait_line, call_wait_line};

    for (;;) {
        uint64_t kind = *cursor >> 56;
        uint32_t place = (uint32_t)(*cursor >> 32) & 0xffffff;

        if (kind == sizeof kinds / sizeof kinds[0]) {
            return 0;
        }
        switch (kinds[kind](sync, place, (uint32_t)*cursor, text, size)) {
        case LINE_WRITTEN:
            ++*cursor;
            return 1;
        case LINE_NEXT_PLACE:
            *cursor = kind << 56 | (uint64_t)(place + 1) << 32;
            break;
        default:
            *cursor = (kind + 1) << 56;
            break;
        }
    }
}

int sync_is_valid(const struct sync *sync)
{
    return calls_are_valid(sync) && lock_is_valid(sync) &&
           cond_is_valid(sync) && sem_is_valid(sync) && rwlock_is_valid(sync) &&
           once_is_valid(sync) && barrier_is_valid(sync) &&
           keys_are_valid(sync) && thread_registry_is_valid(&sync->registry);
}

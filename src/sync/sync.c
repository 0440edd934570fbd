// SPDX-License-Identifier: BSD-3-Clause
//
// The table of handlers, and the machine's beginning and end. Where things are:
//   lock.c, lock_manager.c           mutexes: a node's part, the manager's
//   cond.c, sem.c                    condition variables, semaphores
//   rwlock.c, once.c                 reader-writer locks, what is done once
//   barrier.c, barrier_manager.c, reduce.c   barriers: a node's part, the manager's
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

#include "sync/barrier_priv.h"
#include "sync/lock_priv.h"

enum { LOCKS_KEPT = 1 << 19 }; // of some 300 bytes

struct handler {
    receive_fn *receive;
    bool at_root; // goes to the root only
};

tm_status sync_receive_cancel(struct sync *sync, node_id from,
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

void sync_interrupt(struct sync *sync, uint64_t thread)
{
    const struct roster *roster = &sync->port->roster;
    struct message message = {.type = MESSAGE_thread_interrupt};

    message.u.thread_interrupt.thread = thread;
    for (unsigned i = 0; i < roster->n_live; i++) {
        send_to(sync, roster->live[i], &message);
    }
}

tm_status sync_receive_interrupt(struct sync *sync, node_id from,
                                 const struct message *message)
{
    (void)from;
    calls_interrupt(sync, message->u.thread_interrupt.thread);
    return TM_OK;
}

static const struct handler handlers[MESSAGES_END] = {
#define HANDLER(message, receive, at_root)                                     \
    [MESSAGE_##message] = {receive, at_root},
    SYNC_MESSAGES(HANDLER)
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
    table_init(&sync->locks, sizeof(struct lock));
    table_init(&sync->conds, sizeof(struct cond));
    table_init(&sync->sems, sizeof(struct sem));
    table_init(&sync->rwlocks, sizeof(struct rwlock));
    table_init(&sync->onces, sizeof(struct once));
    table_init(&sync->barriers, sizeof(struct barrier));
    table_init(&sync->creators, sizeof(struct creator));
    pool_init(&sync->request_pool, sizeof(struct request));
    return sync;
}

void sync_free(struct sync *sync)
{
    if (sync == NULL) {
        return;
    }
    barrier_release_all(sync);
    table_release(&sync->locks);
    table_release(&sync->conds);
    table_release(&sync->sems);
    table_release(&sync->rwlocks);
    table_release(&sync->onces);
    table_release(&sync->barriers);
    table_release(&sync->creators);
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
    return sync->watched != NULL || sync->creators.map.n > 0 ||
           sync->n_timed > 0;
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

int sync_holds(const struct sync *sync, uint64_t key, uint64_t thread,
               int to_write)
{
    return lock_is_held_by(sync, key, thread) ||
           rwlock_is_held_by(sync, key, thread, to_write);
}

int sync_thread_holds(const struct sync *sync, uint64_t thread)
{
    return lock_holds_any(sync, thread) || rwlock_holds_any(sync, thread);
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

static bool all_are_valid(const struct sync *sync, const struct table *objects,
                          valid_fn *is_valid)
{
    const void *record;

    for (size_t at = 0; (record = table_next(objects, &at)) != NULL;) {
        if (!is_valid(sync, record)) {
            return false;
        }
    }
    return map_is_valid(&objects->map);
}

int sync_is_valid(const struct sync *sync)
{
    return calls_are_valid(sync) &&
           all_are_valid(sync, &sync->locks, lock_is_valid) &&
           all_are_valid(sync, &sync->conds, cond_is_valid) &&
           all_are_valid(sync, &sync->sems, sem_is_valid) &&
           all_are_valid(sync, &sync->rwlocks, rwlock_is_valid) &&
           all_are_valid(sync, &sync->onces, once_is_valid) &&
           all_are_valid(sync, &sync->barriers, barrier_is_valid) &&
           barriers_are_watched(sync) && keys_are_valid(sync) &&
           thread_registry_is_valid(&sync->registry);
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_SYNC_PRIV_H
#define SYNC_SYNC_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "sync/call.h"
#include "sync/sync.h"
#include "sync/thread_registry.h"

/*
 * What the files of this folder share. A node's part and the manager's part of
 * an object are one record, found under its key. A mutex and a condition variable are
 * never destroyed: their records go when they know nothing (lock.c, cond.c).
 */
struct sync {
    const struct port *port;
    struct sync_ops ops;
    uint64_t n_refused;
    uint64_t n_barriers; ///< episodes passed by threads of this node
    uint64_t most;       ///< that anybody had counted whom they met there

    struct calls calls;

    uint32_t n_timed;        ///< waiters and calls that will give up
    uint64_t due_ns;         ///< none of them before this time
    struct waiter *sleepers; ///< of them, those of sync_sleep()

    struct table locks;    ///< struct lock
    struct table conds;    ///< struct cond
    struct table sems;     ///< struct sem
    struct table rwlocks;  ///< struct rwlock
    struct table onces;    ///< struct once
    struct table barriers; ///< struct barrier
    struct table creators; ///< struct creator: who has threads to be launched
    _Atomic uint32_t n_batches; ///< of creators, readable without the node lock
    size_t locks_kept;          ///< so many records may stay: lock.c
    size_t tidied;              ///< place in `locks` that is looked at next
    bool has_forgotten;         ///< who held a mutex last
    bool anyone_unlocks;        ///< sync_let_anyone_unlock()
    struct pool request_pool;   ///< struct request

    struct barrier *watched; ///< those that sync_poll() has to look at

    uint8_t *scratch; ///< [scratch_size] for a body that is being written
    size_t scratch_size;

    struct thread_registry registry; ///< used on the root only
    struct key_record *keys;         ///< [n_keys], on the root: keys.c
    uint32_t n_keys;

    bool is_frozen;       ///< a change is under way: manager_change.c
    struct roster before; ///< in force before the port's: manager_change.c
};

/** The root: keeps the list of threads. */
#define ROOT ((node_id)0)

/** Waiters in order of arrival, linked by their `next`. */
struct waiter_queue {
    struct waiter *first;
    struct waiter *last;
    uint32_t n;
};

static inline void queue_push(struct waiter_queue *queue, struct waiter *waiter)
{
    list_append(queue, waiter);
    queue->n++;
}

/** @return the first, taken out; the queue is not empty */
static inline struct waiter *queue_pop(struct waiter_queue *queue)
{
    struct waiter *waiter = queue->first;

    queue->first = waiter->next;
    queue->n--;
    return waiter;
}

/** @return the waiter at a position, NULL if there are not so many */
static inline const struct waiter *queue_at(const struct waiter_queue *queue,
                                            uint32_t position)
{
    const struct waiter *waiter = queue->first;

    for (; waiter != NULL && position > 0; position--) {
        waiter = waiter->next;
    }
    return waiter;
}

static inline bool queue_is_valid(const struct waiter_queue *queue)
{
    uint32_t n = 0;

    for (const struct waiter *at = queue->first; at != NULL; at = at->next) {
        n++;
        if (at->next == NULL && at != queue->last) {
            return false;
        }
    }
    return n == queue->n;
}

/** At a manager: a node, or a thread of it, that asks for something, or has it. */
struct request {
    struct request *next;
    uint64_t token; ///< of its call
    node_id node;
    uint8_t only_try;
    bool is_cancelled; ///< of who waits in line for a mutex: it has given up

    // of a reader-writer lock
    bool is_writer;
    uint32_t n_times; ///< that it holds the lock
    uint64_t thread;
    uint64_t place; ///< where it locked, for reports
};

struct request_queue {
    struct request *first;
    struct request *last;
};

void request_push(struct sync *sync, struct request_queue *queue,
                  struct request request);
/** @return the first, taken out; the queue is not empty */
struct request request_pop(struct sync *sync, struct request_queue *queue);

void request_drop(struct sync *sync, struct request_queue *queue,
                  struct request *request);

/** Take the request of a call of a node out. @return false: there is none */
bool request_take(struct sync *sync, struct request_queue *queue, node_id node,
                  uint64_t token);

/** Somebody begins to wait who gives up at a time; 0: never. Who does not wait any
 * more is taken off n_timed. */
void time_begins(struct sync *sync, uint64_t until_ns);
/** The same for one who has been looked at, and waits on. */
void time_goes_on(struct sync *sync, uint64_t until_ns);
/** Wake the sleepers whose time is over. */
void sleep_poll(struct sync *sync, uint64_t now_ns);
/** Now, by the port's clock. */
uint64_t time_now(const struct sync *sync);
/** Is the time over already? */
bool is_over(const struct sync *sync, const struct waiter *waiter);

/** The manager of an object; the same on all nodes. */
node_id manager_of(const struct sync *sync, uint64_t key);

static inline bool is_manager(const struct sync *sync, uint64_t key)
{
    return manager_of(sync, key) == sync->port->self;
}

/** Release for a message that done's wake() sends to a node. */
void release_for(struct sync *sync, node_id to, struct waiter *done);

/** As an object of sync_ops.order: the creation of threads by this one, and its
 * end. Addresses are below. */
#define THREAD_OBJECT(thread) ((uint64_t)(thread) | UINT64_C(1) << 63)

/** What this node has released is now known to come before what a manager does. */
static inline void order_gives(struct sync *sync, uint64_t object, node_id to)
{
    sync->ops.order(sync->ops.owner, object, to, SYNC_GIVES);
}

/** What this node knows of an object, by order_gives() of others, comes before what another
 * one does. */
static inline void order_relays(struct sync *sync, uint64_t object, node_id to)
{
    sync->ops.order(sync->ops.owner, object, to, SYNC_RELAYS);
}

/** What a node is told next comes after all that the object's manager was given. */
static inline void order_takes(struct sync *sync, uint64_t object, node_id to)
{
    sync->ops.order(sync->ops.owner, object, to, SYNC_TAKES);
}

/** What this node was told of an object comes before what its threads do from now on. */
static inline void order_comes(struct sync *sync, uint64_t object)
{
    sync->ops.order(sync->ops.owner, object, sync->port->self, SYNC_COMES);
}

/** A lock goes to a node with this message: give it a body, of the data that go along. */
void lock_pack(struct sync *sync, uint64_t key, node_id to,
               enum sync_carry carry, struct message *message);
/** It has come. @return TM_OK, TM_EWIRE: what has come along makes no sense */
tm_status lock_unpack(struct sync *sync, uint64_t key, node_id from,
                      enum sync_carry carry, const struct message *message);
/** Are data bound to it that this node is to pass on? */
bool lock_has_data(const struct sync *sync, uint64_t key);

static inline void send_to(struct sync *sync, node_id to,
                           const struct message *message)
{
    port_send(sync->port, to, message);
}

/** Answer a call of another node (or of this one). */
void answer(struct sync *sync, node_id to, uint64_t token, tm_status status,
            uint64_t result);

/** sync_ops.program_error() with a formatted text. */
__attribute__((format(printf, 2, 3))) void report_error(struct sync *sync,
                                                        const char *format,
                                                        ...);

/** Room for what place_text() writes. */
enum { PLACE_SIZE = 160 };

/** "<before>main (a.c:12)", "" if the place is 0. @return text */
const char *place_text(const struct sync *sync, const char *before,
                       uint64_t place, char text[PLACE_SIZE]);

/** At least this many bytes to write a body into; valid until the next call. */
uint8_t *scratch_get(struct sync *sync, size_t size);

/** A condition variable, at its manager: cond.c. */
struct cond {
    uint64_t key;
    struct request_queue waiting;
};

/** A semaphore: sem.c. */
struct sem {
    uint64_t key;
    bool is_known; ///< on this node: it is initialised

    // the manager's part
    bool is_initialised;
    uint32_t value;
    struct request_queue waiting;
};

/** A reader-writer lock: rwlock.c. */
struct rwlock {
    uint64_t key;
    struct request_queue
        own; ///< threads of this node that hold it, if data are
             ///< bound to it

    // the manager's part
    struct request_queue holders;
    struct request_queue waiting;
};

/** May somebody who does not hold it have it, besides those who do? */
bool rwlock_fits(const struct rwlock *lock, bool is_writer);

enum once_state { ONCE_NEW, ONCE_RUNNING, ONCE_DONE };

/** What is done once: once.c. */
struct once {
    uint64_t key;
    bool is_known; ///< on this node: it is done

    // the manager's part
    enum once_state state;
    uint64_t thread; ///< that does it, or did
    struct request_queue waiting;
};

/** A key of values of the threads' own, on the root: keys.c. */
struct key_record {
    uint64_t number;
    uint64_t destructor;
    bool is_used;
};

enum key_op { KEY_CREATE, KEY_DELETE, KEY_DESTRUCTOR };

/** A thread that creates others: thread_calls.c. */
struct creator {
    uint64_t thread;
    uint32_t n_held; ///< by the root, until they are launched
    uint64_t since_ns;
};

/** The record of a condition variable, semaphore, reader-writer lock or of what is done
 * once, new if need be: its first member is its key. */
void *object_get(struct table *objects, uint64_t key);

/** The manager has said that a semaphore is initialised. */
static inline void sem_know(struct sync *sync, uint64_t key)
{
    struct sem *sem = object_get(&sync->sems, key);

    sem->is_known = true;
}

/* A message of a type has arrived: TM_OK, or TM_EWIRE and nothing changed. */
typedef tm_status receive_fn(struct sync *sync, node_id from,
                             const struct message *message);

/* All types: X(message, its function, does it go to the root only?) */
#define SYNC_MESSAGES(X)                                                       \
    X(lock_ask, lock_receive_ask, false)                                       \
    X(lock_cancel, lock_receive_cancel, false)                                 \
    X(lock_cancelled, lock_receive_cancelled, false)                           \
    X(wait_cancel, sync_receive_cancel, false)                                 \
    X(lock_grant, lock_receive_grant, false)                                   \
    X(lock_recall, lock_receive_recall, false)                                 \
    X(lock_back, lock_receive_back, false)                                     \
    X(lock_decline, lock_receive_decline, false)                               \
    X(lock_busy, lock_receive_busy, false)                                     \
    X(unlock_away, lock_receive_unlock, false)                                 \
    X(cond_wait, cond_receive_wait, false)                                     \
    X(cond_signal, cond_receive_signal, false)                                 \
    X(cond_wake, cond_receive_wake, false)                                     \
    X(sem_init, sem_receive_init, false)                                       \
    X(sem_wait, sem_receive_wait, false)                                       \
    X(sem_post, sem_receive_post, false)                                       \
    X(rwlock_ask, rwlock_receive_ask, false)                                   \
    X(rwlock_unlock, rwlock_receive_unlock, false)                             \
    X(once_ask, once_receive_ask, false)                                       \
    X(barrier_init, barrier_receive_init, false)                               \
    X(barrier_arrive, barrier_receive_arrive, false)                           \
    X(barrier_leave, barrier_receive_leave, false)                             \
    X(barrier_relay, barrier_receive_relay, false)                             \
    X(barrier_pass, barrier_receive_pass, false)                               \
    X(barrier_check, thread_registry_receive_check, true)                      \
    X(barrier_starved, barrier_receive_starved, false)                         \
    X(call_done, call_receive_done, false)                                     \
    X(thread_create, thread_registry_receive_create, true)                     \
    X(thread_launch, thread_registry_receive_launch, true)                     \
    X(thread_start, threads_receive_start, false)                              \
    X(thread_exit, thread_registry_receive_exit, true)                         \
    X(thread_join, thread_registry_receive_join, true)                         \
    X(thread_detach, thread_registry_receive_detach, true)                     \
    X(key_call, key_receive_call, true)                                        \
    X(thread_migrate, thread_registry_receive_migrate, true)                   \
    X(thread_target, threads_receive_target, false)                            \
    X(thread_at, thread_registry_receive_at, true)                             \
    X(thread_missed, thread_registry_receive_missed, true)                     \
    X(thread_interrupt, sync_receive_interrupt, false)                         \
    X(lock_part, lock_receive_part, false)                                     \
    X(cond_part, cond_receive_part, false)                                     \
    X(sem_part, sem_receive_part, false)                                       \
    X(rwlock_part, rwlock_receive_part, false)                                 \
    X(rwlock_data, rwlock_receive_data, false)                                 \
    X(once_part, once_receive_part, false)                                     \
    X(barrier_part, barrier_receive_part, false)                               \
    X(lock_last, lock_receive_last, false)

#define DECLARE(message, receive, at_root) receive_fn receive;
SYNC_MESSAGES(DECLARE)
#undef DECLARE

/* Lines of sync_next_wait(): the line at a position of the object at a place of
 * a table. */
enum wait_line {
    LINE_WRITTEN,
    LINE_NEXT_PLACE, ///< this place has no more lines
    LINE_NO_PLACE,   ///< there is no such place
};

typedef enum wait_line wait_line_fn(const struct sync *sync, uint32_t place,
                                    uint32_t position, char *text, size_t size);

wait_line_fn lock_wait_line;
wait_line_fn rwlock_wait_line;
wait_line_fn barrier_wait_line;
wait_line_fn call_wait_line;

/** lock.c: may this thread wait for a condition variable with this mutex? TM_EPERM: it
 * does not hold it on this node; TM_EINVAL: more than once. */
tm_status lock_may_wait(const struct sync *sync, uint64_t key, uint64_t thread);
/** lock.c: whoever has waited until now gives up. */
void lock_poll(struct sync *sync, uint64_t now_ns);
/** lock.c, rwlock.c: see sync_holds(), sync_thread_holds(). */
bool lock_is_held_by(const struct sync *sync, uint64_t key, uint64_t thread);
bool lock_holds_any(const struct sync *sync, uint64_t thread);
bool rwlock_is_held_by(const struct sync *sync, uint64_t key, uint64_t thread,
                       int to_write);
bool rwlock_holds_any(const struct sync *sync, uint64_t thread);
/** cond.c, sem.c, rwlock.c: a call's time is over. If it still waits here, answer that. */
void cond_cancel(struct sync *sync, node_id from, uint64_t key, uint64_t token);
void sem_cancel(struct sync *sync, node_id from, uint64_t key, uint64_t token);
void rwlock_cancel(struct sync *sync, node_id from, uint64_t key,
                   uint64_t token);
/** lock.c: give back a mutex that the waiter's thread holds on this node. */
void lock_give_back(struct sync *sync, uint64_t key,
                    const struct waiter *waiter);
/** cond.c: the manager has noted a call of sync_cond_wait(). */
void cond_noted(struct sync *sync, struct call *call);
/** thread_calls.c: the root has made a thread that waits for its launch. */
void threads_created(struct sync *sync, uint64_t creator);

void barrier_poll(struct sync *sync, int workers_are_idle);
void threads_poll(struct sync *sync);

/* Does the record of an object keep its invariants? */
typedef bool valid_fn(const struct sync *sync, const void *record);

valid_fn lock_is_valid;
valid_fn cond_is_valid;
valid_fn sem_is_valid;
valid_fn rwlock_is_valid;
valid_fn once_is_valid;
valid_fn barrier_is_valid;
/** As many are watched as say so. */
bool barriers_are_watched(const struct sync *sync);
bool keys_are_valid(const struct sync *sync);
bool thread_registry_is_valid(const struct thread_registry *registry);

/** barrier.c: the records' own memory. */
void barrier_release_all(struct sync *sync);
/** barrier_relay.c: what is held back goes on. */
void barriers_freeze(struct sync *sync);
/** barrier_relay.c: the roster is another: nobody leads, and all arrivals that there are are
 * known to have come from their own nodes. */
void barriers_forget_ways(struct sync *sync);

#endif

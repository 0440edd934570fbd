// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "base/waiter.h"
#include "net/port.h"

/*
 * Distributed mutexes, condition variables, semaphores, barriers and the list
 * of threads, as one state machine a node: calls and messages in, messages and
 * wake-ups out. Objects are named by a key, the address of the program's
 * object. The object's *manager* is a node drawn from the key. Called under the
 * node lock. The same code runs over the simulated network.
 *
 * Releases. The consistency protocol must have pushed a node's writes before
 * another node learns of a release. This layer therefore asks for it through
 * sync_ops.release, at the points where an event leaves the node.
 */
struct sync;

/** Where the threads of this node are at a barrier. */
enum sync_stage {
    STAGE_ARRIVED, ///< those gathered here have arrived; the release comes next
    STAGE_SENT,    ///< the arrival is about to be sent behind it
    STAGE_PASSING, ///< the barrier is open; they are about to be woken
};

/** What this layer needs of those above. None of these may call it back. */
/** How the next message orders what the program's threads do. */
enum sync_order {
    SYNC_GIVES,  ///< this node has released, and the object's manager is told
    SYNC_TAKES,  ///< the object's manager lets threads of the node go on
    SYNC_PASSES, ///< this node has released, and lets threads of the node go on
    SYNC_RELAYS, ///< the node is told what this one was told of the object
    SYNC_COMES,  ///< the same to this node itself, at once
};

/** How data that are bound to a lock go along with it. */
enum sync_carry {
    CARRY_MOVES, ///< the sender has the lock no more: a mutex, a new manager
    CARRY_LENT,  ///< a reader-writer lock's, to read: its manager keeps them
    CARRY_LENT_TO_WRITE, ///< the same, to write
    CARRY_BACK,          ///< to the manager, from who has held it
};

struct sync_ops {
    void *owner;

    /** Push what this node's threads have written; wake done when every copy
     * has it (at once, before returning, if there is nothing to push). Several
     * may be under way, and may end in any order.
     * @param next  the node that wake() is going to send to, and that is the
     *              first to hear of the release: the writes may still be on
     *              their way to it, ahead of that message. NODE_NONE: nobody */
    void (*release)(void *owner, node_id next, struct waiter *done);

    /** Start a thread on this node.
     * @return TM_OK
     * @return TM_EWIRE  its slot is in use here: there can be no such thread */
    tm_status (*start)(void *owner, uint64_t thread, uint64_t start,
                       uint64_t arg, const char *name);

    /** This thread is to move to a node at its next iteration end; the latest
     * request counts.
     * @return 1 noted, 0 the thread is not on this node (it has moved or ended
     *         meanwhile): the root finds it */
    int (*set_target)(void *owner, uint64_t thread, node_id node);

    /** How many threads of this node could still arrive at a barrier without
     * being woken: those running or runnable. 0: what has arrived is all. */
    unsigned (*n_active)(void *owner);

    /** Threads that live on this node. */
    unsigned (*n_threads)(void *owner);

    /** Some threads of this node are at a stage of a barrier. */
    void (*at_barrier)(void *owner, uint64_t key, enum sync_stage stage);

    /** Where in the program a call was made: "main (a.c:12)".
     * @param place  of a waiter, of any node; not 0 */
    void (*describe_place)(void *owner, uint64_t place, char *text,
                           size_t size);

    /** The next message to a node orders what the program's threads do; for finding
     * data races.
     * @param object    what it is about: an address, or THREAD_OBJECT */
    void (*order)(void *owner, uint64_t object, node_id to,
                  enum sync_order order);

    /** The same of a mutex, whose token goes with the message: what was written under
     * other mutexes it need not order. */
    void (*order_mutex)(void *owner, uint64_t key, node_id to,
                        enum sync_order order);

    /** A thread of this node has got a mutex, or gives it back: alternately, also where
     * one hands it to the next. */
    void (*held)(void *owner, uint64_t key, int is_held);

    /** Data may be bound to a lock, and go along with it: bytes that this layer carries
     * and does not look at. The three slots may be NULL: there are none.
     * The lock goes to a node, which may be this one, with the next message.
     * @param[out] size  bytes
     * @return what goes along, until the next call; NULL and 0: nothing */
    const void *(*lock_leaves)(void *owner, uint64_t key, node_id to,
                               enum sync_carry carry, uint32_t *size);
    /** It has come, with these. @return TM_OK, TM_EWIRE */
    tm_status (*lock_comes)(void *owner, uint64_t key, node_id from,
                            enum sync_carry carry, const void *bytes,
                            uint32_t size);
    /** Are data bound to it that this node is to pass on? */
    int (*has_data)(void *owner, uint64_t key);

    /** How many of n threads that are about to start each node is to get. May be NULL: as
     * many each.
     * @param nodes       [n_nodes], rising
     * @param load        [TM_MAX_NODES], by node: threads there
     * @param[out] counts [n_nodes], sum n
     * @return whether it has said so */
    int (*share_out)(void *owner, const node_id *nodes, unsigned n_nodes,
                     const uint32_t *load, uint32_t n, uint32_t *counts);

    /** The program did something wrong that cannot be returned: says `text` and
     * ends with exit code 70. In tests it may return. */
    void (*program_error)(void *owner, const char *text);
};

/** The port must outlive it, ops are copied.
 * @param max_threads  besides main(): slots 1..max_threads are given out; the
 *                     same on all nodes
 * @return NULL if memory is short */
struct sync *sync_new(const struct port *port, const struct sync_ops *ops,
                      uint32_t max_threads);
/** Those who still wait are not woken. NULL is accepted. */
void sync_free(struct sync *sync);

/** A message of OWNER_sync has arrived.
 * @return TM_OK, TM_EWIRE (fields make no sense: counted, nothing changed) */
tm_status sync_receive(struct sync *sync, node_id from,
                       const struct message *message);

/** Messages that sync_receive() refused. */
uint64_t sync_n_refused(const struct sync *sync);

/** To be called now and then (each ms while threads wait, and whenever the
 * workers run out of runnable threads): sends barrier arrivals that were held
 * back to travel together, and launches threads created 2 ms ago. */
void sync_poll(struct sync *sync, int workers_are_idle);

/** @return 1 if sync_poll() has something to look at: call it soon */
int sync_wants_poll(const struct sync *sync);

/** @return 1 if some thread of this node has created threads that are not
 * launched yet. May be asked without the node lock. */
int sync_has_batch(const struct sync *sync);

/** Barrier episodes that threads of this node have passed. */
uint64_t sync_n_barriers(const struct sync *sync);
/** The most that threads of this node, and those that they met at barriers, have
 * counted (sync_barrier_arrive()). */
uint64_t sync_most_counted(const struct sync *sync);

/** Does somebody of this node wait only for a time? Then it is not stuck. */
int sync_has_timed(const struct sync *sync);

/* Calls of threads. waiter->thread is the caller, which is woken with the status
 * that the public function returns. Calls that say so give up at waiter->until_ns,
 * a little after it: when sync_poll() comes by. */

/** Woken with the mutex, TM_EDEADLK (the caller holds it), with only_try
 * TM_EBUSY (somebody holds it), TM_ETIMEDOUT. */
void sync_lock(struct sync *sync, uint64_t key, int only_try,
               struct waiter *waiter);
/** @return 1 if another thread of this node holds the mutex, and nobody waits for it: who
 * locks it now would be the first in line. As far as this node has been told. */
int sync_lock_is_busy(const struct sync *sync, uint64_t key, uint64_t thread);
/** Woken at once: if another node waits for the mutex, what was written is
 * pushed before the mutex leaves, and the caller need not wait for that. */
void sync_unlock(struct sync *sync, uint64_t key, struct waiter *waiter);
/** The memory of a mutex is used anew: nobody holds it, and it is of the usual kind, whatever
 * a thread did that is gone. As far as this node has heard of that mutex. Nobody else may use
 * it meanwhile. */
void sync_lock_renew(struct sync *sync, uint64_t key, struct waiter *waiter);
/** The holder says what kind of mutex it is, of enum tm_mutex_type; true from now on, on
 * all nodes. @return TM_OK, TM_EPERM (not held), TM_EBUSY (held more than once) */
tm_status sync_lock_set_type(struct sync *sync, uint64_t key, uint64_t thread,
                             enum tm_mutex_type type);
/** From now on mutexes of the usual kind are as the C library's: any thread unlocks one, also
 * one that nobody holds, and its holder waits if it locks it again. The same on all nodes. */
void sync_let_anyone_unlock(struct sync *sync);
/** From how many records of mutexes on unused ones go; at first 32768. */
void sync_keep_locks(struct sync *sync, size_t n);
/** How many there are on this node. */
size_t sync_n_locks(const struct sync *sync);
/** Woken when signalled and the mutex is held again; TM_ETIMEDOUT: that too, but
 * for the signal. TM_EPERM: not held, TM_EINVAL: more than once. */
void sync_cond_wait(struct sync *sync, uint64_t key, uint64_t mutex,
                    struct waiter *waiter);
void sync_cond_signal(struct sync *sync, uint64_t key, int all,
                      struct waiter *waiter);
/** Woken with TM_OK when waiter->until_ns is over, and by nothing else. */
void sync_sleep(struct sync *sync, struct waiter *waiter);
void sync_sem_init(struct sync *sync, uint64_t key, uint32_t value,
                   struct waiter *waiter);
/** Also woken with TM_ETIMEDOUT; with only_try TM_EBUSY instead of waiting. */
void sync_sem_wait(struct sync *sync, uint64_t key, int only_try,
                   struct waiter *waiter);
/** A thread that waits for a semaphore by a waiter that may be interrupted is woken with
 * TM_ETIMEDOUT, wherever it is. The caller need not know whether it waits. */
void sync_interrupt(struct sync *sync, uint64_t thread);
/** Woken with its value in waiter->result; TM_EINVAL: it was never initialised. */
void sync_sem_ask(struct sync *sync, uint64_t key, struct waiter *waiter);
void sync_sem_post(struct sync *sync, uint64_t key, struct waiter *waiter);
enum sync_hold { HOLD_TO_READ, HOLD_TO_WRITE };

/** Woken with the lock, TM_EDEADLK (the caller holds it, and one of the two writes),
 * TM_ELIMIT, TM_ETIMEDOUT; with only_try TM_EBUSY instead of waiting. */
void sync_rwlock(struct sync *sync, uint64_t key, enum sync_hold hold,
                 int only_try, struct waiter *waiter);
/** Woken with TM_EPERM if the thread does not hold it, which is a program_error. */
void sync_rwlock_unlock(struct sync *sync, uint64_t key, struct waiter *waiter);
/** Woken with result 0: the caller is to do it, and to say when (sync_once_end());
 * 1: it is done, and the node may be told (sync_once_know()) so as to ask no more.
 * TM_EDEADLK: the caller is about it. */
void sync_once_begin(struct sync *sync, uint64_t key, struct waiter *waiter);
void sync_once_end(struct sync *sync, uint64_t key, struct waiter *waiter);
void sync_once_know(struct sync *sync, uint64_t key);
void sync_barrier_init(struct sync *sync, uint64_t key, uint32_t count,
                       struct waiter *waiter);

enum sync_arrival {
    ARRIVE_WAIT,
    ARRIVE_ITERATION,
    ARRIVE_DOUBLE,
    ARRIVE_INT64
};

/** value holds the bits of the double or integer to reduce; the waiter's result
 * holds the bits of the combined value. The waiter's count is what the thread has
 * counted so far; woken, it is the most that any thread who met there had. */
void sync_barrier_arrive(struct sync *sync, uint64_t key,
                         enum sync_arrival kind, tm_op op, uint64_t value,
                         struct waiter *waiter);

/** The stack slot of a thread, 1..max_threads; 0 is main(). Numbers are unique
 * in a run, slots are those of threads that have been joined, the lowest first.
 */
static inline uint32_t thread_slot_of(uint64_t thread)
{
    return (uint32_t)thread;
}

/** Result: the number of the new thread. name may be NULL, its first 15
 * characters count; the rest as in tm_thread_attr. */
void sync_thread_create(struct sync *sync, uint64_t start, uint64_t arg,
                        const tm_thread_attr *attr, struct waiter *waiter);
/** The caller is about to block or yield: its new threads start now. Cheap when
 * there are none. */
void sync_thread_launch(struct sync *sync, uint64_t creator);
/** A thread of this node has ended; releases first. To be called when the node
 * no longer uses its slot: the next ops.start may have the same. */
void sync_thread_exit(struct sync *sync, uint64_t thread, uint64_t result);
/** Result: what its function returned. main() joins itself to wait for the end of all
 * others. */
void sync_thread_join(struct sync *sync, uint64_t thread,
                      struct waiter *waiter);
/** TM_EINVAL: it is detached, or somebody waits for its end; TM_ENOTHREAD. */
void sync_thread_detach(struct sync *sync, uint64_t thread,
                        struct waiter *waiter);
/** The most keys at a time. */
enum { SYNC_KEYS_MAX = 1024 };

/** Result: a key, whose low half is its place, 1 to SYNC_KEYS_MAX. TM_ELIMIT.
 * @param destructor  address of the program's function, 0: none */
void sync_key_create(struct sync *sync, uint64_t destructor,
                     struct waiter *waiter);
/** TM_EINVAL: there is no such key. */
void sync_key_delete(struct sync *sync, uint64_t key, struct waiter *waiter);
/** Result: its destructor, 0 if it has none or there is no such key (any more). */
void sync_key_destructor(struct sync *sync, uint64_t key,
                         struct waiter *waiter);
void sync_thread_migrate(struct sync *sync, uint64_t thread, node_id node,
                         struct waiter *waiter);
/** A thread has moved to this node.
 * @param moves  how often it has moved up to now, this time included */
void sync_thread_arrived(struct sync *sync, uint64_t thread, uint32_t moves);
/** @return 1 if the thread holds a mutex, or a reader-writer lock that data are bound to:
 * then it must not move now. */
int sync_thread_holds(const struct sync *sync, uint64_t thread);
/** @return 1 if the thread holds this mutex, or a reader-writer lock that data are bound
 *          to, on this node
 * @param to_write  not to read only */
int sync_holds(const struct sync *sync, uint64_t key, uint64_t thread,
               int to_write);
/** Data have been bound to a reader-writer lock by a thread of this node that holds it to
 * write. */
void sync_rwlock_bound(struct sync *sync, uint64_t key, uint64_t thread);
/** @return 1 if this node is the manager of an object */
int sync_manages(const struct sync *sync, uint64_t key);

/* A change of the roster: manager_change.c. Under the node lock, while all nodes have
 * stopped (reconfig/membership.h). */

/** A change is under way, or is over: parts of objects are taken only meanwhile. */
void sync_freeze(struct sync *sync, int is_frozen);

/** The port's roster is another now. @param before  the one until now; copied */
void sync_roster_changed(struct sync *sync, const struct roster *before);

/** After that on all nodes: send what this node knew as a manager of objects to
 * their new managers. */
void sync_spread(struct sync *sync);

/* Checkpoints: sync_save.c. Under the node lock. */

/** Why may no checkpoint be made now, as far as this node knows? NULL: it may. */
const char *sync_why_unsaved(const struct sync *sync);

/** Send all that is to be saved of objects that this node manages, and on the root of keys
 * and threads, as messages to node 0 of a port that keeps them.
 * While sync_why_unsaved() is NULL on all nodes, and no message is on its way. */
void sync_save(const struct sync *sync, const struct port *to);

/** On the root: how many threads live, or are to start; main() too. */
uint32_t sync_n_alive(const struct sync *sync);

/** On the root: does a thread wait for the end of another, or main() for that of all? */
int sync_has_joiner(const struct sync *sync);

/** On the root: threads that are created are held until sync_restore_threads(). */
void sync_hold_threads(struct sync *sync);

/** On the root: a saved_key. */
void sync_restore_key(struct sync *sync, const struct message *message);

/** On the root: saved_threads, then each saved_thread and saved_result. Those that live are
 * taken to be on the root until sync_restore_place(). @return TM_OK, TM_EWIRE */
TM_CHECKED tm_status sync_restore_threads(struct sync *sync,
                                          const struct message *message);
/** @return TM_OK, TM_EWIRE: no such thread lives */
TM_CHECKED tm_status sync_restore_place(struct sync *sync, uint64_t thread,
                                        node_id node);

/** On the root: how many threads live on a node, main() not counted; a thread on
 * its way counts where it was. */
uint32_t sync_n_threads_on(const struct sync *sync, node_id node);

/** On the root: the next of them, but main(). Call with *cursor 0 first.
 * @return its number, 0 at the end */
uint64_t sync_next_thread_on(const struct sync *sync, node_id node,
                             uint32_t *cursor);

/** The next line of "who waits for what here": call with *cursor 0 first, and
 * nothing else between.
 * @return 1 and a line such as "thread 3 waits for mutex 0x5555 held by thread
 *         4", 0 at the end. The node of the mutex's holder says who holds it,
 *         the barrier's manager how many have arrived. */
int sync_next_wait(const struct sync *sync, uint64_t *cursor, char *text,
                   size_t size);

/** Checks every invariant; for tests and debug builds. */
int sync_is_valid(const struct sync *sync);

#endif

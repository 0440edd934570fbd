// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_ULT_PRIV_H
#define ULT_ULT_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mutex.h"
#include "os/context.h"
#include "ult/duty.h"
#include "ult/gate.h"
#include "ult/sanitize.h"
#include "ult/ult.h"

enum ult_state {
    ULT_RUNNING,   ///< runs, or is in a queue
    ULT_NOTIFIED,  ///< the same, and its next park returns at once
    ULT_PARKED,    ///< context saved; who unparks it puts it into a queue
    ULT_WAITING,   ///< its kernel thread sleeps on the state
    ULT_SUSPENDED, ///< context saved, belongs to the action
    ULT_SUSPENDED_NOTIFIED,
    ULT_GONE
};

struct ult {
    _Atomic uint32_t state; // of enum ult_state
    struct ult *next;       // in the queue or free list that it is in
    struct worker *worker;  // changes before the first run, and while parked
    void *context;          // while it does not run
    void *user;
    void (*entry)(void *arg); // until the first run
    void *arg;
    uint64_t made_ns; // when it became fresh
    unsigned slot;
    char *stack_low;
    char *stack_top;
    _Atomic uint64_t time_ns; // written by its worker, and ult_add_time()
    struct sanitize_fiber fiber;
};

struct queue {
    struct ult *first;
    struct ult *last;
};

enum switch_reason { REASON_YIELD, REASON_PARK, REASON_SUSPEND, REASON_EXIT };

struct worker {
    struct ult_system *system;
    unsigned index;
    pthread_t kernel_thread;
    _Atomic int is_started; ///< kernel_thread may be waited for

    // Used by the worker itself only.
    struct ult *current;
    struct ult *acting; // suspended, and its action runs
    void *context;      // of the loop, while a thread runs
    struct queue ready;
    int turn; // 1: a new thread is next, if there is one
    enum switch_reason reason;
    void (*action)(void *owner, struct ult *thread);
    void *action_owner;
    uint64_t charged_ns;  // processor time that is accounted for
    uint64_t charged_tsc; // the counter at that time
    double ns_per_tsc;    // 0: not known yet
    int was_idle;         // what it used meanwhile is nobody's
    int has_slept;        // or let others run, since the clock was read
    uint64_t skipped_ns;  // idle time by the counter, since the clock was read
    struct duty duty;
    uint32_t ticket; // of the gate; 0: none
    char *own_stack; // of the loop, after ult_adopt() or ult_leave_stack()
    struct sanitize_fiber fiber;

    // Used by all.
    _Alignas(64) struct ult *_Atomic inbox; // made runnable, last one first
    _Atomic uint32_t asleep;                // 1: sleeps, or is about to
    _Atomic uint32_t has_left;              // 1: its loop has ended
    _Atomic unsigned n_threads;             // without the adopted one
    _Atomic uint64_t total_ns;
    _Atomic uint64_t wall_ns; // in threads, by the wall clock
    _Atomic uint64_t n_runs;  // of threads: slice.c
    uint64_t n_runs_seen;     // by slice.c
    _Atomic int kernel_id;    // of its kernel thread; 0: not yet

    struct queue fresh; // never started; REQUIRES(system->mutex)
    _Atomic unsigned n_fresh;
};

struct slot {
    struct ult *_Atomic thread; // NULL: free
    unsigned char is_mapped;    // by who owns the slot
    unsigned char has_arena;    // that is mapped, and perhaps used
};

struct ult_system {
    struct ult_config config;
    size_t stack_slot_size;
    struct worker *workers; // [config.n_workers]
    void (*go_on)(void);    // on a stack of worker 0's own: ult_leave_stack()
    int has_adopted;
    char *adopted_low; // of the adopted stack
    char *adopted_top;
    _Atomic int is_stopping;
    _Atomic int is_stopped_by_first; // ult_stop() was called on worker 0
    _Atomic int is_reversed;         // inboxes are emptied from the top
    uint64_t opened_ns;              // two clocks at one time, to calibrate by
    uint64_t opened_tsc;
    struct gate gate;
    struct awake *_Atomic awake; // while slow nodes are emulated
    void (*leave)(void);         // ult_follow_switches()
    void (*arrive)(void);
    uint64_t canary; // of all but the adopted thread; 0: they have the same
    int (*may_switch)(void *owner, uintptr_t pc, uintptr_t sp); // slice.c
    void *may_switch_owner;
    int has_slicer;
    pthread_t slicer;

    struct slot *slots;           // [config.n_slots], zero pages until used
    _Atomic unsigned high_slot;   // slots from here on were never used
    _Atomic unsigned high_beside; // nor those from here on that are beside

    struct mutex mutex;  // of the new threads' queues and the records
    struct ult *records; // [n_records], zero pages until used
    unsigned n_records;
    unsigned n_used_records;  // REQUIRES(mutex)
    struct ult *free_records; // REQUIRES(mutex)
};

/* queue.c: which thread a worker runs next */

/** After this long any worker may start a thread that has never run. */
enum { PATIENCE_NS = 50 * 1000 * 1000 };

void queue_push(struct queue *queue, struct ult *thread);

/** Is who became runnable last the first to run? See ult_reverse(). */
int queue_is_reversed(const struct worker *worker);

/** The thread that the worker is to run next, or NULL. Its own kernel thread. */
struct ult *queue_next(struct worker *worker);

/** Put those that were made runnable at the end of the ready queue. */
void queue_empty_inbox(struct worker *worker);

/** Might queue_next() find something? Sequentially consistent: see I3.
 * @param[out] later  1 if it will in a while, without being told */
int queue_has_next(struct worker *worker, int *later);

/** Put a thread that may run at the end of its worker's queue. Any kernel
 * thread. */
void queue_make_ready(struct ult *thread);

/** Put a thread that has never run at the end of the new threads of the worker
 * with the fewest threads. Any kernel thread. */
void queue_add_fresh(struct ult_system *system, struct ult *thread);

/** The worker with the fewest threads, which has one more from now on. */
struct worker *queue_shortest(struct ult_system *system);

/** Wake the worker if it sleeps. @return 1 if it did */
int queue_wake(struct worker *worker);

/** Is there nothing else that the worker could run now? Its own kernel thread. */
int queue_is_empty(const struct worker *worker);

/* stack_slot.c: a slot's addresses, the same on all nodes */

/** Reserve the addresses of all slots. @return TM_OK, TM_ENOMEM, TM_EBUSY */
tm_status slots_open(struct ult_system *system);
void slots_close(struct ult_system *system);

/** From this slot on those of threads beside. */
static inline unsigned slots_first_beside(const struct ult_system *system)
{
    return system->config.n_slots - system->config.n_beside;
}

/** The next slot that was ever used, n_slots if there is none. */
static inline unsigned slots_behind(const struct ult_system *system,
                                    unsigned slot)
{
    const unsigned first = slots_first_beside(system);

    slot++;
    if (slot < first && slot >= atomic_load(&system->high_slot)) {
        slot = first;
    }
    return slot >= first && slot >= atomic_load(&system->high_beside)
               ? system->config.n_slots
               : slot;
}

/** Take a record and give it a slot, its stack mapped and all zero.
 * @return TM_OK, TM_EBUSY (slot in use), TM_ENOMEM */
TM_CHECKED tm_status stack_slot_take(struct ult_system *system, unsigned slot,
                                     struct ult **thread);

/** Give the stack's memory back and free the slot, not the record. */
void stack_slot_release(struct ult_system *system, struct ult *thread);
void record_free(struct ult_system *system, struct ult *thread);

char *stack_slot_low(const struct ult_system *system, unsigned slot);
char *stack_slot_top(const struct ult_system *system, unsigned slot);

/** The slot's arena; NULL if it is not mapped. */
struct arena *stack_slot_arena(const struct ult_system *system, unsigned slot);
/** Map it, if it is not. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status stack_slot_map_arena(struct ult_system *system,
                                          unsigned slot);
char *stack_slot_alternate_low(const struct ult_system *system, unsigned slot);

/* worker.c: the loop of a worker */

/** The worker whose kernel thread this is, or NULL. A thread may find itself
 * on another one, in another process, after each switch. */
struct worker *worker_self(void);
void worker_set_self(struct worker *worker);

/** Switch from the current thread to its worker's loop, which does what the
 * reason says. */
void worker_leave(enum switch_reason reason,
                  void (*action)(void *owner, struct ult *thread), void *owner);

/** Where a new context of a thread begins. */
void worker_thread_begins(struct context_transfer transfer);

/** Where the loop of worker 0 begins when it has been adopted. */
void worker_loop_begins(struct context_transfer transfer);

/** What the worker has used until now is nobody's. */
void worker_restart_clock(struct worker *worker);

/** Enter the gate with the thread that is about to run, or runs. */
void worker_enter_gate(struct worker *worker, struct ult *thread);

/** Run threads until ult_stop(). */
void worker_loop(struct worker *worker);

/** The worker's loop has ended: tell who waits in ult_stop(). */
void worker_say_left(struct worker *worker);

#endif

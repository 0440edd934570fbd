// SPDX-License-Identifier: BSD-3-Clause
// The public functions of chapters 3, 6 and 7: each is a call of sync/ and a
// wait for its answer.
#include "base/clock.h"
#include "base/log.h"
#include "protocol/protocol_calls.h"
#include "runtime/event_trace.h"
#include "runtime/iteration.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"
#include "runtime/unchanged.h"

#include <string.h>
#include <time.h>

#define FOR_EVER_S (1000 * 365 * 86400ll)

// How often a busy mutex is looked at before the caller gets in line, and pauses between.
enum { N_LOOKS = 8, N_PAUSES = 8 };

// The node, for functions that are not given it.
static struct node *own_node(void)
{
    return &this_node;
}

static int is_done(const struct wait *wait)
{
    return atomic_load_explicit(&wait->is_done, memory_order_acquire);
}

static tm_status await_answer(struct node *node, struct wait *wait)
{
    if (!is_done(wait)) {
        uint64_t began_ns = clock_now_ns();

        wait_for(wait, 1);
        atomic_fetch_add_explicit(&node->sync_ns, clock_now_ns() - began_ns,
                                  memory_order_relaxed);
        trace_call(node, wait->call, began_ns);
    }
    return wait->waiter.status;
}

// A time is kept by the service thread.
static tm_status leave_call(struct node *node, struct wait *wait)
{
    const int has_time = wait->waiter.until_ns > 0;

    node_leave(node);
    if (has_time && !is_done(wait)) {
        node_wake_service(node);
    }
    return await_answer(node, wait);
}

static uint64_t key_of(struct node *node, const void *object)
{
    argument_note_object(&node->arguments, object);
    return (uint64_t)(uintptr_t)object;
}

// When a call gives up, by the node's clock. It counts from the call on: setting the
// host's clock later changes nothing. A time of long ago is 1 ns: 0 is "never".
static tm_status read_deadline(const struct timespec *deadline,
                               uint64_t *until_ns)
{
    const int64_t second_ns = 1000000000;
    struct timespec now;
    int64_t left_s;

    if (deadline == NULL || deadline->tv_nsec < 0 ||
        deadline->tv_nsec >= second_ns) {
        return TM_EINVAL;
    }
    clock_gettime(CLOCK_REALTIME, &now); // the program's clock
    if (__builtin_sub_overflow(deadline->tv_sec, now.tv_sec, &left_s) ||
        left_s < 0) {
        *until_ns = 1;
    } else if (left_s > FOR_EVER_S) {
        *until_ns = 0;
    } else {
        int64_t left_ns = left_s * second_ns + deadline->tv_nsec - now.tv_nsec;

        *until_ns = left_ns <= 0 ? 1 : clock_now_ns() + (uint64_t)left_ns;
    }
    return TM_OK;
}

#define BEGIN_CALL(function)                                                   \
    struct node *const node = own_node();                                      \
    struct sync *const sync = node->sync;                                      \
    struct wait wait;                                                          \
    tm_status status = CHECK_CALL(function);                                   \
                                                                               \
    if (status != TM_OK) {                                                     \
        return status;                                                         \
    }                                                                          \
    wait_begin_call(node, &wait);                                              \
    wait.call = (function)

// The same for one that gives up at a time.
#define BEGIN_TIMED_CALL(function, deadline)                                   \
    uint64_t until_ns;                                                         \
                                                                               \
    if (read_deadline((deadline), &until_ns) != TM_OK) {                       \
        return TM_EINVAL;                                                      \
    }                                                                          \
    BEGIN_CALL(function);                                                      \
    wait.waiter.until_ns = until_ns

unsigned tm_node_count(void)
{
    struct node *const node = own_node();

    return node_step(node) == RUNTIME_NONE
               ? 1
               : prepared_n_nodes(&node->prepared, node->n_nodes);
}

int tm_node_is_alive(unsigned id)
{
    struct node *const node = own_node();
    int is_alive;

    if (node_step(node) == RUNTIME_NONE) {
        return id == 0;
    }
    node_enter_serving(node);
    is_alive =
        id < node->n_nodes && roster_has(&node->port.roster, (node_id)id);
    node_leave(node);
    return is_alive;
}

unsigned tm_node_self(void)
{
    struct node *const node = own_node();

    return node->self;
}

int teamster_stays_alone(void)
{
    const struct bootstrap *bootstrap = &own_node()->bootstrap;

    return !bootstrap_has_launcher(bootstrap) && bootstrap->pmix == NULL;
}

unsigned tm_node_workers(void)
{
    struct node *const node = own_node();

    return node_step(node) == RUNTIME_NONE ? 1 : node->n_workers;
}

// Is there another worker, that runs at the same time?
static int has_workers_beside(const struct node *node)
{
    return node->n_workers > 1 &&
           (node->attendance.spins || node->attendance.is_alone);
}

// A mutex that another worker's thread holds is mostly free again before a thread has
// parked; one that is handed to a parked thread is idle until that runs. So the caller looks
// a few times. Who is in line comes first all the same: then it gets in line at once.
static void look_again(struct node *node, uint64_t key, uint64_t thread)
{
    for (unsigned i = 0; i < N_LOOKS && has_workers_beside(node) &&
                         sync_lock_is_busy(node->sync, key, thread);
         i++) {
        node_leave(node);
        for (unsigned k = 0; k < N_PAUSES; k++) {
            __builtin_ia32_pause();
        }
        node_enter(node);
    }
}

tm_status tm_mutex_lock(tm_mutex *mutex)
{
    uint64_t key;

    BEGIN_CALL("tm_mutex_lock");
    key = key_of(node, mutex);
    look_again(node, key, wait.waiter.thread);
    sync_lock(sync, key, 0, &wait.waiter);
    return leave_call(node, &wait);
}

tm_status teamster_mutex_renew(tm_mutex *mutex)
{
    BEGIN_CALL("teamster_mutex_renew");
    sync_lock_renew(sync, key_of(node, mutex), &wait.waiter);
    return leave_call(node, &wait);
}

tm_status teamster_sem_value(tm_sem *sem, unsigned *value)
{
    BEGIN_CALL("teamster_sem_value");
    sync_sem_ask(sync, key_of(node, sem), &wait.waiter);
    status = leave_call(node, &wait);
    *value = (unsigned)wait.waiter.result;
    return status;
}

tm_status teamster_sem_wait(tm_sem *sem, const struct timespec *deadline)
{
    uint64_t until_ns = 0;

    if (deadline != NULL && read_deadline(deadline, &until_ns) != TM_OK) {
        return TM_EINVAL;
    }
    BEGIN_CALL("teamster_sem_wait");
    wait.waiter.until_ns = until_ns;
    wait.waiter.may_interrupt = 1;
    sync_sem_wait(sync, key_of(node, sem), 0, &wait.waiter);
    return leave_call(node, &wait);
}

tm_status teamster_interrupt(tm_thread thread)
{
    BEGIN_CALL("teamster_interrupt");
    sync_interrupt(sync, thread);
    node_leave(node);
    return TM_OK;
}

// Those of which sync/ has a function: it is called, and its answer waited for.
#define SYNC_CALL(name, parameters, call)                                      \
    tm_status name parameters                                                  \
    {                                                                          \
        BEGIN_CALL(#name);                                                     \
        call;                                                                  \
        return leave_call(node, &wait);                                        \
    }

#define SYNC_TIMED_CALL(name, parameters, call)                                \
    tm_status name parameters                                                  \
    {                                                                          \
        BEGIN_TIMED_CALL(#name, deadline);                                     \
        call;                                                                  \
        return leave_call(node, &wait);                                        \
    }

// clang-format off
SYNC_CALL(tm_mutex_trylock, (tm_mutex *mutex),
          sync_lock(sync, key_of(node, mutex), 1, &wait.waiter))
SYNC_TIMED_CALL(tm_mutex_timedlock,
                (tm_mutex *mutex, const struct timespec *deadline),
                sync_lock(sync, key_of(node, mutex), 0, &wait.waiter))
SYNC_CALL(tm_mutex_unlock, (tm_mutex *mutex),
          sync_unlock(sync, key_of(node, mutex), &wait.waiter))

SYNC_CALL(tm_cond_wait, (tm_cond *cond, tm_mutex *mutex),
          sync_cond_wait(sync, key_of(node, cond), key_of(node, mutex),
                         &wait.waiter))
SYNC_TIMED_CALL(tm_cond_timedwait,
                (tm_cond *cond, tm_mutex *mutex,
                 const struct timespec *deadline),
                sync_cond_wait(sync, key_of(node, cond), key_of(node, mutex),
                               &wait.waiter))
SYNC_CALL(tm_cond_signal, (tm_cond *cond),
          sync_cond_signal(sync, key_of(node, cond), 0, &wait.waiter))
SYNC_CALL(tm_cond_broadcast, (tm_cond *cond),
          sync_cond_signal(sync, key_of(node, cond), 1, &wait.waiter))

SYNC_CALL(tm_sem_init, (tm_sem *sem, unsigned value),
          sync_sem_init(sync, key_of(node, sem), value, &wait.waiter))
SYNC_CALL(tm_sem_wait, (tm_sem *sem),
          sync_sem_wait(sync, key_of(node, sem), 0, &wait.waiter))
SYNC_CALL(tm_sem_trywait, (tm_sem *sem),
          sync_sem_wait(sync, key_of(node, sem), 1, &wait.waiter))
SYNC_TIMED_CALL(tm_sem_timedwait,
                (tm_sem *sem, const struct timespec *deadline),
                sync_sem_wait(sync, key_of(node, sem), 0, &wait.waiter))
SYNC_CALL(tm_sem_post, (tm_sem *sem),
          sync_sem_post(sync, key_of(node, sem), &wait.waiter))

SYNC_CALL(tm_rwlock_rdlock, (tm_rwlock *lock),
          sync_rwlock(sync, key_of(node, lock), HOLD_TO_READ, 0, &wait.waiter))
SYNC_CALL(tm_rwlock_tryrdlock, (tm_rwlock *lock),
          sync_rwlock(sync, key_of(node, lock), HOLD_TO_READ, 1, &wait.waiter))
SYNC_TIMED_CALL(tm_rwlock_timedrdlock,
                (tm_rwlock *lock, const struct timespec *deadline),
                sync_rwlock(sync, key_of(node, lock), HOLD_TO_READ, 0,
                            &wait.waiter))
SYNC_CALL(tm_rwlock_wrlock, (tm_rwlock *lock),
          sync_rwlock(sync, key_of(node, lock), HOLD_TO_WRITE, 0, &wait.waiter))
SYNC_CALL(tm_rwlock_trywrlock, (tm_rwlock *lock),
          sync_rwlock(sync, key_of(node, lock), HOLD_TO_WRITE, 1, &wait.waiter))
SYNC_TIMED_CALL(tm_rwlock_timedwrlock,
                (tm_rwlock *lock, const struct timespec *deadline),
                sync_rwlock(sync, key_of(node, lock), HOLD_TO_WRITE, 0,
                            &wait.waiter))
SYNC_CALL(tm_rwlock_unlock, (tm_rwlock *lock),
          sync_rwlock_unlock(sync, key_of(node, lock), &wait.waiter))

SYNC_CALL(tm_barrier_init, (tm_barrier *barrier, unsigned count),
          sync_barrier_init(sync, key_of(node, barrier), count, &wait.waiter))
// clang-format on

static inline __attribute__((always_inline)) tm_status set_type(
    tm_mutex *mutex, tm_mutex_type type, const char *function)
{
    BEGIN_CALL(function);
    sync_lock(sync, key_of(node, mutex), 1, &wait.waiter);
    status = leave_call(node, &wait);
    if (status != TM_OK) {
        return status;
    }
    wait_begin_call(node, &wait);
    status =
        sync_lock_set_type(sync, key_of(node, mutex), wait.waiter.thread, type);
    sync_unlock(sync, key_of(node, mutex), &wait.waiter);
    leave_call(node, &wait);
    return status;
}

tm_status tm_mutex_init(tm_mutex *mutex, tm_mutex_type type)
{
    if (type != TM_MUTEX_NORMAL && type != TM_MUTEX_ERRORCHECK &&
        type != TM_MUTEX_RECURSIVE) {
        return TM_EINVAL;
    }
    return set_type(mutex, type, "tm_mutex_init");
}

tm_status tm_mutex_destroy(tm_mutex *mutex)
{
    return set_type(mutex, TM_MUTEX_NORMAL, "tm_mutex_destroy");
}

// Of a lock that the caller holds.
static tm_status bind_bytes(struct node *node, uint64_t key,
                            enum lock_home home, uint64_t thread,
                            const void *data, size_t size)
{
    page_no page;

    if (!space_find(&node->space, data, &page)) {
        return TM_EINVAL;
    }
    return engine_bind(node->engine, key, home,
                       page * TM_PAGE_SIZE + (uintptr_t)data % TM_PAGE_SIZE,
                       size, thread);
}

tm_status tm_bind(tm_mutex *mutex, void *data, size_t size)
{
    uint64_t key;

    BEGIN_CALL("tm_bind");
    key = key_of(node, mutex);
    if (sync_holds(sync, key, wait.waiter.thread, 1)) {
        status =
            bind_bytes(node, key, HOME_HERE, wait.waiter.thread, data, size);
        node_leave(node);
        return status;
    }
    sync_lock(sync, key, 0, &wait.waiter);
    status = leave_call(node, &wait);
    if (status != TM_OK) {
        return status;
    }
    wait_begin_call(node, &wait);
    status = bind_bytes(node, key, HOME_HERE, wait.waiter.thread, data, size);
    sync_unlock(sync, key, &wait.waiter);
    leave_call(node, &wait);
    return status;
}

// The caller holds it to write.
static tm_status bind_to_rwlock(struct node *node, uint64_t key,
                                uint64_t thread, const void *data, size_t size)
{
    const enum lock_home home =
        sync_manages(node->sync, key) ? HOME_HERE_LENT : HOME_ELSEWHERE;
    const tm_status status = bind_bytes(node, key, home, thread, data, size);

    if (status == TM_OK) {
        sync_rwlock_bound(node->sync, key, thread);
    }
    return status;
}

tm_status tm_bind_rwlock(tm_rwlock *lock, void *data, size_t size)
{
    uint64_t key;

    BEGIN_CALL("tm_bind_rwlock");
    key = key_of(node, lock);
    sync_rwlock(sync, key, HOLD_TO_WRITE, 0, &wait.waiter);
    status = leave_call(node, &wait);
    if (status != TM_OK) {
        return status;
    }
    wait_begin_call(node, &wait);
    status = bind_to_rwlock(node, key, wait.waiter.thread, data, size);
    sync_rwlock_unlock(sync, key, &wait.waiter);
    leave_call(node, &wait);
    return status;
}

// The caller is to run it. It may move meanwhile.
static tm_status run_once(struct node *node, struct sync *sync, tm_once *once,
                          void (*function)(void))
{
    struct wait wait;

    function();
    wait_begin_call(node, &wait);
    sync_once_end(sync, key_of(node, once), &wait.waiter);
    return leave_call(node, &wait);
}

tm_status tm_once_run(tm_once *once, void (*function)(void))
{
    if (function == NULL) {
        return TM_EINVAL;
    }
    BEGIN_CALL("tm_once_run");
    sync_once_begin(sync, key_of(node, once), &wait.waiter);
    status = leave_call(node, &wait);
    if (status != TM_OK) {
        return status;
    }
    if (wait.waiter.result == 0) {
        return run_once(node, sync, once, function);
    }
    node_enter(node);
    sync_once_know(sync, key_of(node, once));
    node_leave(node);
    return TM_OK;
}

static inline __attribute__((always_inline)) tm_status arrive(
    const tm_barrier *barrier, enum sync_arrival kind, tm_op op, uint64_t value,
    uint64_t *result, const char *function)
{
    int may_move;
    int gives_way;

    BEGIN_CALL(function);
    tasking_forbid(node, function);
    gives_way = paging_note_arrival(node, thread_self());
    may_move = iteration_note(node, thread_self(), key_of(node, barrier), kind);
    if (may_move) {
        tracking_note_end(node, thread_self(), key_of(node, barrier));
        trace_iteration_ends(node);
    }
    wait.waiter.count = thread_self()->n_barriers;
    sync_barrier_arrive(sync, key_of(node, barrier), kind, op, value,
                        &wait.waiter);
    node_leave(node);
    // Who arrived last would be the first to go on. Others have parked, and are
    // woken in the order in which they came.
    gives_way = gives_way && is_done(&wait);
    status = await_answer(node, &wait);
    *result = wait.waiter.result;
    thread_self()->n_barriers = wait.waiter.count;
    if (gives_way) {
        ult_yield();
    }
    tracking_enter(&node->tracking);
    if (may_move && status == TM_OK) {
        threads_move_if_wanted(node);
    }
    if (may_move) {
        trace_iteration_begins(node); // perhaps of another record: T2
    }
    return status;
}

tm_status tm_barrier_wait(tm_barrier *barrier)
{
    uint64_t none;

    return arrive(barrier, ARRIVE_WAIT, TM_SUM, 0, &none, "tm_barrier_wait");
}

tm_status tm_iteration_end(tm_barrier *barrier)
{
    uint64_t none;

    return arrive(barrier, ARRIVE_ITERATION, TM_SUM, 0, &none,
                  "tm_iteration_end");
}

int64_t tm_tune(const char *name, const int64_t *values, unsigned n)
{
    struct node *const node = own_node();

    if (CHECK_CALL("tm_tune") != TM_OK) {
        log_fatal(EXIT_INTERNAL, "tm_tune() has no value for the caller");
    }
    return tuning_value(node, name, values, n);
}

tm_status tm_reduce_double(tm_barrier *barrier, tm_op op, double value,
                           double *result)
{
    uint64_t bits;
    tm_status status;

    memcpy(&bits, &value, sizeof bits);
    status =
        arrive(barrier, ARRIVE_DOUBLE, op, bits, &bits, "tm_reduce_double");
    if (status == TM_OK) {
        memcpy(result, &bits, sizeof bits);
    }
    return status;
}

tm_status tm_reduce_int64(tm_barrier *barrier, tm_op op, int64_t value,
                          int64_t *result)
{
    uint64_t bits;
    tm_status status = arrive(barrier, ARRIVE_INT64, op, (uint64_t)value, &bits,
                              "tm_reduce_int64");

    if (status == TM_OK) {
        *result = (int64_t)bits;
    }
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Which thread runs next, and on which worker. A worker has three queues:
//
//   inbox  threads that somebody made runnable: a stack to which any kernel
//          thread pushes without a lock, and which the worker empties at once
//   ready  the same threads in their order; the worker's own
//   fresh  threads that have never run, under the system's mutex
//
// Ready and fresh threads take turns, so that threads that yield to each other
// for ever do not keep a new one from running.
//
// A thread that has run stays with its worker, unless ult_assign() gives it to
// another; a fresh one may be taken by a worker that has nothing to do. Since that
// settles where it runs for long, the taker must have fewer threads than the other
// worker: otherwise the first worker awake would take all threads of a program
// whose threads begin by waiting for each other. Only a thread that nobody has
// started for PATIENCE_NS, because its worker computes, may be taken by anyone.
//
// I3 No wake-up is lost: a worker sets asleep and then looks at the queues; who
//    queues something does so and then looks at asleep. All four are
//    sequentially consistent, so at least one of them sees the other.
#include "base/clock.h"
#include "base/list.h"
#include "os/kthread.h"
#include "ult/ult_priv.h"

void queue_push(struct queue *queue, struct ult *thread)
{
    list_append(queue, thread);
}

static struct ult *pop(struct queue *queue)
{
    struct ult *thread = queue->first;

    if (thread != NULL) {
        queue->first = thread->next;
    }
    return thread;
}

int queue_is_reversed(const struct worker *worker)
{
    return atomic_load_explicit(&worker->system->is_reversed,
                                memory_order_relaxed);
}

void queue_empty_inbox(struct worker *worker)
{
    struct ult *in_order = NULL;
    struct ult *thread;

    if (atomic_load_explicit(&worker->inbox, memory_order_relaxed) == NULL) {
        return;
    }
    thread = atomic_exchange(&worker->inbox, NULL);
    if (queue_is_reversed(worker)) {
        in_order = thread;
        thread = NULL;
    }
    list_take_each (last, thread) {
        list_push(in_order, last);
    }
    list_take_each (first, in_order) {
        list_append(&worker->ready, first);
    }
}

int queue_wake(struct worker *worker)
{
    if (atomic_load(&worker->asleep) == 0 ||
        atomic_exchange(&worker->asleep, 0) == 0) {
        return 0;
    }
    kthread_wake(&worker->asleep);
    return 1;
}

// Somebody is to look at a worker's new threads: who has fewer threads may take one
// now, others in a while.
static void wake_taker(const struct worker *other)
{
    struct ult_system *system = other->system;
    unsigned n_threads = atomic_load(&other->n_threads);

    for (int may_wait = 0; may_wait < 2; may_wait++) {
        for (unsigned i = 0; i < system->config.n_workers; i++) {
            struct worker *worker = &system->workers[i];

            if ((may_wait || atomic_load(&worker->n_threads) < n_threads) &&
                queue_wake(worker)) {
                return;
            }
        }
    }
}

static int may_take(const struct worker *worker, const struct worker *other)
{
    const struct ult *thread = other->fresh.first;

    return thread != NULL &&
           (worker == other ||
            atomic_load(&worker->n_threads) < atomic_load(&other->n_threads) ||
            clock_now_ns() - thread->made_ns >= PATIENCE_NS);
}

// @return a new thread out of the other worker's queue, or NULL
static struct ult *take_fresh(struct worker *worker, struct worker *other)
{
    struct mutex *mutex = &worker->system->mutex;
    struct ult *thread = NULL;
    unsigned n_left = 0;

    if (atomic_load_explicit(&other->n_fresh, memory_order_relaxed) == 0) {
        return NULL;
    }
    mutex_lock(mutex);
    if (may_take(worker, other)) {
        thread = pop(&other->fresh);
        n_left = atomic_fetch_sub(&other->n_fresh, 1) - 1;
        thread->worker = worker;
        atomic_fetch_sub(&other->n_threads, 1);
        atomic_fetch_add(&worker->n_threads, 1);
    }
    mutex_unlock(mutex);
    if (n_left > 0) {
        wake_taker(other);
    }
    return thread;
}

static struct ult *take_from_others(struct worker *worker)
{
    struct ult_system *system = worker->system;
    unsigned n_workers = system->config.n_workers;

    for (unsigned i = 1; i < n_workers; i++) {
        struct ult *thread = take_fresh(
            worker, &system->workers[(worker->index + i) % n_workers]);

        if (thread != NULL) {
            return thread;
        }
    }
    return NULL;
}

struct ult *queue_next(struct worker *worker)
{
    struct ult *thread = NULL;

    queue_empty_inbox(worker);
    worker->turn = !worker->turn;
    if (worker->turn) {
        thread = take_fresh(worker, worker);
    }
    if (thread == NULL) {
        thread = pop(&worker->ready);
    }
    if (thread == NULL) {
        thread = take_fresh(worker, worker);
    }
    if (thread == NULL) {
        thread = take_from_others(worker);
    }
    return thread;
}

int queue_has_next(struct worker *worker, int *later)
{
    struct ult_system *system = worker->system;
    unsigned own = atomic_load(&worker->n_threads);

    *later = 0;
    if (atomic_load(&worker->inbox) != NULL ||
        atomic_load(&worker->n_fresh) > 0) {
        return 1;
    }
    for (unsigned i = 0; i < system->config.n_workers; i++) {
        struct worker *other = &system->workers[i];

        if (atomic_load(&other->n_fresh) > 0) {
            *later = 1;
            if (own < atomic_load(&other->n_threads)) {
                return 1;
            }
        }
    }
    return 0;
}

void queue_make_ready(struct ult *thread)
{
    struct worker *worker = thread->worker;
    struct ult *first =
        atomic_load_explicit(&worker->inbox, memory_order_relaxed);

    // I3. It also hands the thread's memory over to the worker.
    do {
        thread->next = first;
    } while (!atomic_compare_exchange_weak(&worker->inbox, &first, thread));
    queue_wake(worker);
}

// The worker of an adopted thread comes last among equals.
struct worker *queue_shortest(struct ult_system *system)
{
    unsigned n_workers = system->config.n_workers;
    struct worker *best = &system->workers[n_workers - 1];

    for (unsigned i = n_workers - 1; i-- > 0;) {
        struct worker *worker = &system->workers[i];
        int has_no_other = i > 0 || !system->has_adopted;

        if (atomic_load(&worker->n_threads) + !has_no_other <=
            atomic_load(&best->n_threads)) {
            best = worker;
        }
    }
    atomic_fetch_add(&best->n_threads, 1);
    return best;
}

void queue_add_fresh(struct ult_system *system, struct ult *thread)
{
    struct worker *worker = queue_shortest(system);

    thread->worker = worker;
    thread->made_ns = clock_now_ns();
    mutex_lock(&system->mutex);
    queue_push(&worker->fresh, thread);
    atomic_fetch_add(&worker->n_fresh, 1); // I3
    mutex_unlock(&system->mutex);
    if (!queue_wake(worker)) {
        wake_taker(worker);
    }
}

int queue_is_empty(const struct worker *worker)
{
    return worker->ready.first == NULL &&
           atomic_load_explicit(&worker->inbox, memory_order_relaxed) == NULL &&
           atomic_load_explicit(&worker->n_fresh, memory_order_relaxed) == 0;
}

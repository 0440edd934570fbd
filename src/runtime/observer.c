// SPDX-License-Identifier: BSD-3-Clause
//
// The observer: a kernel thread that looks at the node's memory ten times a second,
// and runs what takes long and must not be done by the service thread, whose time is
// the whole cluster's.
//
//   none   -> runs    observer_start(), by go() in a cluster of several nodes; in a
//                     cluster of one, the first observer_run()
//   runs   -> ended   observer_stop(), when the node leaves
//
// It sleeps on a word, `alarms`, until the next sample is due or somebody has raised
// the word. All signals are blocked on it. A child of fork() has no observer and asks
// for none: its calls of the API are refused.
//
// O1 Jobs run one after another, in the order in which they were asked for, without
//    any lock. One that takes longer than 100 ms looks at `is_stopping`.
// O2 When observer_stop() has returned no job runs and none will. (One that does not
//    end within STOP_TIMEOUT_NS, for a disk that does not answer, is left behind with
//    a warning.)
#include "runtime/observer.h"
#include "base/clock.h"
#include "base/log.h"
#include "os/kthread.h"
#include "runtime/node.h"

#include <string.h>

#define SAMPLE_NS (100 * 1000 * 1000u)
#define STOP_TIMEOUT_NS (2 * 1000 * 1000 * 1000ull)

static int must_stop(struct node *node)
{
    return atomic_load_explicit(&node->observer.is_stopping,
                                memory_order_relaxed);
}

static void raise_alarm(struct node *node)
{
    // Pairs with the load in observe(): whoever sees it sees the job.
    atomic_fetch_add_explicit(&node->observer.alarms, 1, memory_order_release);
    kthread_wake(&node->observer.alarms);
}

// @return 0 if there was none
static int run_next_job(struct node *node)
{
    struct observer *observer = &node->observer;
    observer_job *run = NULL;
    void *owner = NULL;

    mutex_lock(&node->lock);
    if (observer->n_jobs > 0) {
        run = observer->jobs[0].run;
        owner = observer->jobs[0].owner;
        observer->n_jobs--;
        memmove(&observer->jobs[0], &observer->jobs[1],
                observer->n_jobs * sizeof observer->jobs[0]);
    }
    mutex_unlock(&node->lock);
    if (run != NULL) {
        run(owner);
    }
    return run != NULL;
}

// @return nanoseconds until the next sample is due, at least 1
static uint64_t look(struct node *node, uint64_t *due_ns)
{
    uint64_t now_ns = clock_now_ns();

    if (now_ns >= *due_ns) {
        if (node->observer.has_watch) {
            sample_take(&node->observer.sample, &node->observer.watch);
        }
        *due_ns = now_ns + SAMPLE_NS;
    }
    return *due_ns - now_ns;
}

static void *observe(void *argument)
{
    struct node *node = argument;
    uint64_t due_ns = 0;

    while (!must_stop(node)) {
        uint32_t alarms =
            atomic_load_explicit(&node->observer.alarms, memory_order_acquire);
        uint64_t left_ns = look(node, &due_ns);

        if (!run_next_job(node) && !must_stop(node)) {
            kthread_wait(&node->observer.alarms, alarms, left_ns);
        }
    }
    // Pairs with the load in join().
    atomic_store_explicit(&node->observer.has_left, 1, memory_order_release);
    kthread_wake(&node->observer.has_left);
    return NULL;
}

int observer_has_watch(struct node *node)
{
    struct observer *observer = &node->observer;

    if (!observer->has_watch) {
        observer->has_watch = memory_open(&observer->watch, "") == TM_OK;
    }
    return observer->has_watch;
}

tm_status observer_start(struct node *node)
{
    struct observer *observer = &node->observer;
    tm_status status;

    if (observer->state != OBSERVER_NONE) {
        return observer->state == OBSERVER_RUNS ? TM_OK : TM_ESTATE;
    }
    (void)observer_has_watch(node);
    status = kthread_start(&observer->thread, "tm-observer", observe, node);
    if (status == TM_OK) {
        observer->state = OBSERVER_RUNS;
    }
    return status;
}

tm_status observer_run(struct node *node, observer_job *job, void *owner)
{
    struct observer *observer = &node->observer;
    tm_status status = observer_start(node);

    if (status != TM_OK) {
        return status;
    }
    if (observer->n_jobs == OBSERVER_MAX_JOBS) {
        return TM_ELIMIT;
    }
    observer->jobs[observer->n_jobs].run = job;
    observer->jobs[observer->n_jobs].owner = owner;
    observer->n_jobs++;
    raise_alarm(node);
    return TM_OK;
}

int observer_sleep(struct node *node, uint64_t duration_ns)
{
    uint64_t until_ns = clock_now_ns() + duration_ns;
    uint64_t now_ns;

    while (!must_stop(node) && (now_ns = clock_now_ns()) < until_ns) {
        uint32_t alarms =
            atomic_load_explicit(&node->observer.alarms, memory_order_acquire);

        if (!must_stop(node)) {
            kthread_wait(&node->observer.alarms, alarms, until_ns - now_ns);
        }
    }
    return !must_stop(node);
}

// Nobody waits for ever for a job that does not end.
static void join(struct node *node)
{
    _Atomic uint32_t *has_left = &node->observer.has_left;
    const uint64_t until_ns = clock_now_ns() + STOP_TIMEOUT_NS;
    uint64_t now_ns = clock_now_ns();

    while (atomic_load_explicit(has_left, memory_order_acquire) == 0 &&
           now_ns < until_ns) {
        kthread_wait(has_left, 0, until_ns - now_ns);
        now_ns = clock_now_ns();
    }
    if (atomic_load_explicit(has_left, memory_order_acquire) != 0) {
        pthread_join(node->observer.thread, NULL);
    } else {
        log_warning("the observer's work does not end; it is left behind");
        pthread_detach(node->observer.thread);
    }
}

void observer_stop(struct node *node)
{
    int was_running;

    mutex_lock(&node->lock);
    was_running = node->observer.state == OBSERVER_RUNS;
    node->observer.state = OBSERVER_ENDED;
    node->observer.n_jobs = 0;
    mutex_unlock(&node->lock);
    if (was_running) {
        atomic_store_explicit(&node->observer.is_stopping, 1,
                              memory_order_relaxed);
        raise_alarm(node);
        join(node);
    }
}

const struct node_sample *observer_sample(struct node *node)
{
    return &node->observer.sample;
}

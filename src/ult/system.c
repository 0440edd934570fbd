// SPDX-License-Identifier: BSD-3-Clause
// Start and end of a node's workers. Worker 0 is the caller's kernel thread: its
// stack becomes a thread (ult_adopt) or carries the worker's loop (ult_work).
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/awake.h"
#include "os/context.h"
#include "os/kthread.h"
#include "os/range.h"
#include "os/trap.h"
#include "ult/slice.h"
#include "ult/ult_priv.h"

// The loop under an adopted thread calls config.idle() here.
#define LOOP_STACK_SIZE ((size_t)1024 * 1024)

tm_status ult_open(struct ult_system **system, const struct ult_config *config)
{
    struct ult_system *made = calloc(1, sizeof *made);
    tm_status status = TM_ENOMEM;

    ensure(config->n_workers >= 1 && config->n_slots >= 1 &&
           config->stack_size >= (size_t)64 * 1024 &&
           config->stack_size % 4096 == 0);
    if (made == NULL) {
        goto no_memory;
    }
    made->config = *config;
    made->opened_ns = clock_now_ns();
    made->opened_tsc = __builtin_ia32_rdtsc();
    made->workers =
        aligned_alloc(64, config->n_workers * sizeof *made->workers);
    if (made->workers == NULL) {
        goto no_memory;
    }
    memset(made->workers, 0, config->n_workers * sizeof *made->workers);
    for (unsigned i = 0; i < config->n_workers; i++) {
        made->workers[i].system = made;
        made->workers[i].index = i;
        duty_init(&made->workers[i].duty, config->share > 0 ? config->share : 1,
                  config->is_slow_by_kernel, &duty_clock_system);
    }
    status = slots_open(made);
    if (status != TM_OK) {
        goto free_all;
    }
    mutex_init(&made->mutex, RANK_SCHED);
    gate_init(&made->gate);
    *system = made;
    return TM_OK;

no_memory:
    log_error("no memory for %u workers", config->n_workers);
free_all:
    if (made != NULL) {
        free(made->workers);
    }
    free(made);
    return status;
}

// Be this worker on the calling kernel thread until ult_stop().
static void work(struct worker *worker)
{
    char *low;
    size_t size;

    if (worker->own_stack == NULL) { // else it is on that one
        kthread_stack(&low, &size);
        sanitize_init_current(&worker->fiber, low, size);
    }
    worker_set_self(worker);
    if (trap_thread_open() != TM_OK) {
        log_fatal(EXIT_MEMORY, "worker %u has no stack for signals",
                  worker->index);
    }
    worker->was_idle = 1;
    worker->has_slept = 1;
    worker_loop(worker);
    trap_thread_close();
    worker_set_self(NULL);
}

static void *kernel_thread_main(void *argument)
{
    struct worker *worker = argument;

    work(worker);
    worker_say_left(worker);
    return NULL;
}

static void stop_awake(struct ult_system *system)
{
    awake_stop(atomic_exchange(&system->awake, NULL));
}

static void start_awake(struct ult_system *system)
{
    atomic_store(&system->awake, awake_start(system->config.n_workers));
    if (atomic_load(&system->is_stopping)) {
        stop_awake(system); // ult_stop() may have been too early to see it
    }
}

tm_status ult_start_workers(struct ult_system *system)
{
    if (duty_is_on(&system->workers[0].duty)) {
        start_awake(system);
    }
    for (unsigned i = 1; i < system->config.n_workers; i++) {
        struct worker *worker = &system->workers[i];
        char name[24];
        int error = pthread_create(&worker->kernel_thread, NULL,
                                   kernel_thread_main, worker);

        if (error != 0) {
            errno = error;
            log_error("cannot start worker %u of %u: %m; see ulimit -u and the "
                      "cgroup's pids.max",
                      i, system->config.n_workers);
            return TM_ELIMIT;
        }
        snprintf(name, sizeof name, "tm-worker-%u", i);
        pthread_setname_np(worker->kernel_thread, name);
        // Pairs with ult_stop(): the run may end while workers start.
        atomic_store_explicit(&worker->is_started, 1, memory_order_release);
    }
    return TM_OK;
}

static void adopt_stack(struct ult_system *system, struct ult *thread)
{
    struct worker *worker = &system->workers[0];
    size_t size;

    kthread_stack(&system->adopted_low, &size);
    system->adopted_top = system->adopted_low + size;
    system->has_adopted = 1;
    thread->stack_low = system->adopted_low;
    thread->stack_top = system->adopted_top;
    sanitize_release(&thread->fiber);
    sanitize_init_current(&thread->fiber, thread->stack_low, size);
    sanitize_init(&worker->fiber, worker->own_stack, LOOP_STACK_SIZE);
    worker->context = context_make(worker->own_stack + LOOP_STACK_SIZE,
                                   LOOP_STACK_SIZE, worker_loop_begins);
    thread->worker = worker;
    worker->current = thread;
    worker_restart_clock(worker);
    if (duty_is_on(&worker->duty)) {
        duty_begin(&worker->duty);
    }
    worker_set_self(worker);
    trap_use_stack(stack_slot_alternate_low(system, 0), trap_stack_size());
}

tm_status ult_adopt(struct ult_system *system, struct ult **thread)
{
    struct worker *worker = &system->workers[0];
    tm_status status;

    ensure(worker_self() == NULL);
    worker->own_stack = range_new(LOOP_STACK_SIZE);
    if (worker->own_stack == NULL) {
        return TM_ENOMEM;
    }
    status = trap_thread_open();
    if (status == TM_OK) {
        status = stack_slot_take(system, 0, thread);
    }
    if (status != TM_OK) {
        range_free(worker->own_stack, LOOP_STACK_SIZE);
        worker->own_stack = NULL;
        return TM_ENOMEM;
    }
    (*thread)->user = NULL;
    adopt_stack(system, *thread);
    return TM_OK;
}

// The first function on the new stack.
static void begin_anew(struct context_transfer transfer)
{
    struct ult_system *system = transfer.data;

    sanitize_arrive(&system->workers[0].fiber);
    system->go_on();
    ensure(!"nothing is left to return to");
}

tm_status ult_leave_stack(struct ult_system *system, void (*go_on)(void))
{
    struct worker *worker = &system->workers[0];

    ensure(worker_self() == NULL && worker->own_stack == NULL);
    worker->own_stack = range_new(LOOP_STACK_SIZE);
    if (worker->own_stack == NULL) {
        return TM_ENOMEM;
    }
    system->go_on = go_on;
    sanitize_init(&worker->fiber, worker->own_stack, LOOP_STACK_SIZE);
    worker->context = context_make(worker->own_stack + LOOP_STACK_SIZE,
                                   LOOP_STACK_SIZE, begin_anew);
    sanitize_leave(NULL, &worker->fiber);
    context_jump(worker->context, system);
    ensure(!"nobody comes back to this stack");
    return TM_ENOMEM;
}

void ult_work(struct ult_system *system)
{
    ensure(worker_self() == NULL);
    work(&system->workers[0]);
}

// @return 1 if it has
static int await_leaving(struct worker *worker, uint64_t deadline_ns)
{
    while (atomic_load(&worker->has_left) == 0) {
        uint64_t now_ns = clock_now_ns();

        if (now_ns >= deadline_ns) {
            return 0;
        }
        kthread_wait(&worker->has_left, 0, deadline_ns - now_ns);
    }
    return 1;
}

// Wait for a worker other than the caller's. Worker 0's kernel thread is the process's.
static void stop_worker(struct worker *worker, uint64_t deadline_ns)
{
    if (worker == worker_self()) {
        return;
    }
    if (worker->index == 0) {
        if (worker->system->has_adopted) {
            (void)await_leaving(worker, deadline_ns);
        }
        return;
    }
    if (atomic_load_explicit(&worker->is_started, memory_order_acquire) &&
        await_leaving(worker, deadline_ns)) {
        pthread_join(worker->kernel_thread, NULL);
        worker->is_started = 0;
    }
}

void ult_stop(struct ult_system *system, unsigned timeout_ms)
{
    uint64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000ull;

    if (worker_self() == &system->workers[0]) {
        atomic_store(&system->is_stopped_by_first, 1);
    }
    atomic_store(&system->is_stopping, 1);
    stop_awake(system);
    gate_open(&system->gate);
    for (unsigned i = 0; i < system->config.n_workers; i++) {
        queue_wake(&system->workers[i]);
    }
    slice_stop(system);
    for (unsigned i = 0; i < system->config.n_workers; i++) {
        stop_worker(&system->workers[i], deadline_ns);
    }
}

static int all_have_stopped(const struct ult_system *system)
{
    for (unsigned i = 1; i < system->config.n_workers; i++) {
        if (system->workers[i].is_started) {
            log_debug("worker %u does not stop; its memory is kept", i);
            return 0;
        }
    }
    return 1;
}

void ult_close(struct ult_system *system)
{
    if (system == NULL || !all_have_stopped(system)) {
        return;
    }
    if (system->has_adopted) {
        trap_use_stack(NULL, 0);
        trap_thread_close();
        worker_set_self(NULL);
        sanitize_release(&system->workers[0].fiber);
        range_free(system->workers[0].own_stack, LOOP_STACK_SIZE);
    }
    for (unsigned slot = slots_behind(system, 0); slot < system->config.n_slots;
         slot = slots_behind(system, slot)) {
        struct ult *thread = atomic_load(&system->slots[slot].thread);

        if (thread != NULL) {
            sanitize_release(&thread->fiber);
        }
    }
    slots_close(system);
    mutex_release(&system->mutex);
    gate_release(&system->gate);
    free(system->workers);
    free(system);
}

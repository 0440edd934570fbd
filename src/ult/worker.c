// SPDX-License-Identifier: BSD-3-Clause
//
// A worker: a kernel thread that runs threads, one after the other. It has a
// loop of its own, on the kernel thread's stack, or on a stack made for it if
// that one has been adopted as a thread. Every switch goes thread -> loop ->
// thread; what has to happen once a thread's context is complete (let it be
// unparked, hand it to an action, free its stack) is done in the loop.
//
//             ult_spawn                    settle_park
//   (none) ------------> RUNNING ------------------------> PARKED
//                         |   ^ \  ult_unpark               |
//             ult_park(0) |   |  `----------> NOTIFIED      | ult_unpark
//                         v   |                  |          v
//                      WAITING`------------------+-------RUNNING (queued)
//
//   SUSPENDED is PARKED, but for the action only: an ult_unpark() from elsewhere
//   leaves a token in it, since it may be late and mean an earlier wait.
//
// I1 A thread's context is valid whenever its state is PARKED or SUSPENDED: the
//    loop sets the state after the switch.
// I2 Nothing of the kernel thread is kept across a switch in worker_leave(): the
//    thread may have gone to another process meanwhile. worker_self() and
//    arrive() are real calls so that the compiler keeps no thread-local address.
// I3 A worker that ult_stop() has waited for runs nothing more and calls no
//    config.idle(). Nobody waits for the caller's own; worker 0 under an adopted
//    thread goes on if that is the caller's, since the thread may still switch.
//
// Processor time: the kernel's clock costs as much as a fault's other system
// calls, so runs that the time stamp counter shows to be short are charged by
// that counter, and so is the time between two threads in which the worker stayed
// awake, which is nobody's. Others read the clock and are charged what it shows
// beyond all that has been charged before, so errors do not add up, and time in
// which the kernel ran somebody else is not counted. A worker that emulates a slower
// processor (duty.c) charges what that one would have taken.

#include <unistd.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "os/context.h"
#include "os/image.h"
#include "os/kthread.h"
#include "os/trap.h"
#include "ult/ult_priv.h"

#define REAL_CALL __attribute__((noinline, noclone))

enum {
    SHORT_NS = 20 * 1000,
    SKIPPED_NS = 200 * 1000,
    CALIBRATION_NS = 1000 * 1000
};

static _Thread_local struct worker *self
    __attribute__((tls_model("initial-exec")));

REAL_CALL struct worker *worker_self(void)
{
    __asm__ volatile("" ::: "memory");
    return self;
}

REAL_CALL void worker_set_self(struct worker *worker)
{
    __asm__ volatile("" ::: "memory");
    self = worker;
    if (worker != NULL) {
        worker->kernel_id = kthread_id();
    }
}

static void calibrate(struct worker *worker)
{
    const struct ult_system *system = worker->system;
    uint64_t ns = clock_now_ns() - system->opened_ns;

    if (ns >= CALIBRATION_NS) {
        worker->ns_per_tsc =
            (double)ns / (double)(__builtin_ia32_rdtsc() - system->opened_tsc);
    }
}

void worker_restart_clock(struct worker *worker)
{
    worker->charged_ns = clock_thread_cpu_ns();
    worker->charged_tsc = __builtin_ia32_rdtsc();
    worker->was_idle = 0;
    worker->skipped_ns = 0;
    calibrate(worker);
}

// A thread is about to run after nobody did. A worker that has waited for it awake, and not
// for long, need not ask the kernel: the counter says what that took. What it says too much
// then, because the kernel ran somebody else, is not more than SKIPPED_NS in all.
static void skip_idle_time(struct worker *worker)
{
    const uint64_t tsc = __builtin_ia32_rdtsc();
    const uint64_t passed =
        tsc > worker->charged_tsc ? tsc - worker->charged_tsc : 0;
    const double idle_ns = (double)passed * worker->ns_per_tsc;

    if (worker->has_slept || worker->ns_per_tsc == 0 || idle_ns >= SHORT_NS ||
        worker->skipped_ns >= SKIPPED_NS) {
        worker->has_slept = 0;
        worker_restart_clock(worker);
        return;
    }
    worker->charged_ns += (uint64_t)idle_ns;
    worker->charged_tsc = tsc;
    worker->skipped_ns += (uint64_t)idle_ns;
    worker->was_idle = 0;
}

static void add_wall_time(struct worker *worker, uint64_t ns)
{
    uint64_t sum_ns =
        atomic_load_explicit(&worker->wall_ns, memory_order_relaxed) + ns;

    // Others only read it.
    atomic_store_explicit(&worker->wall_ns, sum_ns, memory_order_relaxed);
}

// @return what has been used since the last call, ns
static uint64_t read_clock(struct worker *worker)
{
    uint64_t tsc = __builtin_ia32_rdtsc();
    // The counter of another processor may be behind.
    uint64_t passed = tsc > worker->charged_tsc ? tsc - worker->charged_tsc : 0;
    double run_ns = (double)passed * worker->ns_per_tsc;
    uint64_t now_ns;
    uint64_t used_ns;

    worker->charged_tsc = tsc;
    add_wall_time(worker, (uint64_t)run_ns);
    if (worker->ns_per_tsc > 0 && run_ns < SHORT_NS) {
        worker->charged_ns += (uint64_t)run_ns;
        return (uint64_t)run_ns;
    }
    now_ns = clock_thread_cpu_ns();
    used_ns = now_ns > worker->charged_ns ? now_ns - worker->charged_ns : 0;
    worker->charged_ns += used_ns;
    calibrate(worker);
    return used_ns;
}

static void charge(struct worker *worker, struct ult *thread)
{
    uint64_t used_ns = duty_scale(&worker->duty, read_clock(worker));

    atomic_fetch_add_explicit(&thread->time_ns, used_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&worker->total_ns, used_ns, memory_order_relaxed);
}

uint64_t ult_charge_self(void)
{
    struct worker *worker = worker_self();

    charge(worker, worker->current);
    return ult_time_ns(worker->current);
}

static void settle_park(struct worker *worker, struct ult *thread)
{
    uint32_t state = ULT_RUNNING;

    // Release pairs with the acquire in ult_unpark().
    if (!atomic_compare_exchange_strong_explicit(
            &thread->state, &state, ULT_PARKED, memory_order_release,
            memory_order_acquire)) {
        ensure(state == ULT_NOTIFIED);
        atomic_store_explicit(&thread->state, ULT_RUNNING,
                              memory_order_relaxed);
        if (!queue_is_reversed(worker)) {
            queue_empty_inbox(worker); // they came before it
        }
        queue_push(&worker->ready, thread);
    }
}

static void settle_suspend(struct worker *worker, struct ult *thread)
{
    uint32_t state = ULT_RUNNING;

    if (!atomic_compare_exchange_strong_explicit(
            &thread->state, &state, ULT_SUSPENDED, memory_order_acq_rel,
            memory_order_acquire)) {
        ensure(state == ULT_NOTIFIED);
        atomic_store_explicit(&thread->state, ULT_SUSPENDED_NOTIFIED,
                              memory_order_relaxed);
    }
    worker->acting = thread;
    worker->action(worker->action_owner, thread);
    worker->acting = NULL;
}

static void settle_exit(struct worker *worker, struct ult *thread)
{
    stack_slot_release(worker->system, thread);
    if (thread->slot < slots_first_beside(worker->system)) {
        atomic_fetch_sub(&worker->n_threads, 1);
    }
    worker->action(worker->action_owner, thread);
    record_free(worker->system, thread);
}

static void settle(struct worker *worker, struct ult *thread)
{
    charge(worker, thread);
    switch (worker->reason) {
    case REASON_YIELD:
        queue_empty_inbox(worker); // they came before it
        queue_push(&worker->ready, thread);
        break;
    case REASON_PARK:
        settle_park(worker, thread);
        break;
    case REASON_SUSPEND:
        settle_suspend(worker, thread);
        break;
    case REASON_EXIT:
        settle_exit(worker, thread);
        break;
    }
}

// A handler that is suspended on the alternate stack gets it back when it
// returns (os/trap.c, I2).
static void arm_alternate_stack(const struct worker *worker,
                                const struct ult *thread)
{
    const struct ult_system *system = worker->system;
    char *low;
    size_t size;

    if (!system->config.has_alternate_stacks) {
        return;
    }
    low = stack_slot_alternate_low(system, thread->slot);
    size = trap_stack_size();
    if ((char *)thread->context >= low &&
        (char *)thread->context < low + size) {
        trap_use_stack(NULL, 0);
    } else {
        trap_use_stack(low, size);
    }
}

// A signal that comes while the worker runs no thread is handled on the worker's own stack: on
// that of the thread that it has run another worker may be by then.
static void disarm(const struct worker *worker)
{
    if (worker->system->config.has_alternate_stacks) {
        trap_use_stack(NULL, 0);
    }
}

static void left(struct worker *worker, void *context)
{
    struct ult *thread = worker->current;

    if (duty_is_on(&worker->duty)) {
        duty_end(&worker->duty);
    }
    disarm(worker);
    thread->context = context;
    worker->current = NULL;
    settle(worker, thread);
    gate_leave(&worker->system->gate, &worker->ticket);
}

void worker_enter_gate(struct worker *worker, struct ult *thread)
{
    const struct ult_config *config = &worker->system->config;

    if (gate_enter(&worker->system->gate, &worker->ticket) &&
        config->turn != NULL) {
        config->turn(config->owner, thread);
    }
}

static void run(struct worker *worker, struct ult *thread)
{
    struct context_transfer transfer;

    if (gate_is_closed(&worker->system->gate)) {
        worker_enter_gate(worker, thread);
        worker->was_idle = 1; // what that took is nobody's
        worker->has_slept = 1;
    }
    if (worker->was_idle) {
        skip_idle_time(worker);
    }
    if (duty_is_on(&worker->duty)) {
        duty_begin(&worker->duty);
    }
    arm_alternate_stack(worker, thread);
    atomic_store_explicit(&worker->n_runs, worker->n_runs + 1,
                          memory_order_relaxed);
    worker->current = thread;
    sanitize_leave(&worker->fiber, &thread->fiber);
    transfer = context_jump(thread->context, NULL);
    sanitize_arrive(&worker->fiber);
    left(worker, transfer.from);
}

static REAL_CALL void arrive(struct context_transfer transfer)
{
    struct worker *worker = worker_self();

    sanitize_arrive(&worker->current->fiber);
    worker->context = transfer.from;
    if (worker->system->arrive != NULL) {
        worker->system->arrive();
    }
}

// While the adopted thread does not run its kernel thread has the canary of the others.
__attribute__((no_stack_protector)) REAL_CALL void worker_leave(
    enum switch_reason reason, void (*action)(void *owner, struct ult *thread),
    void *owner)
{
    struct worker *worker = worker_self();
    struct ult *thread = worker->current;
    const int is_apart = thread->slot == 0 && worker->system->canary != 0;
    const uint64_t own = is_apart ? image_canary() : 0;

    worker->reason = reason;
    worker->action = action;
    worker->action_owner = owner;
    if (worker->system->leave != NULL) {
        worker->system->leave();
    }
    sanitize_leave(reason == REASON_EXIT ? NULL : &thread->fiber,
                   &worker->fiber);
    if (is_apart) {
        image_set_canary(worker->system->canary);
    }
    arrive(context_jump(worker->context, NULL)); // I2
    if (is_apart) {
        image_set_canary(own);
    }
}

void worker_thread_begins(struct context_transfer transfer)
{
    struct ult *thread;

    arrive(transfer);
    thread = worker_self()->current;
    thread->entry(thread->arg);
    ensure(!"a thread ends with ult_exit()");
}

void worker_loop_begins(struct context_transfer transfer)
{
    struct worker *worker = worker_self();

    sanitize_arrive(&worker->fiber);
    left(worker, transfer.from);
    worker_loop(worker);
    worker_say_left(worker);
    for (;;) {
        pause(); // somebody else ends the process
    }
}

void worker_say_left(struct worker *worker)
{
    atomic_store(&worker->has_left, 1);
    kthread_wake(&worker->has_left);
}

// I3
static int must_stop(const struct worker *worker)
{
    const struct ult_system *system = worker->system;

    return atomic_load(&system->is_stopping) &&
           !(worker->index == 0 && system->has_adopted &&
             atomic_load(&system->is_stopped_by_first));
}

// Ends when somebody makes a thread of this worker runnable, or at ult_stop().
static void sleep_until_woken(struct worker *worker)
{
    int later;

    atomic_store(&worker->asleep, 1); // I3 of queue.c
    if (queue_has_next(worker, &later) || must_stop(worker)) {
        atomic_store(&worker->asleep, 0);
        return;
    }
    do {
        kthread_wait(&worker->asleep, 1,
                     later ? PATIENCE_NS : SANITIZE_LOOK_NS);
        sanitize_take_signals();
    } while (!later && atomic_load(&worker->asleep) == 1);
    atomic_store(&worker->asleep, 0);
}

void worker_loop(struct worker *worker)
{
    const struct ult_config *config = &worker->system->config;

    while (!must_stop(worker)) {
        struct ult *thread = queue_next(worker);
        int found;

        if (thread != NULL) {
            run(worker, thread);
            continue;
        }
        worker->was_idle = 1;
        found = config->idle == NULL
                    ? 0
                    : config->idle(config->owner, worker->index);
        worker->has_slept |= found != ULT_STAYED_AWAKE;
        if (found == 0) {
            sleep_until_woken(worker);
        }
    }
}

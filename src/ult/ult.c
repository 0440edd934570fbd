// SPDX-License-Identifier: BSD-3-Clause
// What the rest of the library does with threads; see worker.c for their states,
// queue.c for who runs which, stack_slot.c for their stacks, system.c for the workers.
#include "ult/ult.h"

#include "base/ensure.h"
#include "os/context.h"
#include "os/kthread.h"
#include "ult/ult_priv.h"

static tm_status prepare(struct ult_system *system, unsigned slot,
                         void (*entry)(void *arg), void *arg, void *user,
                         struct ult **thread)
{
    struct ult *made;
    tm_status status;

    status = stack_slot_take(system, slot, &made);
    ensure(status != TM_EBUSY);
    if (status != TM_OK) {
        return status;
    }
    made->user = user;
    made->entry = entry;
    made->arg = arg;
    made->context = context_make(made->stack_top, system->config.stack_size,
                                 worker_thread_begins);
    *thread = made;
    return TM_OK;
}

tm_status ult_spawn(struct ult_system *system, unsigned slot,
                    void (*entry)(void *arg), void *arg, void *user,
                    struct ult **thread)
{
    tm_status status;

    ensure(slot >= 1 && slot < slots_first_beside(system));
    status = prepare(system, slot, entry, arg, user, thread);
    if (status == TM_OK) {
        queue_add_fresh(system, *thread);
    }
    return status;
}

tm_status ult_spawn_beside(struct ult_system *system, unsigned slot,
                           unsigned worker, void (*entry)(void *arg), void *arg,
                           void *user, struct ult **thread)
{
    tm_status status;

    ensure(slot >= slots_first_beside(system) && slot < system->config.n_slots);
    status = prepare(system, slot, entry, arg, user, thread);
    if (status == TM_OK) {
        (*thread)->worker = &system->workers[worker];
        queue_make_ready(*thread);
    }
    return status;
}

_Noreturn void ult_exit(void (*after)(void *owner, struct ult *thread),
                        void *owner)
{
    ensure(ult_self() != NULL && ult_self()->slot != 0);
    worker_leave(REASON_EXIT, after, owner);
    ensure(!"a thread that has ended does not come back");
    __builtin_unreachable();
}

struct ult *ult_self(void)
{
    struct worker *worker = worker_self();

    return worker != NULL ? worker->current : NULL;
}

void *ult_user(const struct ult *thread)
{
    return thread->user;
}

void ult_set_user(struct ult *thread, void *user)
{
    thread->user = user;
}

unsigned ult_slot(const struct ult *thread)
{
    return thread->slot;
}

void ult_assign(struct ult *thread, unsigned index)
{
    struct worker *old = thread->worker;
    struct worker *worker = &old->system->workers[index];

    // Acquire pairs with settle_park(): the context is complete.
    if (old == worker || thread->slot == 0 ||
        atomic_load_explicit(&thread->state, memory_order_acquire) !=
            ULT_PARKED) {
        return;
    }
    atomic_fetch_sub(&old->n_threads, 1);
    atomic_fetch_add(&worker->n_threads, 1);
    thread->worker = worker;
}

unsigned ult_worker(const struct ult *thread)
{
    return thread->worker->index;
}

void ult_stack(const struct ult *thread, char **low, char **top)
{
    *low = thread->stack_low;
    *top = thread->stack_top;
}

struct arena *ult_arena(const struct ult *thread)
{
    return stack_slot_arena(thread->worker->system, thread->slot);
}

struct arena *ult_open_arena(struct ult *thread)
{
    struct ult_system *system = thread->worker->system;

    if (stack_slot_map_arena(system, thread->slot) != TM_OK) {
        return NULL;
    }
    if (arena_used(stack_slot_arena(system, thread->slot)) == 0) {
        arena_init(stack_slot_arena(system, thread->slot),
                   system->config.arena_size);
    }
    return stack_slot_arena(system, thread->slot);
}

// Take the token of an unpark that came before, if there is one.
static int take_token(struct ult *thread)
{
    uint32_t state = ULT_NOTIFIED;

    return atomic_compare_exchange_strong_explicit(
        &thread->state, &state, ULT_RUNNING, memory_order_acquire,
        memory_order_relaxed);
}

static void wait_in_place(struct ult *thread)
{
    struct duty *duty = &thread->worker->duty;
    uint32_t state = ULT_RUNNING;

    if (duty_is_on(duty)) {
        duty_end(duty);
    }
    if (atomic_compare_exchange_strong_explicit(
            &thread->state, &state, ULT_WAITING, memory_order_acq_rel,
            memory_order_acquire)) {
        while (atomic_load_explicit(&thread->state, memory_order_acquire) ==
               ULT_WAITING) {
            kthread_wait(&thread->state, ULT_WAITING, 0);
        }
    }
    ensure(take_token(thread));
    if (duty_is_on(duty)) {
        duty_begin(duty);
    }
}

void ult_park(int may_switch)
{
    struct ult *thread = ult_self();

    ensure(thread != NULL);
    if (take_token(thread)) {
        return;
    }
    if (may_switch) {
        worker_leave(REASON_PARK, NULL, NULL);
    } else {
        wait_in_place(thread);
    }
}

void ult_pay(void)
{
    struct worker *worker = worker_self();

    if (worker != NULL && duty_is_on(&worker->duty)) {
        duty_pay(&worker->duty);
    }
}

void ult_close_gate(struct ult_system *system)
{
    gate_close(&system->gate);
}

void ult_reverse(struct ult_system *system, int is_reversed)
{
    // Who sees it late runs threads in the other order once more.
    atomic_store_explicit(&system->is_reversed, is_reversed,
                          memory_order_relaxed);
}

void ult_open_gate(struct ult_system *system)
{
    gate_open(&system->gate);
}

void ult_enter_gate(void)
{
    struct worker *worker = worker_self();

    if (gate_is_closed(&worker->system->gate)) {
        worker_enter_gate(worker, worker->current);
    }
}

int ult_gate_is_stuck(struct ult_system *system, uint64_t ns)
{
    return gate_is_stuck(&system->gate, ns);
}

static enum ult_state state_after_unpark(enum ult_state state, int is_action)
{
    switch (state) {
    case ULT_RUNNING:
    case ULT_NOTIFIED:
    case ULT_WAITING:
        return ULT_NOTIFIED;
    case ULT_PARKED:
        return ULT_RUNNING;
    case ULT_SUSPENDED:
        return is_action ? ULT_RUNNING : ULT_SUSPENDED_NOTIFIED;
    case ULT_SUSPENDED_NOTIFIED:
        return is_action ? ULT_NOTIFIED : ULT_SUSPENDED_NOTIFIED;
    case ULT_GONE:
        break;
    }
    return ULT_GONE;
}

void ult_unpark(struct ult *thread)
{
    struct worker *worker = worker_self();
    int is_action = worker != NULL && worker->acting == thread;
    uint32_t state = atomic_load_explicit(&thread->state, memory_order_relaxed);

    // Acquire pairs with the release of PARKED; release, with take_token(),
    // also where the state stays what it is.
    while (!atomic_compare_exchange_weak_explicit(
        &thread->state, &state, state_after_unpark(state, is_action),
        memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (is_action) {
        worker->acting = NULL;
        queue_make_ready(thread);
    } else if (state == ULT_PARKED) {
        queue_make_ready(thread);
    } else if (state == ULT_WAITING) {
        kthread_wake(&thread->state);
    }
}

void ult_yield(void)
{
    const struct worker *worker = worker_self();

    // With the gate closed it is the other workers' threads too that wait.
    if (!queue_is_empty(worker) || gate_is_closed(&worker->system->gate)) {
        worker_leave(REASON_YIELD, NULL, NULL);
    }
}

void ult_suspend(void (*action)(void *owner, struct ult *thread), void *owner)
{
    worker_leave(REASON_SUSPEND, action, owner);
}

void ult_resume(struct ult *thread)
{
    uint32_t state = atomic_load_explicit(&thread->state, memory_order_relaxed);

    ensure(state == ULT_SUSPENDED || state == ULT_SUSPENDED_NOTIFIED);
    // An unpark may come meanwhile. Acquire pairs with settle_suspend().
    while (!atomic_compare_exchange_weak_explicit(
        &thread->state, &state,
        state == ULT_SUSPENDED ? ULT_RUNNING : ULT_NOTIFIED,
        memory_order_acq_rel, memory_order_relaxed)) {
    }
    queue_make_ready(thread);
}

void ult_use_canary(struct ult_system *system, uint64_t canary)
{
    system->canary = canary;
}

uint64_t ult_time_ns(const struct ult *thread)
{
    return atomic_load_explicit(&thread->time_ns, memory_order_relaxed);
}

uint64_t ult_worker_wall_ns(const struct ult_system *system, unsigned worker)
{
    return atomic_load_explicit(&system->workers[worker].wall_ns,
                                memory_order_relaxed);
}

void ult_add_time(struct ult *thread, uint64_t ns)
{
    atomic_fetch_add_explicit(&thread->time_ns, ns, memory_order_relaxed);
}

uint64_t ult_total_time_ns(const struct ult_system *system)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < system->config.n_workers; i++) {
        total += atomic_load_explicit(&system->workers[i].total_ns,
                                      memory_order_relaxed);
    }
    return total;
}

int ult_is_wanted(const struct ult_system *system, unsigned worker)
{
    int later;

    return queue_has_next(&system->workers[worker], &later) ||
           atomic_load(&system->is_stopping);
}

unsigned ult_count(const struct ult_system *system)
{
    unsigned n = system->has_adopted != 0;

    for (unsigned i = 0; i < system->config.n_workers; i++) {
        n += atomic_load_explicit(&system->workers[i].n_threads,
                                  memory_order_relaxed);
    }
    return n;
}

void ult_census(const struct ult_system *system, unsigned *n_threads,
                unsigned *n_parked)
{
    *n_threads = 0;
    *n_parked = 0;
    for (unsigned slot = 0; slot < system->config.n_slots;
         slot = slots_behind(system, slot)) {
        struct ult *thread = atomic_load(&system->slots[slot].thread);
        uint32_t state;

        if (thread != NULL) {
            state = atomic_load(&thread->state);
            *n_threads += 1;
            *n_parked += state == ULT_PARKED || state == ULT_WAITING;
        }
    }
}

void ult_follow_switches(struct ult_system *system, void (*leave)(void),
                         void (*arrive)(void))
{
    system->leave = leave;
    system->arrive = arrive;
}

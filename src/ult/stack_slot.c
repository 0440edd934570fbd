// SPDX-License-Identifier: BSD-3-Clause
//
// A slot is the addresses of one thread, low to high:
//
//   page without access
//   64 KiB alternate stack, only used if accesses raise SIGSEGV (os/trap.h)
//   page without access: an overflow of the stack ends here
//   the stack
//   the thread's arena (arena.h), mapped when it is used first
//
// All nodes must agree on it, so neither the fault source nor the processor may
// change it. Stacks are mapped when a slot is used first and stay mapped; their
// memory goes back when the thread ends or leaves. Each used slot costs the
// kernel 2 mappings (4 with alternate stacks) of vm.max_map_count.
//
// A thread's record is not its slot's: it lives a little longer, so that the
// slot can be used again as soon as somebody hears of the end. Records are never
// unmapped, so a late ult_unpark() of a thread that has gone hits at worst its
// record's next user, who has to expect that anyway.

#include "base/ensure.h"
#include "base/log.h"
#include "os/range.h"
#include "os/trap.h"
#include "ult/ult_priv.h"

enum { PAGE = 4096, ALTERNATE = 64 * 1024, BELOW_STACK = ALTERNATE + 2 * PAGE };

// What all slots together may take, if arenas are in them: sanitizers leave less.
#ifdef SANITIZE_THREAD
#define ADDRESSES ((size_t)1 << 36)
#else
#define ADDRESSES ((size_t)1 << 41)
#endif
#define ARENA_MAX ((size_t)16 << 20)

// How far below the adopted stack's end an access is taken for an overflow.
enum { ADOPTED_GUARD = 1024 * 1024 };

static char *stack_slot_start(const struct ult_system *system, unsigned slot)
{
    return ULT_STACKS_BASE + slot * system->stack_slot_size;
}

char *stack_slot_low(const struct ult_system *system, unsigned slot)
{
    return stack_slot_start(system, slot) + BELOW_STACK;
}

char *stack_slot_top(const struct ult_system *system, unsigned slot)
{
    return stack_slot_start(system, slot) + system->stack_slot_size -
           system->config.arena_size;
}

char *stack_slot_alternate_low(const struct ult_system *system, unsigned slot)
{
    return stack_slot_start(system, slot) + PAGE;
}

size_t ult_arena_size(size_t stack_size, unsigned n_slots)
{
    const size_t room = ADDRESSES / n_slots;
    const size_t others = BELOW_STACK + stack_size;

    if (room <= others) {
        return 0;
    }
    return room - others < ARENA_MAX ? (room - others) / PAGE * PAGE
                                     : ARENA_MAX;
}

static size_t round_up(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static size_t tables_size(const struct ult_system *system)
{
    return round_up(system->config.n_slots * sizeof *system->slots);
}

static size_t records_size(const struct ult_system *system)
{
    return round_up(system->n_records * sizeof *system->records);
}

tm_status slots_open(struct ult_system *system)
{
    unsigned n_slots = system->config.n_slots;
    tm_status status;
    char *tables;

    ensure(trap_stack_size() <= ALTERNATE);
    system->stack_slot_size =
        BELOW_STACK + system->config.stack_size + system->config.arena_size;
    // Besides one for each slot, each worker may have one at its end.
    system->n_records = n_slots + system->config.n_workers;
    status = range_reserve(ULT_STACKS_BASE, n_slots * system->stack_slot_size);
    if (status != TM_OK) {
        log_error("no addresses for the stacks of %u threads of %zu bytes",
                  n_slots, system->config.stack_size);
        return status == TM_EBUSY ? TM_EBUSY : TM_ENOMEM;
    }
    tables = range_new(tables_size(system));
    if (tables == NULL) {
        goto release_stacks;
    }
    system->records = (struct ult *)range_new(records_size(system));
    if (system->records == NULL) {
        goto free_tables;
    }
    system->slots = (struct slot *)tables;
    return TM_OK;

free_tables:
    range_free(tables, tables_size(system));
release_stacks:
    range_release(ULT_STACKS_BASE, n_slots * system->stack_slot_size);
    return TM_ENOMEM;
}

void slots_close(struct ult_system *system)
{
    range_free((char *)system->records, records_size(system));
    range_free((char *)system->slots, tables_size(system));
    range_release(ULT_STACKS_BASE,
                  system->config.n_slots * system->stack_slot_size);
}

static tm_status map_alternate(struct ult_system *system, unsigned slot)
{
    if (!system->config.has_alternate_stacks) {
        return TM_OK;
    }
    return range_use(stack_slot_alternate_low(system, slot), ALTERNATE);
}

static tm_status map_stack(struct ult_system *system, unsigned slot)
{
    tm_status status;

    if (system->slots[slot].is_mapped) {
        return TM_OK;
    }
    status = map_alternate(system, slot);
    if (status == TM_OK) {
        status =
            range_use(stack_slot_low(system, slot), system->config.stack_size);
    }
    if (status != TM_OK) {
        log_error("no stack for thread %u; fewer threads can be made", slot);
        return TM_ENOMEM;
    }
    system->slots[slot].is_mapped = 1;
    return TM_OK;
}

struct arena *stack_slot_arena(const struct ult_system *system, unsigned slot)
{
    return system->slots[slot].has_arena
               ? (struct arena *)stack_slot_top(system, slot)
               : NULL;
}

tm_status stack_slot_map_arena(struct ult_system *system, unsigned slot)
{
    tm_status status;

    if (system->slots[slot].has_arena) {
        return TM_OK;
    }
    if (system->config.arena_size == 0) {
        return TM_ENOMEM;
    }
    status = range_use(stack_slot_top(system, slot), system->config.arena_size);
    system->slots[slot].has_arena = status == TM_OK;
    return status;
}

static struct ult *take_record(struct ult_system *system)
{
    struct ult *thread;

    mutex_lock(&system->mutex);
    thread = system->free_records;
    if (thread != NULL) {
        system->free_records = thread->next;
    } else {
        ensure(system->n_used_records < system->n_records);
        thread = &system->records[system->n_used_records++];
    }
    mutex_unlock(&system->mutex);
    return thread;
}

void record_free(struct ult_system *system, struct ult *thread)
{
    mutex_lock(&system->mutex);
    thread->next = system->free_records;
    system->free_records = thread;
    mutex_unlock(&system->mutex);
}

static void reset_record(struct ult *thread, unsigned slot)
{
    thread->next = NULL;
    thread->worker = NULL;
    thread->context = NULL;
    thread->slot = slot;
    atomic_store_explicit(&thread->time_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&thread->state, ULT_RUNNING, memory_order_relaxed);
}

static void raise_high_slot(struct ult_system *system, unsigned slot)
{
    _Atomic unsigned *high_slot = slot < slots_first_beside(system)
                                      ? &system->high_slot
                                      : &system->high_beside;
    unsigned high = atomic_load(high_slot);

    while (high <= slot &&
           !atomic_compare_exchange_weak(high_slot, &high, slot + 1)) {
    }
}

tm_status stack_slot_take(struct ult_system *system, unsigned slot,
                          struct ult **thread)
{
    struct ult *taken;
    struct ult *none = NULL;
    tm_status status;

    taken = take_record(system);
    reset_record(taken, slot);
    // Pairs with the release in stack_slot_release(): the stack is clean.
    if (!atomic_compare_exchange_strong_explicit(
            &system->slots[slot].thread, &none, taken, memory_order_acq_rel,
            memory_order_acquire)) {
        record_free(system, taken);
        return TM_EBUSY;
    }
    status = map_stack(system, slot);
    if (status != TM_OK) {
        atomic_store_explicit(&system->slots[slot].thread, NULL,
                              memory_order_release);
        record_free(system, taken);
        return status;
    }
    raise_high_slot(system, slot);
    taken->stack_low = stack_slot_low(system, slot);
    taken->stack_top = stack_slot_top(system, slot);
    sanitize_init(&taken->fiber, taken->stack_low, system->config.stack_size);
    *thread = taken;
    return TM_OK;
}

void stack_slot_release(struct ult_system *system, struct ult *thread)
{
    unsigned slot = thread->slot;

    atomic_store_explicit(&thread->state, ULT_GONE, memory_order_release);
    sanitize_release(&thread->fiber);
    range_discard(thread->stack_low, system->config.stack_size);
    if (system->slots[slot].has_arena) {
        range_discard(stack_slot_top(system, slot), system->config.arena_size);
    }
    if (system->config.has_alternate_stacks) {
        range_discard(stack_slot_alternate_low(system, slot), ALTERNATE);
    }
    atomic_store_explicit(&system->slots[slot].thread, NULL,
                          memory_order_release);
}

int ult_guard_slot(const struct ult_system *system, uintptr_t address)
{
    uintptr_t base = (uintptr_t)ULT_STACKS_BASE;
    uintptr_t adopted = (uintptr_t)system->adopted_low;

    if (system->has_adopted && address < adopted + PAGE &&
        address >= adopted - ADOPTED_GUARD) {
        return 0;
    }
    if (!ult_is_stack(system, address) ||
        (address - base) % system->stack_slot_size >= BELOW_STACK) {
        return -1;
    }
    return (int)((address - base) / system->stack_slot_size);
}

int ult_is_stack(const struct ult_system *system, uintptr_t address)
{
    uintptr_t base = (uintptr_t)ULT_STACKS_BASE;

    return address >= base &&
           address < base + system->config.n_slots * system->stack_slot_size;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A suspended thread as bytes: [context, stack_top) of its stack holds all its
// registers and frames, and what it has used of its arena follows. Pointers into both
// stay right because a slot has the same addresses on all nodes; pointers to code,
// because the program has.
// The record is made anew.
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "ult/ult_priv.h"

static int is_suspended(const struct ult *thread)
{
    uint32_t state = atomic_load(&thread->state);

    return state == ULT_SUSPENDED || state == ULT_SUSPENDED_NOTIFIED;
}

void ult_pack(struct ult *thread, struct ult_packed *packed)
{
    const struct arena *arena = ult_arena(thread);
    char *context = thread->context;
    char *end = thread->stack_top + (arena == NULL ? 0 : arena_used(arena));

    ensure(is_suspended(thread) && thread->slot != 0);
    ensure(context >= thread->stack_low && context < thread->stack_top);
    *packed = (struct ult_packed){
        .slot = thread->slot,
        .context = (uintptr_t)context,
        .end = (uintptr_t)end,
        .bytes = context,
        .size = (size_t)(end - context),
    };
    asan_forget(context, packed->size); // all of it will be read
}

void ult_forget(struct ult *thread)
{
    struct worker *worker = thread->worker;

    ensure(is_suspended(thread) && thread->slot != 0);
    stack_slot_release(worker->system, thread);
    atomic_fetch_sub(&worker->n_threads, 1);
    record_free(worker->system, thread);
}

int ult_fits(const struct ult_system *system, const struct ult_packed *packed)
{
    unsigned slot = packed->slot;
    uintptr_t low;
    uintptr_t top;

    if (slot < 1 || slot >= system->config.n_slots) {
        return 0;
    }
    low = (uintptr_t)stack_slot_low(system, slot);
    top = (uintptr_t)stack_slot_top(system, slot);
    return packed->end >= top &&
           packed->end - top <= system->config.arena_size &&
           packed->context >= low && packed->context < top &&
           packed->context % 8 == 0 &&
           packed->size == packed->end - packed->context;
}

tm_status ult_unpack(struct ult_system *system, const struct ult_packed *packed,
                     void *user, struct ult **thread)
{
    struct ult *made;
    tm_status status;

    if (!ult_fits(system, packed)) {
        log_error("a thread that was moved here does not fit slot %u",
                  packed->slot);
        return TM_EINVAL;
    }
    status = stack_slot_take(system, packed->slot, &made);
    if (status != TM_OK) {
        if (status == TM_EBUSY) {
            log_error("a thread that was moved here finds slot %u in use",
                      packed->slot);
        }
        return status;
    }
    if (packed->end > (uintptr_t)made->stack_top) {
        status = stack_slot_map_arena(system, packed->slot);
        if (status != TM_OK) {
            stack_slot_release(system, made);
            record_free(system, made);
            return status;
        }
    }
    made->user = user;
    made->context = (char *)(uintptr_t)packed->context;
    memcpy(made->context, packed->bytes, packed->size);
    sanitize_imported(&made->fiber);
    made->worker = queue_shortest(system);
    *thread = made;
    queue_make_ready(made);
    return TM_OK;
}

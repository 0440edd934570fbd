// SPDX-License-Identifier: BSD-3-Clause
#include "observe/sample.h"

#include <sys/resource.h>

#include "base/clock.h"

static void put(_Atomic uint64_t *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

void sample_take(struct node_sample *sample, const struct memory_watch *watch)
{
    struct memory_state state;
    struct rusage usage;
    uint64_t stall_us = 0;

    memory_read(watch, &state);
    memory_stall_us(watch, &stall_us);
    getrusage(RUSAGE_SELF, &usage);
    put(&sample->taken_ns, clock_now_ns());
    put(&sample->total, state.total.bytes);
    put(&sample->available, state.available.bytes);
    put(&sample->shared, state.shared);
    put(&sample->swap_free, state.swap_free);
    put(&sample->stall_us, stall_us);
    put(&sample->major_faults, (uint64_t)usage.ru_majflt);
    put(&sample->n_samples, sample_get(&sample->n_samples) + 1);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "observe/own_capacity.h"

#include <string.h>
#include <unistd.h>

#include "observe/power.h"
#include "os/processor.h"

static void take_power(struct node_capacity *capacity, double share)
{
    struct power power;

    if (power_measure(&power) == TM_OK) {
        capacity->mflops = power.mflops * share;
        capacity->spread = power.spread;
    }
}

static enum memory_by by(const struct memory_bound *bound)
{
    if (bound->group == NULL) {
        return MEMORY_BY_MACHINE;
    }
    return bound->group->version == 1 ? MEMORY_BY_CGROUP1 : MEMORY_BY_CGROUP2;
}

static void take_memory(struct node_capacity *capacity,
                        const struct memory_watch *watch)
{
    struct memory_state state;

    memory_read(watch, &state);
    capacity->memory_total = state.total.bytes;
    capacity->total_by = by(&state.total);
    capacity->memory_free = state.available.bytes;
    capacity->free_by = by(&state.available);
    capacity->memory_pool = memory_pool(watch, &state.available);
}

void capacity_measure(struct node_capacity *capacity,
                      const struct declared *declared,
                      const struct memory_watch *watch)
{
    const uint64_t machine = memory_machine(watch);

    *capacity = (struct node_capacity){
        .machine = machine,
        .declared_speed = declared->speed,
        .share = declared->share,
        .n_processors = processor_count(),
        .processor_pool = processor_pool(machine),
        .n_workers = declared->n_workers,
        .memory_declared = declared->memory,
    };
    gethostname(capacity->host, sizeof capacity->host - 1);
    take_memory(capacity, watch);
    take_power(capacity, declared->share);
}

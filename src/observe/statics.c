// SPDX-License-Identifier: BSD-3-Clause
#include "observe/statics.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "observe/power.h"

static void take_power(struct node_statics *statics, double share)
{
    struct power power;

    if (power_measure(&power) == TM_OK) {
        statics->mflops = power.mflops * share;
        statics->spread = power.spread;
    }
}

static enum memory_by by(const struct memory_bound *bound)
{
    if (bound->group == NULL) {
        return MEMORY_BY_MACHINE;
    }
    return bound->group->version == 1 ? MEMORY_BY_CGROUP1 : MEMORY_BY_CGROUP2;
}

static void take_memory(struct node_statics *statics,
                        const struct memory_watch *watch)
{
    struct memory_state state;

    memory_read(watch, &state);
    statics->memory_total = state.total.bytes;
    statics->total_by = by(&state.total);
    statics->memory_free = state.available.bytes;
    statics->free_by = by(&state.available);
    statics->memory_pool = memory_pool(watch, &state.available);
}

static uint32_t count_processors(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN); // more than 1024
    }
    return (uint32_t)CPU_COUNT(&set);
}

void statics_measure(struct node_statics *statics,
                     const struct declared *declared,
                     const struct memory_watch *watch)
{
    *statics = (struct node_statics){
        .machine = memory_machine(watch),
        .declared_speed = declared->speed,
        .share = declared->share,
        .n_processors = count_processors(),
        .n_workers = declared->n_workers,
        .memory_declared = declared->memory,
    };
    gethostname(statics->host, sizeof statics->host - 1);
    take_memory(statics, watch);
    take_power(statics, declared->share);
}

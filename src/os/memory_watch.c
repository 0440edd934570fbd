// SPDX-License-Identifier: BSD-3-Clause
#include "os/memory_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "os/text_file.h"

static int read_machine(const struct memory_watch *watch,
                        struct memory_state *state)
{
    char path[512];
    char text[4096];
    uint64_t total_kib = 0;
    uint64_t available_kib = 0;
    uint64_t swap_cached_kib = 0; // not in MemAvailable
    uint64_t swap_kib = 0;
    uint64_t swap_free_kib = 0;
    int found;

    snprintf(path, sizeof path, "%s/proc/meminfo", watch->root);
    text_file_read(path, text, sizeof text);
    found = text_find_number(text, "MemTotal:", &total_kib) &&
            text_find_number(text, "MemAvailable:", &available_kib);
    text_find_number(text, "SwapCached:", &swap_cached_kib);
    text_find_number(text, "SwapTotal:", &swap_kib);
    text_find_number(text, "SwapFree:", &swap_free_kib);
    state->machine_total = total_kib << 10;
    state->machine_available = (available_kib + swap_cached_kib) << 10;
    state->swap_total = swap_kib << 10;
    state->swap_free = swap_free_kib << 10;
    return found;
}

static void lower(struct memory_bound *bound, uint64_t bytes,
                  const struct control_group *group, const char *name)
{
    if (bytes < bound->bytes) {
        *bound = (struct memory_bound){bytes, group, name};
    }
}

static uint64_t left(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

static void lower_number(uint64_t *number, uint64_t bytes)
{
    if (bytes < *number) {
        *number = bytes;
    }
}

static void take_group(struct memory_state *state,
                       const struct control_group *group)
{
    struct memory_group_state now;

    memory_group_read(group, &now);
    if (now.limit != MEMORY_UNLIMITED) {
        lower(&state->total, now.limit, group, now.limit_file);
        lower(&state->available, left(now.limit, now.used), group,
              now.limit_file);
        if (state->available.group == group) {
            state->shared = now.shared;
        }
    }
    if (now.swap_limit != MEMORY_UNLIMITED) {
        lower_number(&state->swap_total, now.swap_limit);
        lower_number(&state->swap_free, left(now.swap_limit, now.swap_used));
    }
}

tm_status memory_open(struct memory_watch *watch, const char *root)
{
    struct memory_state state;

    snprintf(watch->root, sizeof watch->root, "%s", root);
    watch->n_groups = 0;
    if (!read_machine(watch, &state)) {
        log_error("%s/proc/meminfo does not say MemTotal and MemAvailable",
                  root);
        return TM_ESYSTEM;
    }
    watch->n_groups =
        memory_groups_find(root, 0, watch->groups, MEMORY_MAX_GROUPS);
    return TM_OK;
}

void memory_read(const struct memory_watch *watch, struct memory_state *state)
{
    read_machine(watch, state);
    state->total =
        (struct memory_bound){state->machine_total, NULL, "MemTotal"};
    state->available =
        (struct memory_bound){state->machine_available, NULL, "MemAvailable"};
    state->shared = 0;
    for (unsigned i = 0; i < watch->n_groups; i++) {
        take_group(state, &watch->groups[i]);
    }
}

void memory_bound_describe(const struct memory_bound *bound, char *text,
                           size_t size)
{
    if (bound->group == NULL) {
        snprintf(text, size, "%s", bound->name);
    } else {
        snprintf(text, size, "cgroup v%d (%s/%s)", bound->group->version,
                 bound->group->folder, bound->name);
    }
}

uint64_t memory_machine(const struct memory_watch *watch)
{
    char path[512];
    char text[64];
    size_t size;

    snprintf(path, sizeof path, "%s/proc/sys/kernel/random/boot_id",
             watch->root);
    size = text_file_read(path, text, sizeof text);
    return hash_bytes(HASH_START, text, size);
}

uint64_t memory_pool(const struct memory_watch *watch,
                     const struct memory_bound *bound)
{
    uint64_t pool = memory_machine(watch);
    struct stat status;

    // The number of a group's folder is the same seen from any container.
    if (bound->group != NULL && stat(bound->group->folder, &status) == 0) {
        pool = hash_bytes(pool, &status.st_dev, sizeof status.st_dev);
        pool = hash_bytes(pool, &status.st_ino, sizeof status.st_ino);
    }
    return pool;
}

int memory_stall_us(const struct memory_watch *watch, uint64_t *stall_us)
{
    char path[640];
    char text[256];
    const char *total;

    text[0] = '\0';
    if (watch->n_groups > 0 && watch->groups[0].version == 2) {
        snprintf(path, sizeof path, "%s/memory.pressure",
                 watch->groups[0].folder);
        text_file_read(path, text, sizeof text);
    }
    if (text[0] == '\0') {
        snprintf(path, sizeof path, "%s/proc/pressure/memory", watch->root);
        text_file_read(path, text, sizeof text);
    }
    total = strstr(text, "total=");
    if (strncmp(text, "some ", 5) != 0 || total == NULL) {
        return 0;
    }
    *stall_us = strtoull(total + 6, NULL, 10);
    return 1;
}

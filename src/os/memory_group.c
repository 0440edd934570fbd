// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of a container is that of its tightest control group, wherever in
// the path to the root that is; the usual tools show the machine's instead. Which
// groups these are: control_group.c. In a namespace the container's own group is called
// "/", and its folder has a limit, as the true root never has with version 2.
//
// What a group has used counts pages of files, which the kernel takes back when it
// needs them, as it does in MemAvailable. Shared memory is not among these.
#include "os/memory_group.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/text_file.h"

/** Version 1 says "no limit" with a number near 2^63. */
#define NO_LIMIT ((uint64_t)1 << 60)

static const struct controller controller = {
    .name = "memory",
    .files = {NULL, "memory.limit_in_bytes", "memory.max"},
};

/** Names of a version's files and of the lines in memory.stat. */
static const struct {
    const char *limits[2]; ///< the lower one holds; NULL: there is one only
    const char *used;
    const char *shared;
    const char *inactive;
    const char *active;
    const char *swap_cached;
    const char *swap_limit; ///< version 1: of memory and swap together
    const char *swap_used;
    const char *events; ///< its line "oom_kill" counts
} versions[] = {
    [1] = {{"memory.limit_in_bytes", NULL},
           "memory.usage_in_bytes",
           "total_shmem",
           "total_inactive_file",
           "total_active_file",
           "total_swapcached",
           "memory.memsw.limit_in_bytes",
           "memory.memsw.usage_in_bytes",
           "memory.oom_control"},
    [2] = {{"memory.max", "memory.high"},
           "memory.current",
           "shmem",
           "inactive_file",
           "active_file",
           "swapcached",
           "memory.swap.max",
           "memory.swap.current",
           "memory.events"},
};

unsigned memory_groups_find(const char *root, pid_t pid,
                            struct control_group *groups, unsigned n_max)
{
    return control_groups_find(root, pid, &controller, groups, n_max);
}

/** @return bytes of the file; 0 if it cannot be read */
static size_t read_file(const struct control_group *group, const char *name,
                        char *text, size_t size)
{
    char path[640];

    snprintf(path, sizeof path, "%s/%s", group->folder, name);
    return text_file_read(path, text, size);
}

uint64_t memory_group_kills(const struct control_group *group)
{
    const char *name = versions[group->version].events;
    char text[1024];
    uint64_t n = 0;

    if (read_file(group, name, text, sizeof text) > 0) {
        text_find_number(text, "oom_kill", &n);
    }
    return n;
}

/** A number in a file; MEMORY_UNLIMITED if there is none, or it is "max". */
static uint64_t read_limit(const struct control_group *group, const char *name)
{
    char text[32];
    char *end;
    uint64_t bytes;

    if (read_file(group, name, text, sizeof text) == 0) {
        return MEMORY_UNLIMITED;
    }
    bytes = strtoull(text, &end, 10);
    return end != text && bytes < NO_LIMIT ? bytes : MEMORY_UNLIMITED;
}

static uint64_t read_used(const struct control_group *group, const char *name)
{
    uint64_t bytes = read_limit(group, name);

    return bytes != MEMORY_UNLIMITED ? bytes : 0;
}

/** @return bytes that the kernel may take back without writing: of files, and of what
 * the swap device has, too */
static uint64_t read_parts(const struct control_group *group, uint64_t *shared)
{
    char text[8192];
    uint64_t inactive = 0;
    uint64_t active = 0;
    uint64_t swap_cached = 0;

    read_file(group, "memory.stat", text, sizeof text);
    text_find_number(text, versions[group->version].shared, shared);
    text_find_number(text, versions[group->version].inactive, &inactive);
    text_find_number(text, versions[group->version].active, &active);
    text_find_number(text, versions[group->version].swap_cached, &swap_cached);
    return inactive + active + swap_cached;
}

static uint64_t at_least_0(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void read_swap(const struct control_group *group,
                      struct memory_group_state *state, uint64_t memory_used)
{
    int is_sum = group->version == 1; // of memory and swap
    uint64_t limit = MEMORY_UNLIMITED;

    if (!is_sum || state->limit != MEMORY_UNLIMITED) {
        limit = read_limit(group, versions[group->version].swap_limit);
    }
    if (limit == MEMORY_UNLIMITED) {
        return;
    }
    state->swap_limit = limit;
    state->swap_used = read_used(group, versions[group->version].swap_used);
    if (is_sum) {
        state->swap_limit = at_least_0(limit, state->limit);
        state->swap_used = at_least_0(state->swap_used, memory_used);
    }
}

void memory_group_read(const struct control_group *group,
                       struct memory_group_state *state)
{
    uint64_t used = 0;

    *state = (struct memory_group_state){.limit = MEMORY_UNLIMITED,
                                         .swap_limit = MEMORY_UNLIMITED};
    for (int i = 0; i < 2; i++) {
        const char *name = versions[group->version].limits[i];
        uint64_t bytes =
            name != NULL ? read_limit(group, name) : MEMORY_UNLIMITED;

        if (bytes < state->limit) {
            state->limit = bytes;
            state->limit_file = name;
        }
    }
    if (state->limit != MEMORY_UNLIMITED) {
        used = read_used(group, versions[group->version].used);
        state->used = at_least_0(used, read_parts(group, &state->shared));
    }
    read_swap(group, state, used);
}

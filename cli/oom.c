// SPDX-License-Identifier: BSD-3-Clause
//
// SIGKILL does not say who sent it. The kernel counts those that it kills for want of
// memory, in the group that they were in; who has died is in none any more. So the
// group and its count are noted while the process lives.
#include "oom.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define N_GROUPS 8 // from a process's own upwards
#define MIB (1u << 20)

void oom_note(struct oom_watch *watch, pid_t pid)
{
    struct control_group group;

    if (memory_groups_find("", pid, &group, 1) > 0) {
        watch->group = group;
        watch->n_kills = memory_group_kills(&group);
    }
}

/** The tightest limit of a group and those above it. */
static uint64_t find_limit(const struct control_group *lowest, char *by,
                           size_t size)
{
    struct control_group group = *lowest;
    uint64_t limit = MEMORY_UNLIMITED;
    char *slash;

    for (unsigned i = 0; i < N_GROUPS; i++) {
        struct memory_group_state state;

        memory_group_read(&group, &state);
        if (state.limit < limit) {
            limit = state.limit;
            snprintf(by, size, "%s/%s", group.folder, state.limit_file);
        }
        slash = strrchr(group.folder, '/');
        if (slash == NULL || slash == group.folder) {
            break;
        }
        *slash = '\0';
    }
    return limit;
}

int oom_explain(const struct oom_watch *watch, char *how, size_t size)
{
    char by[600] = "";
    uint64_t limit;

    if (watch->group.version == 0 ||
        memory_group_kills(&watch->group) <= watch->n_kills) {
        return 0;
    }
    limit = find_limit(&watch->group, by, sizeof by);
    if (limit == MEMORY_UNLIMITED) {
        snprintf(how, size, "killed by the kernel for memory");
    } else {
        snprintf(how, size,
                 "killed by the kernel for memory (limit %" PRIu64
                 " MiB, by %s)",
                 limit / MIB, by);
    }
    return 1;
}

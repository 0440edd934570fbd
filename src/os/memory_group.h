// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_MEMORY_GROUP_H
#define OS_MEMORY_GROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "os/control_group.h"

/*
 * Control groups that limit memory, of both versions.
 */

/** What says that there is no limit. */
#define MEMORY_UNLIMITED UINT64_MAX

/** What a group says now; bytes. */
struct memory_group_state {
    uint64_t limit;         ///< of memory, or MEMORY_UNLIMITED
    const char *limit_file; ///< the name of the file that says so
    uint64_t used;          ///< what cannot be taken back; 0 if unlimited
    uint64_t shared;        ///< of it, shared memory; 0 if unlimited
    uint64_t swap_limit;    ///< of swap alone, or MEMORY_UNLIMITED
    uint64_t swap_used;     ///< 0 if unlimited
};

/** Find the groups with a limit of memory that a process is in; see
 * control_groups_find(). */
unsigned memory_groups_find(const char *root, pid_t pid,
                            struct control_group *groups, unsigned n_max);

/** How many processes of the group the kernel has killed for want of memory.
 * @return 0 also if it does not say. Context: any kernel thread; reads a file. */
uint64_t memory_group_kills(const struct control_group *group);

/** Read what a group says now. A file that is not there, or a group that is gone,
 * limits nothing. Context: any kernel thread; reads up to six small files. */
void memory_group_read(const struct control_group *group,
                       struct memory_group_state *state);

#endif

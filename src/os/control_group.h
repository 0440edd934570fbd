// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_CONTROL_GROUP_H
#define OS_CONTROL_GROUP_H

#include <sys/types.h>

/*
 * Where the control groups of a process are, of both versions.
 */

/** A group: a folder of files. */
struct control_group {
    int version;      ///< 1 or 2
    char folder[512]; ///< "/sys/fs/cgroup/memory/a/b"
};

/** What groups are looked for. */
struct controller {
    const char *name;     ///< "memory", "cpu"
    const char *files[3]; ///< by version: a group without it does not count
};

/**
 * Find a process's groups: its own, then those above it, as far up as they can be
 * seen from here. In a control group namespace that ends with the container's own
 * group.
 *
 * @param root         "", or a folder that has its own /proc and /sys, for tests
 * @param pid          of this machine; 0: the calling process
 * @param[out] groups  [n_max]
 * @return how many there are; of more than n_max, those nearest to the process
 *
 * Context: any kernel thread; reads files, allocates.
 */
unsigned control_groups_find(const char *root, pid_t pid,
                             const struct controller *controller,
                             struct control_group *groups, unsigned n_max);

#endif

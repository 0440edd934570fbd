// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_MEMORY_WATCH_H
#define OS_MEMORY_WATCH_H

#include <stddef.h>

#include "base/status.h"
#include "os/memory_group.h"

/*
 * The memory of this node: how much it may use, how much of that it can still
 * get, and what says so.
 */

enum { MEMORY_MAX_GROUPS = 16 };

/** Where to look; opened once, read often. */
struct memory_watch {
    char root[256];
    unsigned n_groups;
    struct control_group groups[MEMORY_MAX_GROUPS];
};

/** An amount, and what says that it is not more. Lives as long as the watch. */
struct memory_bound {
    uint64_t bytes;
    const struct control_group *group; ///< NULL: the machine
    const char *name; ///< of a file of the group, or "MemTotal", "MemAvailable"
};

/** Bytes. */
struct memory_state {
    struct memory_bound total; ///< what the node could get at most
    /** What it can get now without swapping out: also what holds files, or is in
     * swap, too. */
    struct memory_bound available;
    uint64_t
        shared; ///< in use as shared memory in the group that bounds what is
                ///< available; 0 if the machine does
    uint64_t machine_total;
    uint64_t machine_available;
    uint64_t swap_total; ///< what groups allow of the machine's
    uint64_t swap_free;
};

/**
 * Find what limits the memory of this process.
 *
 * @param root  "", or a folder that has its own /proc and /sys, for tests
 * @return TM_OK
 * @return TM_ESYSTEM  there is no /proc/meminfo, or without MemAvailable (logged)
 *
 * Context: any kernel thread; reads files, allocates.
 */
TM_CHECKED tm_status memory_open(struct memory_watch *watch, const char *root);

/** Read what is there now: the least of the machine's numbers and of those of
 * each group. Limits may have changed since the last time. All 0 if the files are
 * gone. Context: any kernel thread; reads some ten small files. */
void memory_read(const struct memory_watch *watch, struct memory_state *state);

/** "MemAvailable", or "cgroup v2 (/sys/fs/cgroup/a/memory.max)".
 * @param[out] text  [size] */
void memory_bound_describe(const struct memory_bound *bound, char *text,
                           size_t size);

/** A number that is equal on all processes of this machine, and different on
 * others. */
uint64_t memory_machine(const struct memory_watch *watch);

/** A number that is equal on all processes that draw on the same memory: those of
 * one machine if the machine is the bound, else those below the group. */
uint64_t memory_pool(const struct memory_watch *watch,
                     const struct memory_bound *bound);

/** How long threads have waited for memory (PSI, "some") since the start: of this
 * process's group if its version is 2, else of the machine.
 * @param[out] stall_us  untouched if the kernel does not say
 * @return 1 if it says. Context: any kernel thread; reads a small file. */
int memory_stall_us(const struct memory_watch *watch, uint64_t *stall_us);

#endif

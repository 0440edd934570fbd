// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include <stdint.h>

/** How much memory nodes may use here, and what says so. */
struct memory_limit {
    uint64_t bytes;        ///< the least of those below
    const char *source;    ///< "MemAvailable", "cgroup v1", "cgroup v2"
    uint64_t available;    ///< MemAvailable
    uint64_t cgroup;       ///< limit of the tightest cgroup; UINT64_MAX: none
    char cgroup_path[512]; ///< the file that says so
};

void memory_limit_read(struct memory_limit *limit);

#endif

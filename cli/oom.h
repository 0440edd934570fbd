// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_OOM_H
#define CLI_OOM_H

#include <stddef.h>
#include <sys/types.h>

#include "os/memory_group.h"

/** The control group that a process is in, and whom the kernel has killed there. */
struct oom_watch {
    struct control_group group; ///< version 0: none is known
    uint64_t n_kills;           ///< of the group, when it was noted
};

/** Note the group of a process that lives. */
void oom_note(struct oom_watch *watch, pid_t pid);

/** A process was killed by SIGKILL: was it the kernel, for want of memory?
 * @param[out] how  [size] "killed by the kernel for memory (limit 24 MiB, by ...)"
 * @return 0: it was somebody else, as far as the group knows */
int oom_explain(const struct oom_watch *watch, char *how, size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_PROCESSOR_GROUP_H
#define OS_PROCESSOR_GROUP_H

#include "base/status.h"
#include "os/control_group.h"

/*
 * Control groups that the kernel gives a part of the processors. They are made below
 * the caller's own group, which few users may do.
 */

/**
 * Make a group.
 *
 * @param job         it is named after, with `number`, so that processor_groups_remove()
 *                    finds it
 * @param processors  that its processes may use at one time, 0.0001 or more
 * @param[out] group
 * @return TM_OK
 * @return TM_ESYSTEM  the system does not allow it: errno; nothing is left
 *
 * Context: any kernel thread; writes some small files.
 */
TM_CHECKED tm_status processor_group_make(long job, unsigned number,
                                          double processors,
                                          struct control_group *group);

/** Take a process there, with all its kernel threads.
 * @return TM_OK, TM_ESYSTEM (errno) */
TM_CHECKED tm_status processor_group_enter(const struct control_group *group,
                                           pid_t pid);

/** Remove a job's groups.
 * @return how many are left, for somebody is in them
 * Context: any kernel thread. */
unsigned processor_groups_remove(long job);

#endif

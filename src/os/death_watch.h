// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_DEATH_WATCH_H
#define OS_DEATH_WATCH_H

#include <sys/types.h>

#include "base/status.h"

/** Processes of this machine, children or not, whose end is to be known at once. */
struct death_watch;

/**
 * @param[out] watch  to be closed with death_watch_close()
 * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged)
 *
 * Context: any thread, one at a time, as all of it.
 */
TM_CHECKED tm_status death_watch_open(struct death_watch **watch);
void death_watch_close(struct death_watch *watch);

/** Watch a process.
 * @param label  what death_watch_next() calls it
 * @return TM_OK
 * @return TM_ESYSTEM  there is no such process, or the kernel, before Linux 5.3 or
 *                     by a filter, does not do this (errno; not logged) */
TM_CHECKED tm_status death_watch_add(struct death_watch *watch, pid_t pid,
                                     unsigned label);

/** Readable while death_watch_next() has something to tell. */
int death_watch_fd(const struct death_watch *watch);

/** Take the next process that has ended, each once. Does not block.
 * @param[out] label  its label, set on success
 * @return 1, 0 if there is none */
int death_watch_next(struct death_watch *watch, unsigned *label);

#endif

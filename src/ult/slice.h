// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_SLICE_H
#define ULT_SLICE_H

#include "ult/ult.h"

/*
 * Threads that do not give way: of a program that waits by reading a variable again and
 * again. After some time a signal has such a thread switch, where that is as good as a
 * function call.
 */

/**
 * Start to look, until ult_stop(). Programs that were written for Teamster do without.
 *
 * @param may_switch  is the code at pc, on the stack at sp, the program's own, so that
 *                    another thread may run in between? Called in a signal handler
 * @return TM_OK, TM_ELIMIT, TM_ESYSTEM (logged)
 * Context: after ult_start_workers(), once; trap_is_off_stacks().
 */
TM_CHECKED tm_status slice_start(struct ult_system *system,
                                 int (*may_switch)(void *owner, uintptr_t pc,
                                                   uintptr_t sp),
                                 void *owner);

/** Stop, and wait until that is so. Does nothing if it was not started. */
void slice_stop(struct ult_system *system);

#endif

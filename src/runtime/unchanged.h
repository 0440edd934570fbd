// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_UNCHANGED_H
#define RUNTIME_UNCHANGED_H

#include "teamster.h"

/*
 * What the front end for unchanged programs (frontend/) needs of the library besides
 * teamster.h. No program calls this.
 */

/**
 * tm_init() of a program that was not written for Teamster.
 *
 * @param flags_end  [program->shared_start, flags_end) are the small variables, whole
 *                   pages: TM_SEQUENTIAL, whatever --protocol says
 * @param leave, arrive  called at each switch of threads: ult_follow_switches()
 * @return as tm_init(). Threads may be on stacks in shared memory from then on, as long
 *         as they call nothing of the library there
 */
TM_API tm_status tm_init_unchanged(const struct tm_program *program,
                                   const char *flags_end,
                                   void (*leave)(void), void (*arrive)(void));

/**
 * Is it an address of shared memory that blocks are in (not of a variable)?
 * Context: any; async-signal-safe.
 */
TM_API int tm_is_shared_block(const void *address);

/** What the front end keeps of the calling thread; NULL: nothing, or it is no thread.
 * Context: any; async-signal-safe. */
TM_API void *tm_thread_front(void);

/** @param front  on the thread's private stack, since it moves with it
 * @return TM_OK, TM_ENOMEM. Context: a thread. */
TM_API tm_status tm_thread_set_front(void *front);

#endif

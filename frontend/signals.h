// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_SIGNALS_H
#define FRONTEND_SIGNALS_H

#include "signal_table.h"

/* What signals.c and masks.c have in common; all in the program's context. */

/** A call of the calling thread's. */
struct signal_call front_signal_call(void);

/** Run the handler of the call's delivery, and those that may come after it.
 * @param blocked  by the thread, then */
void front_run_handlers(struct signal_call *call, uint64_t blocked);

/** sigsuspend() */
int front_suspend(uint64_t blocked);

#endif

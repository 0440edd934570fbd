// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_FINISH_H
#define RUNTIME_FINISH_H

#include "net/message.h"

// ---- finish.c

/** The run is over for this node: the service thread goes on with finish_now(). Only
 * the first call counts. Under the node lock. @param exit_code  of this process */
void finish_soon(int exit_code);

/** The end of a node other than the root, or of the root's atexit(). */
void finish_receive(const struct message *message);
_Noreturn void finish_serving(void);
void finish_now(void);
void finish_at_exit(int status, void *argument);
void finish_fatal(int exit_code);

// ---- child.c: children made by fork()

void child_prepare(void);

#endif

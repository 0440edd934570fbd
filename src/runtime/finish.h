// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_FINISH_H
#define RUNTIME_FINISH_H

struct node;
// ---- finish.c

/** The end of a node other than the root, or of the root's atexit(). */
_Noreturn void finish_serving(struct node *node);
void finish_now(struct node *node);
void finish_at_exit(int status, void *argument);
void finish_fatal(int exit_code);

// ---- child.c: children made by fork()

void child_prepare(void);

#endif

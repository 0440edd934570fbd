// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_MAIN_STACK_H
#define OS_MAIN_STACK_H

#include "base/status.h"

/*
 * The stack that main() was started on: frames below the arguments and variables, which
 * the kernel has laid at its top.
 */

struct main_stack {
    char *low; ///< as far as it may grow
    char *top; ///< behind the frame of who called main()
};

/** @param arguments  argv as it was at the process' start
 * Context: on that stack. */
void main_stack_find(struct main_stack *stack, char **arguments);

/**
 * Take all access to the frames away, but for those in the page where the arguments
 * begin. The stack still grows, into pages without access.
 *
 * @return TM_OK, TM_ESYSTEM (logged)
 *
 * Context: on another stack, to which nothing goes back.
 */
TM_CHECKED tm_status main_stack_deny(const struct main_stack *stack);

#endif

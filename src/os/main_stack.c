// SPDX-License-Identifier: BSD-3-Clause
#include "os/main_stack.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/log.h"
#include "os/kthread.h"

enum { PAGE = 4096 };

// Lowest first: the number of arguments, argv, the variables, what they point to.
void main_stack_find(struct main_stack *stack, char **arguments)
{
    size_t size;

    kthread_stack(&stack->low, &size);
    stack->top = (char *)(arguments - 1);
}

// The kernel knows where the stack begins today, and lets what it grows by be like that.
tm_status main_stack_deny(const struct main_stack *stack)
{
    char *end = stack->top - (uintptr_t)stack->top % PAGE;

    if (mprotect(end - PAGE, PAGE, PROT_NONE | PROT_GROWSDOWN) != 0) {
        log_error("cannot protect the stack of main(): %m");
        return TM_ESYSTEM;
    }
    return TM_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_ACCESS_TEST_H
#define OS_ACCESS_TEST_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "os/trap.h"

/*
 * For tests: touch a byte and find out whether that is allowed. Both are single
 * instructions, which access_refused() leaves by another way.
 */
int access_read(volatile char *address);  ///< @return 1 if it was allowed
int access_write(volatile char *address); ///< writes 1 @return 1 if allowed
void access_refuse(void);

__asm__(".text\n"
        ".globl access_read, access_write, access_refuse\n"
        ".type access_read, @function\n"
        ".type access_write, @function\n"
        ".type access_refuse, @function\n"
        "access_read:\n"
        "movb (%rdi), %al\n"
        "movl $1, %eax\n"
        "ret\n"
        "access_write:\n"
        "movb $1, (%rdi)\n"
        "movl $1, %eax\n"
        "ret\n"
        "access_refuse:\n"
        "xorl %eax, %eax\n"
        "ret\n");

/** Was the trap raised by one of the two? */
static inline int access_is_ours(const struct trap *trap)
{
    return trap->pc == (uintptr_t)access_read ||
           trap->pc == (uintptr_t)access_write;
}

static inline int access_refused(const struct trap *trap)
{
    ucontext_t *state = trap->ucontext;

    state->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)access_refuse;
    return 1;
}

#endif

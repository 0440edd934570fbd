// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_CONTEXT_H
#define OS_CONTEXT_H

#include <stddef.h>

/*
 * The C interface of Boost.Context, which has no C header. A context is the
 * stack pointer of code that is not running; its registers lie on its stack.
 */
struct context_transfer {
    void *from; ///< the context of who jumped here
    void *data; ///< what it passed
};

/** A context that calls entry() on an empty stack; entry() must not return.
 * @param top  the byte behind the stack */
void *context_make(
    void *top, size_t size,
    void (*entry)(struct context_transfer transfer)) __asm__("make_fcontext");

/** Go on in another context; returns when somebody jumps back to this one. */
struct context_transfer context_jump(void *to,
                                     void *data) __asm__("jump_fcontext");

#endif

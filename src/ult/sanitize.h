// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_SANITIZE_H
#define ULT_SANITIZE_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/asan.h"

/*
 * What the sanitizers must be told about stacks and switches between them:
 * AddressSanitizer if the program was built with it, ThreadSanitizer if all was.
 * The functions are inline because the latter wants to hear of a switch from the
 * function that makes it.
 */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZE_ADDRESS 1
#endif
#if __has_feature(thread_sanitizer)
#define SANITIZE_THREAD 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZE_ADDRESS 1
#endif
#ifdef __SANITIZE_THREAD__
#define SANITIZE_THREAD 1
#endif

#ifdef SANITIZE_THREAD
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_func_entry(void *caller);
#endif

// ThreadSanitizer runs a handler when the kernel thread that has got the signal next
// calls something that it replaces. A futex is not such a call: who sleeps on one
// looks up so often.
#ifdef SANITIZE_THREAD
#define SANITIZE_LOOK_NS UINT64_C(100000000)
#else
#define SANITIZE_LOOK_NS UINT64_C(0) // never
#endif

static inline void sanitize_take_signals(void)
{
#ifdef SANITIZE_THREAD
    usleep(0);
#endif
}

/** A stack with what the sanitizers know of it. */
struct sanitize_fiber {
    const char *low;
    size_t size;
    void *fake_stack; // AddressSanitizer's
    void *tsan;
};

static inline void sanitize_init(struct sanitize_fiber *fiber, const char *low,
                                 size_t size)
{
    *fiber = (struct sanitize_fiber){.low = low, .size = size};
    asan_forget(low, size); // what was on the stack before
#ifdef SANITIZE_THREAD
    fiber->tsan = __tsan_create_fiber(0);
#endif
}

/** The same for the stack that the caller is on. */
static inline void sanitize_init_current(struct sanitize_fiber *fiber,
                                         const char *low, size_t size)
{
    *fiber = (struct sanitize_fiber){.low = low, .size = size};
#ifdef SANITIZE_THREAD
    fiber->tsan = __tsan_get_current_fiber();
#endif
}

static inline void sanitize_release(struct sanitize_fiber *fiber)
{
#ifdef SANITIZE_THREAD
    __tsan_destroy_fiber(fiber->tsan);
#endif
    fiber->tsan = NULL;
}

/** Directly before a switch. @param from  NULL if its stack has ended */
static inline __attribute__((always_inline)) void sanitize_leave(
    struct sanitize_fiber *from, const struct sanitize_fiber *to)
{
    asan_leave(from != NULL ? &from->fake_stack : NULL, to->low, to->size);
#ifdef SANITIZE_THREAD
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/** Directly after a switch to this fiber. */
static inline __attribute__((always_inline)) void sanitize_arrive(
    const struct sanitize_fiber *fiber)
{
    asan_arrive(fiber->fake_stack);
}

/** A fiber made for a stack that comes from another process: it will return
 * from functions that ThreadSanitizer has not seen it enter. */
static inline __attribute__((always_inline)) void sanitize_imported(
    const struct sanitize_fiber *fiber)
{
#ifdef SANITIZE_THREAD
    enum { DEEPEST = 200 };
    void *here = __tsan_get_current_fiber();

    __tsan_switch_to_fiber(fiber->tsan, 0);
    for (int i = 0; i < DEEPEST; i++) {
        __tsan_func_entry(NULL);
    }
    __tsan_switch_to_fiber(here, 0);
#endif
    (void)fiber;
}

#endif

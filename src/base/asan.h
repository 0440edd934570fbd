// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_ASAN_H
#define BASE_ASAN_H

#include <stddef.h>

/*
 * AddressSanitizer's view of memory that it cannot know by itself. It is told at run
 * time, if it is there: so programs that are built with it can use a library that
 * is not.
 */

void __asan_unpoison_memory_region(const volatile void *low, size_t size)
    __attribute__((weak));
void __sanitizer_start_switch_fiber(void **fake_stack, const void *low,
                                    size_t size) __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **low,
                                     size_t *size) __attribute__((weak));

/** Forget marks: all of this may be read and written. */
static inline void asan_forget(const void *low, size_t size)
{
    if (__asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(low, size);
    }
}

/** Directly before a switch to a stack. @param[out] fake_stack  of the one that is left;
 * NULL if that has ended */
static inline void asan_leave(void **fake_stack, const void *low, size_t size)
{
    if (__sanitizer_start_switch_fiber != NULL) {
        __sanitizer_start_switch_fiber(fake_stack, low, size);
    }
}

/** Directly after it. @param fake_stack  of the one that is entered */
static inline void asan_arrive(void *fake_stack)
{
    if (__sanitizer_finish_switch_fiber != NULL) {
        __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
    }
}

#endif

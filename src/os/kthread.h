// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_KTHREAD_H
#define OS_KTHREAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** Sleep while *word is expected; may return early. Ends with kthread_wake(), or
 * after timeout_ns; 0 for none. */
void kthread_wait(const _Atomic uint32_t *word, uint32_t expected,
                  uint64_t timeout_ns);

/** Sleep until clock_now_ns() is that or later. */
void kthread_sleep_until(uint64_t wall_ns);

/** Wake one kernel thread that sleeps on the word. Context: any. */
void kthread_wake(const _Atomic uint32_t *word);

/** Wake all of them. */
void kthread_wake_all(const _Atomic uint32_t *word);

/** The stack of the calling kernel thread. Context: not on another stack. */
void kthread_stack(char **low, size_t *size);

#endif

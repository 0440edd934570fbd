// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_KTHREAD_H
#define OS_KTHREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

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

/** Is there room for one more kernel thread? One is started that ends at once.
 * @param name  of what the room is for, as kthread_start()'s
 * @return as kthread_start() */
TM_CHECKED tm_status kthread_try(const char *name);

/** Start a kernel thread that no signal is delivered to.
 * @param name  at most 15 characters, for ps and debuggers
 * @param run   gets the argument
 * @return TM_OK
 * @return TM_ELIMIT, TM_ESYSTEM  logged */
TM_CHECKED tm_status kthread_start(pthread_t *thread, const char *name,
                                   void *(*run)(void *argument),
                                   void *argument);

/** Give a kernel thread real-time priority, the lowest that there is: with all processors
 * computing it need not wait for its turn.
 * @return 0, or the error number: the system may not permit it */
int kthread_hurry(pthread_t thread);

/** Take real-time priority back. That is always permitted. */
void kthread_calm(pthread_t thread);

/** The kernel's number of the calling kernel thread. */
int kthread_id(void);

/** The stack of the calling kernel thread. Without /proc it ends the process with one line.
 * Context: not on another stack. */
void kthread_stack(char **low, size_t *size);

#endif

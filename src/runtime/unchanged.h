// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_UNCHANGED_H
#define RUNTIME_UNCHANGED_H

#include "base/status.h"

/*
 * What the front end for unchanged programs (frontend/) needs of the library besides
 * the public header. No program calls this.
 */

/** A program that was not written for Teamster, and how it is served. */
struct tm_unchanged {
    struct tm_program variables;
    /** [variables.shared_start, flags_end) are the small ones, whole pages: plain atomics
     * work there, whatever --protocol says. */
    const char *flags_end;
    /** Called at each switch of threads: ult_follow_switches(). */
    void (*leave)(void);
    void (*arrive)(void);
    /** Is the address in the guard below the calling thread's stack in shared memory?
     * @return bytes of that stack; 0: no. Async-signal-safe. */
    size_t (*overflown)(const void *address);
    /** Why can no checkpoint be made? A text that stays; NULL: one can. Threads are held. */
    const char *(*why_unsaved)(void);
    /** The program has ended, and what is left of it (a library's destructor) uses shared
     * memory, which is gone: end the process. From a signal handler; does not return. */
    void (*end)(void);
    const char *blocks_low; ///< set: where blocks of shared memory can be
    const char *blocks_high;
};

/**
 * tm_init() of such a program.
 *
 * @param program  kept
 * @return as tm_init(). Threads may be on stacks in shared memory from then on, as long
 *         as they call nothing of the library there
 */
TM_API tm_status teamster_begin_unchanged(struct tm_unchanged *program);

/** The same for programs of 0.2.0 and before, which know less of struct tm_unchanged: ends the
 * process with one line. */
TM_API tm_status teamster_init_unchanged(const void *program);

/** What the front end keeps of the calling thread; NULL: nothing, or it is no thread.
 * Context: any; async-signal-safe. */
TM_API void *teamster_front(void);

/** @param front  on the thread's private stack, since it moves with it
 * @return TM_OK, TM_ENOMEM. Context: a thread. */
TM_API tm_status teamster_set_front(void *front);

/**
 * The value of a semaphore, 0 if threads wait for it. Public programs have no use for what may
 * be another at once; sem_getvalue() has.
 *
 * @return TM_OK
 * @return TM_EINVAL  it was not initialised
 *
 * Context: an application thread; blocks for a round trip.
 */
TM_API tm_status teamster_sem_value(tm_sem *sem, unsigned *value);

/**
 * The memory of a mutex is used anew, also one that was held when its memory was freed: it is
 * of the usual type, and nobody holds it. As far as this node has heard of that one: what was
 * locked and freed on others, and never used here, stays held.
 *
 * @return TM_OK. Context: an application thread; blocks for a round trip if the mutex was used
 *         here and on another node after that.
 */
TM_API tm_status teamster_mutex_renew(tm_mutex *mutex);

/** What `lock` instructions of a program do. */
enum teamster_update_op {
    TEAMSTER_ADD,
    TEAMSTER_AND,
    TEAMSTER_OR,
    TEAMSTER_XOR,
    TEAMSTER_EXCHANGE,
    TEAMSTER_COMPARE, ///< exchange if it is as expected
    TEAMSTER_UPDATES
};

/**
 * An atomic operation that orders nothing else, in any memory: in shared memory where
 * processors' instructions do not work at once the page's owner performs it.
 *
 * @param word      at a multiple of its size
 * @param size      1, 2, 4, 8 bytes
 * @param expected  of TEAMSTER_COMPARE
 * @return the word before; bytes above its size are 0
 *
 * Context: an application thread; blocks for a round trip, and for a release if this node has
 *          written in that page since its last one.
 */
TM_API uint64_t teamster_update(void *word, unsigned size,
                                enum teamster_update_op op, uint64_t operand,
                                uint64_t expected);

/** What becomes of a word, which is `before`. Context: any. */
TM_API uint64_t teamster_update_result(unsigned size,
                                       enum teamster_update_op op,
                                       uint64_t operand, uint64_t expected,
                                       uint64_t before);

/** Is this node the only one, and will be? Context: any thread. */
TM_API int teamster_stays_alone(void);

/** The protection of shared memory: PROT_READ | PROT_WRITE, and PROT_EXEC if the program was
 * linked with an executable stack. Context: any thread. */
TM_API int teamster_memory_protection(void);

/**
 * tm_sem_wait(), or with a deadline tm_sem_timedwait(), which teamster_interrupt() ends.
 *
 * @param deadline  NULL: none
 * @return as these; TM_ETIMEDOUT before the deadline: it was interrupted
 *
 * Context: an application thread; blocks.
 */
TM_API tm_status teamster_sem_wait(tm_sem *sem,
                                   const struct timespec *deadline);

/**
 * If a thread is in teamster_sem_wait(), on whatever node, that returns.
 *
 * @return TM_OK. Context: an application thread; does not block.
 */
TM_API tm_status teamster_interrupt(tm_thread thread);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_TRAP_H
#define OS_TRAP_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Signals that accesses raise (SIGBUS, SIGSEGV) as function calls: the handler
 * runs on the stack of the thread that made the access, so that it may switch to
 * another thread and come back much later, on the same kernel thread.
 *
 * With SIGBUS (userfaultfd) the kernel itself puts the frame on that stack, and
 * SIGSEGV goes to an alternate stack of the worker, because it is fatal. With
 * SIGSEGV (mprotect) the alternate stack belongs to the thread (SS_AUTODISARM)
 * and is set at every switch, so that an overflow of the thread's stack is still
 * caught.
 */

struct trap {
    int signal;
    int code;          ///< si_code
    uintptr_t address; ///< that was accessed
    int is_write;
    uintptr_t pc; ///< of the instruction
    uintptr_t sp;
    uintptr_t fp; ///< rbp: first frame of the backtrace
    void *ucontext;
};

/** @return 1 to run the instruction again, 0 if the access is none of ours: the
 * signal's default action follows (the process ends, with a core file if the
 * limits allow one), or the program's own handler if it has one. */
typedef int trap_fn(void *owner, const struct trap *trap);

/** Threads may be on stacks that the kernel cannot write to: all handlers run on the
 * alternate stack of the thread. Before trap_install() and all threads. */
void trap_keep_off_stacks(void);

/** Does the handler of the resumable signal run on the thread's alternate stack? */
int trap_is_off_stacks(void);

/** Install the handlers of SIGBUS and SIGSEGV (and SIGABRT, SIGFPE, SIGILL,
 * with is_write 0) for the process. A handler of resumable_signal may switch threads:
 * SIGBUS with userfaultfd, SIGSEGV with mprotect; the other of the two is fatal.
 * Uses the system call, not the C library's sigaction(), which other libraries
 * interpose. */
tm_status trap_install(int resumable_signal, trap_fn *fn, void *owner);

/** Have a signal call a function that may switch threads, on the alternate stack of the
 * thread. After trap_install(), with trap_is_off_stacks().
 * @return TM_OK, TM_ESYSTEM (logged) */
tm_status trap_install_switch(int signal, void (*fn)(const struct trap *trap));

/** sigaction() of the program, for the signals above: what it asks for is kept,
 * not given to the kernel, and done when a trap is none of ours.
 * @param action, before  as of sigaction(); either may be NULL
 * @return 1 done, 0 the signal is none of those, or trap_install() has not been
 *         called: for the C library */
int trap_program_action(int signal, const struct sigaction *action,
                        struct sigaction *before);

/** Has the program a handler for this trap, were it raised by a signal, or is that
 * to be ignored? Async-signal-safe. */
int trap_is_handled(const struct trap *trap, int signal);

/** Call the program's handler of a signal that it has one for, as if the access
 * had raised that. For the trap_fn. */
void trap_present(const struct trap *trap, int signal);

/** Take the signal of faults out of what the program is about to block. */
void trap_unblock(sigset_t *set_to_block);

/** Prepare the calling kernel thread: an alternate stack of its own. Does nothing
 * if it has one. Workers do it for themselves. */
tm_status trap_thread_open(void);
void trap_thread_close(void);

/** Is this a place on the calling kernel thread's own alternate stack? Then its
 * threads must not switch: the next signal would overwrite what is there. */
int trap_is_on_own_stack(uintptr_t sp);

/** The alternate stack for the thread about to run; does nothing unless
 * trap_is_off_stacks(). Called at every thread switch. */
void trap_use_stack(char *low, size_t size);

/** Bytes that an alternate stack needs here (AVX state and all). */
size_t trap_stack_size(void);

#endif

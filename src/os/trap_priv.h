// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_TRAP_PRIV_H
#define OS_TRAP_PRIV_H

#include <signal.h>
#include <stdint.h>

/*
 * Shared by trap.c and trap_program.c.
 */

#define KERNEL_SA_RESTORER 0x04000000ul

/** As the system call takes it. */
struct kernel_sigaction {
    union {
        void (*with_info)(int, siginfo_t *, void *);
        void (*plain)(int);
    } handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static inline uint64_t signal_bit(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

/** From now on this signal must never be blocked. */
void program_actions_open(int resumable_signal);

/** What was installed for a signal before ours: the program's first action. */
void program_action_start(int signal, const struct kernel_sigaction *action);

/** Do what the program wants done. Async-signal-safe.
 * @return 1 its handler has been called, or the signal is to be ignored; 0 the
 *         default action is for the caller to take */
int program_action_take(int signal, siginfo_t *info, void *context);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// The program's own handlers of the signals that trap.c handles. Were they given to
// the kernel, faults of shared memory would end there. So what sigaction() says of
// these signals after trap_install() is kept here (runtime/wrap_signal.c calls
// trap_program_action()), and called for what is not an access of ours, with its
// mask and flags as the kernel would. What was installed before is the first of
// these.
//
// P1 A handler reads an action while another kernel thread may set one: actions
//    are written into a ring, and one pointer says which counts. The ring is not
//    used up while a handler copies its action.
// P2 The signal of faults is never blocked, whatever the program asks for: a fault
//    while it is blocked is the kernel's to handle, and ends the process.
//
// Differences that a handler could notice: it runs on the alternate stack also
// without SA_ONSTACK, and SA_RESTART and SA_NOCLDSTOP mean nothing here.
#include "os/trap.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/early.h"
#include "os/trap_priv.h"

enum { RING = 16, SIGNALS_MAX = 32 };

static struct {
    struct kernel_sigaction ring[RING]; // P1
    _Atomic(const struct kernel_sigaction *) current;
    _Atomic unsigned n_set;
} actions[SIGNALS_MAX];

static int never_blocked; // P2

EARLY static int is_kept(int signal)
{
    return signal > 0 && signal < SIGNALS_MAX &&
           atomic_load_explicit(&actions[signal].current,
                                memory_order_relaxed) != NULL;
}

// Pairs with the store in set().
static struct kernel_sigaction get(int signal)
{
    return *atomic_load_explicit(&actions[signal].current,
                                 memory_order_acquire);
}

static void set(int signal, const struct kernel_sigaction *action)
{
    unsigned n = atomic_fetch_add_explicit(&actions[signal].n_set, 1,
                                           memory_order_relaxed);
    struct kernel_sigaction *place = &actions[signal].ring[n % RING];

    *place = *action;
    atomic_store_explicit(&actions[signal].current, place,
                          memory_order_release);
}

void program_actions_open(int resumable_signal)
{
    never_blocked = resumable_signal;
}

void program_action_start(int signal, const struct kernel_sigaction *action)
{
    set(signal, action);
}

static int is_handler(const struct kernel_sigaction *action)
{
    return action->handler.plain != SIG_DFL && action->handler.plain != SIG_IGN;
}

// An error of the program's own cannot be ignored, a signal that was sent can.
static int is_ignored(const struct kernel_sigaction *action, int code)
{
    return action->handler.plain == SIG_IGN && code <= 0;
}

int trap_is_handled(const struct trap *trap, int signal)
{
    struct kernel_sigaction action;

    if (!is_kept(signal)) {
        return 0;
    }
    action = get(signal);
    return is_handler(&action) || is_ignored(&action, trap->code);
}

static uint64_t block(uint64_t mask)
{
    uint64_t before = 0;

    mask &= ~signal_bit(never_blocked);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &before, sizeof mask);
    return before;
}

static void call(const struct kernel_sigaction *action, int signal,
                 siginfo_t *info, void *context)
{
    uint64_t mask = action->mask;
    uint64_t before;

    if ((action->flags & SA_RESETHAND) != 0) {
        struct kernel_sigaction none = {.handler.plain = SIG_DFL};

        set(signal, &none);
    }
    if ((action->flags & SA_NODEFER) == 0) {
        mask |= signal_bit(signal);
    }
    before = block(mask);
    if ((action->flags & SA_SIGINFO) != 0) {
        action->handler.with_info(signal, info, context);
    } else {
        action->handler.plain(signal);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

int program_action_take(int signal, siginfo_t *info, void *context)
{
    struct kernel_sigaction action = get(signal);

    if (is_handler(&action)) {
        call(&action, signal, info, context);
        return 1;
    }
    return is_ignored(&action, info->si_code);
}

void trap_present(const struct trap *trap, int signal)
{
    struct kernel_sigaction action = get(signal);
    siginfo_t info;

    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = SEGV_ACCERR;
    info.si_addr = (void *)trap->address;
    call(&action, signal, &info, trap->ucontext);
}

EARLY int trap_program_action(int signal, const struct sigaction *action,
                              struct sigaction *before)
{
    struct kernel_sigaction kernel = {.handler.plain = SIG_DFL};

    if (!is_kept(signal)) {
        return 0;
    }
    // Both may be the same, and either shared memory.
    if (action != NULL) {
        kernel.handler.plain = action->sa_handler;
        kernel.flags = (unsigned)action->sa_flags;
        memcpy(&kernel.mask, &action->sa_mask, sizeof kernel.mask);
    }
    if (before != NULL) {
        struct kernel_sigaction old = get(signal);

        memset(before, 0, sizeof *before);
        before->sa_handler = old.handler.plain;
        before->sa_flags = (int)(old.flags & ~KERNEL_SA_RESTORER);
        memcpy(&before->sa_mask, &old.mask, sizeof old.mask);
    }
    if (action != NULL) {
        set(signal, &kernel);
    }
    return 1;
}

EARLY void trap_unblock(sigset_t *set_to_block)
{
    if (never_blocked != 0) {
        sigdelset(set_to_block, never_blocked);
    }
}

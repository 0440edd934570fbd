// SPDX-License-Identifier: BSD-3-Clause
//
// Signals of the program's own. Accesses to shared memory raise SIGBUS or SIGSEGV,
// which are handled here; a program that installed its own handler of them would
// lose shared memory, and one that blocked them would end at the next fault. So
// these functions stand before the C library's: handlers of the signals of errors
// are kept and called for real errors (os/trap.c), and the signal of faults
// is left out of what is blocked. All else is passed on.
//
// sigset(), sigvec() and the system call itself do not come here.
#include "runtime/wrap.h"

#include <errno.h>
#include <signal.h>

#include "base/early.h"
#include "os/trap.h"

typedef void handler_fn(int);

handler_fn *__sysv_signal(int signal, handler_fn *handler);

EARLY EXPORTED int sigaction(int number, const struct sigaction *action,
                             struct sigaction *before)
{
    struct sigaction own;

    if (trap_program_action(number, action, before)) {
        return 0;
    }
    if (action == NULL) {
        return CALL(sigaction)(number, NULL, before);
    }
    own = *action;
    trap_unblock(&own.sa_mask);
    return CALL(sigaction)(number, &own, before);
}

static handler_fn *install(int number, handler_fn *handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;

    return trap_program_action(number, &action, &before) ? before.sa_handler
                                                         : NULL;
}

static int is_ours(int number)
{
    return trap_program_action(number, NULL, NULL);
}

EXPORTED handler_fn *signal(int number, handler_fn *handler)
{
    return is_ours(number) ? install(number, handler, SA_RESTART)
                           : CALL(signal)(number, handler);
}

EXPORTED handler_fn *__sysv_signal(int number, handler_fn *handler)
{
    return is_ours(number)
               ? install(number, handler, (int)SA_RESETHAND | SA_NODEFER)
               : CALL(__sysv_signal)(number, handler);
}

typedef int mask_fn(int how, const sigset_t *set, sigset_t *before);

static int change_mask(mask_fn *real, int how, const sigset_t *set,
                       sigset_t *before)
{
    sigset_t own;

    if (set == NULL || how == SIG_UNBLOCK) {
        return real(how, set, before);
    }
    own = *set;
    trap_unblock(&own);
    return real(how, &own, before);
}

EXPORTED int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    return change_mask(CALL(sigprocmask), how, set, before);
}

EXPORTED int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    return change_mask(CALL(pthread_sigmask), how, set, before);
}

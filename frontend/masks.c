// SPDX-License-Identifier: BSD-3-Clause
//
// Which signals each thread blocks, and waiting for some. A mask is its thread's (front.h), so that
// it goes with it and is in checkpoints; a new thread has its creator's. The root is told
// (signal_table.c): by all threads, from their beginning to their end, of a program that is linked
// with this file, that is one that calls it.
#include <errno.h>
#include <string.h>

#include "front.h"
#include "signals.h"

typedef void handler_fn(int number);

extern __typeof__(sigaction) tmf_sigaction;

// Nobody can block these; the C library's own are between the others.
static uint64_t mask_of(const sigset_t *set)
{
    uint64_t mask;

    memcpy(&mask, set, sizeof mask);
    mask &= ~(SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP));
    for (int number = 32; number < SIGRTMIN; number++) {
        mask &= ~SIGNAL_BIT(number);
    }
    return mask;
}

static void set_of(uint64_t mask, sigset_t *set)
{
    sigemptyset(set);
    memcpy(set, &mask, sizeof mask);
}

static void change_mask(uint64_t blocked)
{
    struct signal_call call = front_signal_call();

    call.blocked = blocked;
    front_thread()->blocked = blocked;
    front_at_root(signal_change_mask, &call);
    front_run_handlers(&call, blocked);
}

// ---- hooks

void front_signals_begin(void)
{
    struct signal_call call = front_signal_call();

    if (front_thread()->is_main) {
        front_at_root(signal_know_all, &call);
    } else {
        change_mask(call.blocked);
    }
}

void front_signals_end(void)
{
    struct signal_call call = front_signal_call();

    front_at_root(signal_forget, &call);
    while (call.delivery.number != 0) {
        front_run_handlers(&call, call.blocked);
        front_at_root(signal_forget, &call);
    }
}

// ---- masks

FRONT(pthread_sigmask)
int tmf_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    const uint64_t was = front_thread()->blocked;
    const uint64_t mask = set == NULL ? 0 : mask_of(set);

    if (set != NULL && how != SIG_BLOCK && how != SIG_UNBLOCK &&
        how != SIG_SETMASK) {
        return EINVAL;
    }
    if (before != NULL) {
        set_of(was, before);
    }
    if (set != NULL) {
        change_mask(how == SIG_BLOCK     ? was | mask
                    : how == SIG_UNBLOCK ? was & ~mask
                                         : mask);
    }
    return 0;
}

FRONT(sigprocmask)
int tmf_sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    const int error = tmf_pthread_sigmask(how, set, before);

    if (error != 0) {
        errno = error;
    }
    return error == 0 ? 0 : -1;
}

FRONT(sigpending)
int tmf_sigpending(sigset_t *set)
{
    struct signal_call call = front_signal_call();

    front_at_root(signal_list, &call);
    set_of(call.set, set);
    return 0;
}

FRONT(sigsuspend)
int tmf_sigsuspend(const sigset_t *set)
{
    return front_suspend(mask_of(set));
}

// ---- waiting for some

FRONT(sigtimedwait)
int tmf_sigtimedwait(const sigset_t *set, siginfo_t *info,
                     const struct timespec *time)
{
    struct signal_call call = front_signal_call();
    int number;

    if (time != NULL && (time->tv_nsec < 0 || time->tv_nsec >= 1000000000)) {
        errno = EINVAL;
        return -1;
    }
    call.set = mask_of(set);
    call.ns = time == NULL ? -1 : front_ns(time);
    number = (int)front_at_root(signal_wait, &call);
    if (number > 0 && info != NULL) {
        *info = call.delivery.info;
        if (info->si_code == SI_TKILL) { // as the C library has it here
            info->si_code = SI_USER;
        }
    }
    return number;
}

FRONT(sigwaitinfo)
int tmf_sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return tmf_sigtimedwait(set, info, NULL);
}

FRONT(sigwait)
int tmf_sigwait(const sigset_t *set, int *number)
{
    *number = tmf_sigtimedwait(set, NULL, NULL);
    return 0;
}

// ---- older names, which headers call deprecated

// @param is_blocked  from now on
static int change_one(int number, int is_blocked)
{
    const uint64_t was = front_thread()->blocked;

    if (number <= 0 || number > SIGNALS) {
        errno = EINVAL;
        return -1;
    }
    change_mask(is_blocked ? was | SIGNAL_BIT(number)
                           : was & ~SIGNAL_BIT(number));
    return 0;
}

int tmf_sighold(int number) __attribute__((weak));
int tmf_sighold(int number)
{
    return change_one(number, 1);
}

int tmf_sigrelse(int number) __attribute__((weak));
int tmf_sigrelse(int number)
{
    return change_one(number, 0);
}

int tmf___xpg_sigpause(int number) __attribute__((weak));
int tmf___xpg_sigpause(int number)
{
    if (number <= 0 || number > SIGNALS) {
        errno = EINVAL;
        return -1;
    }
    return front_suspend(front_thread()->blocked & ~SIGNAL_BIT(number));
}

handler_fn *tmf_sigset(int number, handler_fn *handler) __attribute__((weak));
handler_fn *tmf_sigset(int number, handler_fn *handler)
{
    const struct sigaction action = {.sa_handler = handler};
    struct sigaction before;
    int was_blocked;

    if (tmf_sigaction(number, handler == SIG_HOLD ? NULL : &action, &before) !=
        0) {
        return SIG_ERR;
    }
    was_blocked = (front_thread()->blocked & SIGNAL_BIT(number)) != 0;
    if (change_one(number, handler == SIG_HOLD) != 0) {
        return SIG_ERR;
    }
    return was_blocked ? SIG_HOLD : before.sa_handler;
}

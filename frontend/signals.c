// SPDX-License-Identifier: BSD-3-Clause
//
// Signals of the program. The kernel gives a signal to any of the root's kernel threads, in the
// middle of anything: of the library, or of a thread whose memory is elsewhere. There it is only
// noted. A thread of the program's, made when the first handler is installed, asks for what was
// noted, and runs the handler; so a handler runs beside the other threads, and may do what they
// may. raise() runs it in the thread that calls.
//
// Which signals are blocked is one thing for the whole program. One that has no handler is noted
// as well while it is blocked: for sigwait() and its like, or until it is let through.
//
// All tables are the root's own. Signals of errors (SIGSEGV and so on) are not for here: they
// come to who has made the error. SIGURG is the library's (ult/slice.c): what the program says of
// it is remembered, and no more.
#include "on_root.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef void handler_fn(int number);
typedef void info_handler_fn(int number, siginfo_t *info, void *context);

enum { LOOK_NS = 5 * 1000 * 1000, LAST = NSIG };

/** On the root. */
static struct {
    struct sigaction actions[LAST];
    siginfo_t infos[LAST];                  // of the latest
    volatile sig_atomic_t is_pending[LAST]; // noted, and not handled yet
    sigset_t blocked;
    unsigned long n_handled;
    int has_server;
} table;

extern __typeof__(pthread_create) tmf_pthread_create;

static int is_error(int number)
{
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
        return 1;
    default:
        return 0;
    }
}

static int is_ours(int number)
{
    return number > 0 && number < LAST && number != SIGKILL &&
           number != SIGSTOP && !is_error(number);
}

static int has_handler(int number)
{
    const struct sigaction *action = &table.actions[number];

    return (action->sa_flags & SA_SIGINFO) != 0 ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

// ---- noting, on the root

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    table.infos[number] = *info;
    table.is_pending[number] = 1;
}

// As the kernel is to treat it now.
static int apply(int number)
{
    const int is_noted =
        has_handler(number) || sigismember(&table.blocked, number) == 1;
    struct sigaction action = {.sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_ONSTACK};

    if (number == SIGURG) {
        return 0;
    }
    if (is_noted) {
        action.sa_sigaction = note;
        sigfillset(&action.sa_mask);
    } else {
        action.sa_flags = 0;
        action.sa_handler = table.actions[number].sa_handler;
    }
    return sigaction(number, &action, NULL);
}

/** What happens to a signal, in shared memory. */
struct delivery {
    int number; // 0: none
    struct sigaction action;
    siginfo_t info;
};

// It is about to be handled.
static void take(int number, struct delivery *delivery)
{
    *delivery =
        (struct delivery){number, table.actions[number], table.infos[number]};
    table.is_pending[number] = 0;
    if ((delivery->action.sa_flags & (int)SA_RESETHAND) != 0) {
        table.actions[number] = (struct sigaction){.sa_handler = SIG_DFL};
        (void)apply(number);
    }
}

static void rest(void)
{
    const struct timespec time = {.tv_nsec = LOOK_NS};

    nanosleep(&time, NULL);
}

// The next one that has a handler and may come. @return 0: there will be none
static long await_delivery(void *arguments)
{
    for (; !front_main_is_gone(); rest()) {
        for (int number = 1; number < LAST; number++) {
            if (table.is_pending[number] && has_handler(number) &&
                sigismember(&table.blocked, number) == 0) {
                take(number, arguments);
                return 1;
            }
        }
    }
    return 0;
}

static long count_handled(void *nothing)
{
    (void)nothing;
    table.n_handled++;
    return 0;
}

// ---- handlers, in the program's context

static void run_handler(const struct delivery *delivery)
{
    siginfo_t info = delivery->info;

    if ((delivery->action.sa_flags & SA_SIGINFO) != 0) {
        info_handler_fn *handler = delivery->action.sa_sigaction;

        handler(delivery->number, &info, NULL);
    } else {
        handler_fn *handler = delivery->action.sa_handler;

        handler(delivery->number);
    }
    front_at_root(count_handled, NULL);
}

static void *serve(void *nothing)
{
    struct delivery delivery = {0};

    while (front_at_root(await_delivery, &delivery) != 0) {
        run_handler(&delivery);
    }
    return nothing;
}

static void begin_serving(void)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (tmf_pthread_create(&thread, &attr, serve, NULL) != 0) {
        front_fatal("sigaction(): no thread for handlers can be made");
    }
}

// ---- what is to be done

struct change {
    int number;
    int is_set;
    struct sigaction action;
    struct sigaction before;
    int needs_server;
};

static long change_action(void *arguments)
{
    struct change *change = arguments;
    const int number = change->number;

    change->before = table.actions[number];
    if (!change->is_set) {
        return 0;
    }
    table.actions[number] = change->action;
    change->needs_server = has_handler(number) && !table.has_server;
    table.has_server |= change->needs_server;
    if (table.has_server) {
        front_never_saved("the program handles signals");
    }
    return apply(number);
}

FRONT(sigaction)
int tmf_sigaction(int number, const struct sigaction *action,
                  struct sigaction *before)
{
    struct change change = {.number = number, .is_set = action != NULL};
    int error;

    if (!is_ours(number)) {
        return (int)FRONT_3(sigaction, number, action, before);
    }
    if (action != NULL) {
        change.action = *action;
    }
    error = (int)front_at_root(change_action, &change);
    if (error == 0 && before != NULL) {
        *before = change.before;
    }
    if (change.needs_server) {
        begin_serving();
    }
    return error;
}

static handler_fn *set_handler(int number, handler_fn *handler, int flags)
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;

    return tmf_sigaction(number, &action, &before) == 0 ? before.sa_handler
                                                        : SIG_ERR;
}

FRONT(signal)
handler_fn *tmf_signal(int number, handler_fn *handler)
{
    return set_handler(number, handler, SA_RESTART);
}

handler_fn *tmf___sysv_signal(int number, handler_fn *handler)
    __attribute__((weak));
handler_fn *tmf___sysv_signal(int number, handler_fn *handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

int tmf_siginterrupt(int number, int flag) __attribute__((weak));
int tmf_siginterrupt(int number, int flag)
{
    (void)flag; // no call is interrupted
    return is_ours(number) ? 0 : (errno = EINVAL, -1);
}

// ---- blocked signals

struct mask {
    int how; // of sigprocmask(); -1: only look
    sigset_t set;
    sigset_t before;
};

// One that may come now and has no handler does what the kernel does of itself.
static void let_through(int number)
{
    (void)apply(number);
    if (table.is_pending[number] && !has_handler(number)) {
        table.is_pending[number] = 0;
        raise(number);
    }
}

static long change_mask(void *arguments)
{
    struct mask *mask = arguments;
    const sigset_t was = table.blocked;

    mask->before = was;
    if (mask->how == SIG_SETMASK) {
        table.blocked = mask->set;
    } else if (mask->how == SIG_BLOCK) {
        sigorset(&table.blocked, &was, &mask->set);
    } else if (mask->how == SIG_UNBLOCK) {
        for (int number = 1; number < LAST; number++) {
            if (sigismember(&mask->set, number) == 1) {
                sigdelset(&table.blocked, number);
            }
        }
    } else if (mask->how != -1) {
        return EINVAL;
    }
    for (int number = 1; number < LAST; number++) {
        if (is_ours(number) &&
            sigismember(&table.blocked, number) != sigismember(&was, number)) {
            let_through(number);
        }
    }
    return 0;
}

FRONT(pthread_sigmask)
int tmf_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    struct mask mask = {.how = set == NULL ? -1 : how};
    int error;

    if (set != NULL) {
        mask.set = *set;
    }
    error = (int)front_at_root(change_mask, &mask);
    if (error == 0 && before != NULL) {
        *before = mask.before;
    }
    return error;
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

static long list_pending(void *arguments)
{
    sigset_t *set = arguments;

    sigemptyset(set);
    for (int number = 1; number < LAST; number++) {
        if (table.is_pending[number]) {
            sigaddset(set, number);
        }
    }
    return 0;
}

FRONT(sigpending)
int tmf_sigpending(sigset_t *set)
{
    sigset_t own;

    front_at_root(list_pending, &own);
    *set = own;
    return 0;
}

// ---- waiting for one

static long await_handled(void *nothing)
{
    const unsigned long n = table.n_handled;

    (void)nothing;
    while (table.n_handled == n && !front_main_is_gone()) {
        rest();
    }
    return 0;
}

FRONT(pause)
int tmf_pause(void)
{
    front_at_root(await_handled, NULL);
    errno = EINTR;
    return -1;
}

FRONT(sigsuspend)
int tmf_sigsuspend(const sigset_t *set)
{
    sigset_t before;

    (void)tmf_pthread_sigmask(SIG_SETMASK, set, &before);
    (void)tmf_pause();
    (void)tmf_pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = EINTR;
    return -1;
}

struct waiting {
    sigset_t set;
    int64_t ns; // at most; -1: for ever
    struct delivery delivery;
};

static long await_one(void *arguments)
{
    struct waiting *waiting = arguments;

    for (int64_t left = waiting->ns;; left -= LOOK_NS) {
        for (int number = 1; number < LAST; number++) {
            if (table.is_pending[number] &&
                sigismember(&waiting->set, number) == 1) {
                take(number, &waiting->delivery);
                return number;
            }
        }
        if (waiting->ns >= 0 && left <= 0) {
            errno = EAGAIN;
            return -1;
        }
        rest();
    }
}

FRONT(sigtimedwait)
int tmf_sigtimedwait(const sigset_t *set, siginfo_t *info,
                     const struct timespec *time)
{
    struct waiting waiting = {.set = *set, .ns = -1};
    int number;

    if (time != NULL) {
        waiting.ns = time->tv_sec * 1000000000ll + time->tv_nsec;
    }
    number = (int)front_at_root(await_one, &waiting);
    if (number > 0 && info != NULL) {
        *info = waiting.delivery.info;
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

// ---- sending one

// @return 1 a handler is to run here, 0 the kernel has done it all
static long send_to_self(void *arguments)
{
    struct delivery *delivery = arguments;
    const int number = delivery->number;

    if (!has_handler(number) || sigismember(&table.blocked, number) == 1) {
        return raise(number) == 0 ? 0 : -1;
    }
    table.infos[number] = (siginfo_t){.si_signo = number,
                                      .si_code = SI_TKILL,
                                      .si_pid = getpid(),
                                      .si_uid = getuid()};
    take(number, delivery);
    return 1;
}

FRONT(raise)
int tmf_raise(int number)
{
    struct delivery delivery = {.number = number};
    long what;

    if (!is_ours(number)) {
        return (int)FRONT_1(raise, number);
    }
    what = front_at_root(send_to_self, &delivery);
    if (what == 1) {
        run_handler(&delivery);
    }
    return what < 0 ? -1 : 0;
}

FRONT_CALL(2, int, kill, pid_t, a, int, b)

static long send_to_process(void *arguments)
{
    const int number = *(int *)arguments;

    return kill(getpid(), number) == 0 ? 0 : errno;
}

// Whichever thread it is for: handlers have one of their own, and what is blocked is so for all.
FRONT(pthread_kill)
int tmf_pthread_kill(pthread_t thread, int number)
{
    int own = number;

    (void)thread;
    return number == 0 ? 0 : (int)front_at_root(send_to_process, &own);
}

FRONT_CALL(1, unsigned, alarm, unsigned, a)

struct timer_call {
    int which;
    int is_set;
    struct itimerval value;
    struct itimerval before;
};

static long set_timer(void *arguments)
{
    struct timer_call *call = arguments;
    struct itimerval before;
    const struct itimerval value = call->value;
    const int error =
        call->is_set ? setitimer((__itimer_which_t)call->which, &value, &before)
                     : getitimer((__itimer_which_t)call->which, &before);

    call->before = before;
    return error;
}

FRONT(setitimer)
int tmf_setitimer(__itimer_which_t which, const struct itimerval *value,
                  struct itimerval *before)
{
    struct timer_call call = {
        .which = (int)which, .is_set = 1, .value = *value};
    const int error = (int)front_at_root(set_timer, &call);

    if (error == 0 && before != NULL) {
        *before = call.before;
    }
    return error;
}

FRONT(getitimer)
int tmf_getitimer(__itimer_which_t which, struct itimerval *value)
{
    struct timer_call call = {.which = (int)which};
    const int error = (int)front_at_root(set_timer, &call);

    *value = call.before;
    return error;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Signals of the program: what is done on them, and sending them. What is pending, and for whom,
// the root knows (signal_table.c); what is blocked is in masks.c.
//
// A handler is run by the thread that the signal comes to, if that one calls something of
// signals: kill(), raise(), sigsuspend(), pthread_sigmask(). Else a thread of the front end's,
// made when the first handler is installed, runs it beside the others, in the name of one that
// does not block the signal: that is what pthread_self() says there. So handlers may do what
// threads may.
//
// A thread that sleeps looks for signals as one in pause() does, if there are handlers. One that
// waits for a semaphore is told when a handler without SA_RESTART has been run in its name.
//
// Signals of errors (SIGSEGV, SIGABRT and so on) come to who has made the error, on the node where
// the action was set; those that are sent are as others.
// SIGURG is the library's (ult/slice.c): it comes from the program alone.
#include "signals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "on_root.h"
#include "runtime/unchanged.h"

typedef void handler_fn(int number);
typedef void info_handler_fn(int number, siginfo_t *info, void *context);

extern __typeof__(pthread_create) tmf_pthread_create;
extern __typeof__(pthread_self) tmf_pthread_self;
extern __typeof__(getpid) tmf_getpid;

/** Sleeping for less is not interrupted: for other nodes than the root that is no short call. */
enum { SHORT_NS = 20 * 1000 * 1000 };

static TM_SHARED int has_handlers;

struct signal_call front_signal_call(void)
{
    const struct front_thread *thread = front_thread();

    return (struct signal_call){.self = tmf_pthread_self(),
                                .blocked = thread->blocked,
                                .is_deputy = thread->acts_for != 0};
}

// ---- handlers

static void run_handler(const struct delivery *delivery)
{
    siginfo_t info = delivery->info;
    const int error = errno;

    front_thread()->blocked = delivery->blocked;
    if ((delivery->action.sa_flags & SA_SIGINFO) != 0) {
        info_handler_fn *handler = delivery->action.sa_sigaction;

        handler(delivery->number, &info, NULL);
    } else {
        handler_fn *handler = delivery->action.sa_handler;

        handler(delivery->number);
    }
    errno = error;
}

void front_run_handlers(struct signal_call *call, uint64_t blocked)
{
    while (call->delivery.number != 0) {
        run_handler(&call->delivery);
        front_thread()->blocked = blocked;
        call->blocked = blocked;
        front_at_root(signal_change_mask, call);
    }
}

static long interrupt(pthread_t thread)
{
    return teamster_interrupt(thread);
}

static void serve_one(const struct delivery *delivery)
{
    struct front_thread *thread = front_thread();

    thread->acts_for = delivery->thread;
    run_handler(delivery);
    thread->acts_for = 0;
    if ((delivery->action.sa_flags & SA_RESTART) == 0) {
        FRONT_1(interrupt, delivery->thread);
    }
}

static void *serve(void *nothing)
{
    struct signal_call call = front_signal_call();

    call.is_deputy = 1;
    front_at_root(signal_forget, &call); // signals are not for this thread
    while (front_at_root(signal_serve, &call) != 0) {
        serve_one(&call.delivery);
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

FRONT(sigaction)
int tmf_sigaction(int number, const struct sigaction *action,
                  struct sigaction *before)
{
    struct signal_call call;
    int error;

    if (!signal_is_programs(number)) {
        return (int)FRONT_3(sigaction, number, action, before);
    }
    call = front_signal_call();
    call.number = number;
    call.is_set = action != NULL;
    if (action != NULL) {
        call.action = *action;
    }
    if (signal_is_error(number)) { // for errors of this node
        (void)FRONT_3(sigaction, number, action, NULL);
    }
    error = (int)front_at_root(signal_change_action, &call);
    if (before != NULL) {
        *before = call.before;
    }
    if (call.needs_server) {
        has_handlers = 1;
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
SAME(ssignal, signal);

handler_fn *tmf___sysv_signal(int number, handler_fn *handler)
    __attribute__((weak));
handler_fn *tmf___sysv_signal(int number, handler_fn *handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}
SAME(sysv_signal, __sysv_signal);

int tmf_sigignore(int number) __attribute__((weak));
int tmf_sigignore(int number)
{
    return set_handler(number, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

int tmf_siginterrupt(int number, int flag) __attribute__((weak));
int tmf_siginterrupt(int number, int flag)
{
    struct sigaction action;

    if (tmf_sigaction(number, NULL, &action) != 0) {
        return -1;
    }
    action.sa_flags =
        flag ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return tmf_sigaction(number, &action, NULL);
}

// ---- sending

static int send_call(struct signal_call *call)
{
    const uint64_t blocked = call->blocked;
    const int error = (int)front_at_root(signal_send, call);

    front_run_handlers(call, blocked);
    return error;
}

static struct signal_call call_to_send(int number, int code)
{
    struct signal_call call = front_signal_call();

    call.number = number;
    call.info.si_signo = number;
    call.info.si_code = code;
    call.info.si_pid = tmf_getpid();
    call.info.si_uid = getuid();
    return call;
}

FRONT(kill)
int tmf_kill(pid_t process, int number)
{
    struct signal_call call = call_to_send(number, SI_USER);

    call.process = process;
    return send_call(&call);
}

FRONT(killpg)
int tmf_killpg(pid_t group, int number)
{
    if (group < 0) {
        errno = EINVAL;
        return -1;
    }
    return tmf_kill(-group, number);
}

// The kernel's siginfo_t has the value elsewhere for processes that it does not know.
static long queue_elsewhere(void *arguments)
{
    const struct signal_call *call = arguments;
    const union sigval value = call->info.si_value;

    return sigqueue(call->process, call->number, value);
}

FRONT(sigqueue)
int tmf_sigqueue(pid_t process, int number, const union sigval value)
{
    struct signal_call call = call_to_send(number, SI_QUEUE);

    call.process = process;
    call.info.si_value = value;
    if (process != call.info.si_pid || !signal_is_programs(number)) {
        return (int)front_at_root(queue_elsewhere, &call);
    }
    return send_call(&call);
}

// @return 0 or an error
static int send_to_thread(pthread_t thread, struct signal_call *call)
{
    const int error = errno;
    int result = 0;

    if (call->number < 0 || call->number > SIGNALS) {
        return EINVAL;
    }
    call->target = thread;
    if (call->number != 0 && send_call(call) != 0) {
        result = errno;
    }
    errno = error;
    return result;
}

FRONT(pthread_kill)
int tmf_pthread_kill(pthread_t thread, int number)
{
    struct signal_call call = call_to_send(number, SI_TKILL);

    return send_to_thread(thread, &call);
}

FRONT(pthread_sigqueue)
int tmf_pthread_sigqueue(pthread_t thread, int number, const union sigval value)
{
    struct signal_call call = call_to_send(number, SI_QUEUE);

    call.info.si_value = value;
    return send_to_thread(thread, &call);
}

FRONT(raise)
int tmf_raise(int number)
{
    int error;

    if (!signal_is_programs(number)) {
        return (int)FRONT_1(raise, number);
    }
    error = tmf_pthread_kill(tmf_pthread_self(), number);
    if (error != 0) {
        errno = error;
    }
    return error == 0 ? 0 : -1;
}
SAME(gsignal, raise);

// ---- waiting for a handler to have run

int front_suspend(uint64_t blocked)
{
    struct signal_call call = front_signal_call();
    const uint64_t before = call.blocked;

    call.blocked = blocked;
    call.ns = -1;
    front_at_root(signal_suspend, &call);
    front_run_handlers(&call, before);
    errno = EINTR;
    return -1;
}

int front_sleep(int64_t ns, int64_t *left_ns)
{
    struct signal_call call;

    if (!has_handlers || ns < SHORT_NS) {
        return 0;
    }
    call = front_signal_call();
    call.ns = ns;
    front_at_root(signal_suspend, &call);
    *left_ns = call.delivery.number == 0 || call.ns < 0 ? 0 : call.ns;
    if (call.delivery.number == 0) {
        return 1;
    }
    front_run_handlers(&call, front_thread()->blocked);
    errno = EINTR;
    return -1;
}

FRONT(pause)
int tmf_pause(void)
{
    return front_suspend(front_thread()->blocked);
}

// ---- a stack for handlers, which run on their thread's: it is remembered, and no more

FRONT(sigaltstack)
int tmf_sigaltstack(const stack_t *stack, stack_t *before)
{
    struct front_thread *thread = front_thread();
    const stack_t was = {.ss_sp = thread->handler_stack,
                         .ss_size = thread->handler_stack_size,
                         .ss_flags =
                             thread->handler_stack == NULL ? SS_DISABLE : 0};

    if (stack != NULL) {
        const int is_none = stack->ss_flags == SS_DISABLE;

        if (!is_none && (stack->ss_flags & ~SS_ONSTACK) != 0) {
            errno = EINVAL;
            return -1;
        }
        if (!is_none && stack->ss_size < (size_t)MINSIGSTKSZ) {
            errno = ENOMEM;
            return -1;
        }
        thread->handler_stack = is_none ? NULL : stack->ss_sp;
        thread->handler_stack_size = is_none ? 0 : stack->ss_size;
    }
    if (before != NULL) {
        *before = was;
    }
    return 0;
}

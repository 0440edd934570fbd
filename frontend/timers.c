// SPDX-License-Identifier: BSD-3-Clause
//
// Timers, which are the root's: their signals come there (signals.c).
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "on_root.h"
#include "signal_table.h"

FRONT_CALL(1, unsigned, alarm, unsigned, a)
FRONT_CALL(2, useconds_t, ualarm, useconds_t, a, useconds_t, b)

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

// ---- those that have numbers

struct number_call {
    timer_t timer;
    clockid_t clock;
    int has_event;
    struct sigevent event;
    int flags;
    int is_set;
    struct itimerspec value;
    struct itimerspec before;
};

static long make_timer(void *arguments)
{
    struct number_call *call = arguments;
    struct sigevent event = call->event;
    timer_t timer;
    const int error =
        timer_create(call->clock, call->has_event ? &event : NULL, &timer);

    call->timer = timer;
    return error;
}

FRONT(timer_create)
int tmf_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
    struct number_call call = {.clock = clock, .has_event = event != NULL};
    int error;

    if (event != NULL) {
        call.event = *event;
        if (event->sigev_notify != SIGEV_SIGNAL &&
            event->sigev_notify != SIGEV_NONE) {
            front_fatal("timer_create() for a thread (SIGEV_THREAD) cannot be "
                        "had on several nodes: SIGEV_SIGNAL can");
        }
    }
    error = (int)front_at_root(make_timer, &call);
    if (error == 0) {
        *timer = call.timer;
    }
    return error;
}

static long change_timer(void *arguments)
{
    struct number_call *call = arguments;
    const struct itimerspec value = call->value;
    struct itimerspec before;
    const int error =
        call->is_set ? timer_settime(call->timer, call->flags, &value, &before)
                     : timer_gettime(call->timer, &before);

    call->before = before;
    return error;
}

FRONT(timer_settime)
int tmf_timer_settime(timer_t timer, int flags, const struct itimerspec *value,
                      struct itimerspec *before)
{
    struct number_call call = {
        .timer = timer, .flags = flags, .is_set = 1, .value = *value};
    const int error = (int)front_at_root(change_timer, &call);

    if (error == 0 && before != NULL) {
        *before = call.before;
    }
    return error;
}

FRONT(timer_gettime)
int tmf_timer_gettime(timer_t timer, struct itimerspec *value)
{
    struct number_call call = {.timer = timer};
    const int error = (int)front_at_root(change_timer, &call);

    if (error == 0) {
        *value = call.before;
    }
    return error;
}

static long ask_overruns(void *timer)
{
    return signal_overruns(*(timer_t *)timer);
}

FRONT(timer_getoverrun)
int tmf_timer_getoverrun(timer_t timer)
{
    timer_t own = timer;

    return (int)front_at_root(ask_overruns, &own);
}

FRONT_CALL(1, int, timer_delete, timer_t, a)

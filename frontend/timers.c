// SPDX-License-Identifier: BSD-3-Clause
//
// Timers, which are the root's: their signals come there (signals.c).
//
// One that begins threads (SIGEV_THREAD) has the C library begin one on the root, which is none of
// the program's: it only notes that the timer has expired. A thread of the front end's takes note
// after note, and begins a thread of the program for each. A note names its timer by a number that
// is never used again, so that one of a timer that is deleted meanwhile finds none.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
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

// ---- those that begin threads: what the root knows

enum { REST_NS = 5 * 1000 * 1000, NOTES = 256 };

typedef void expiry_fn(union sigval value);

/** What is to be done, as the program has said. */
struct expiry {
    expiry_fn *function;
    union sigval value;
    size_t stack_size;
};

struct expiring {
    struct expiring *next;
    uintptr_t number;
    timer_t timer;
    struct expiry expiry;
};

static struct {
    pthread_mutex_t mutex;
    struct expiring *timers;
    uintptr_t last_number;
    uintptr_t notes[NOTES]; // numbers of timers; what is too much is lost
    unsigned n_notes;
} root = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// In a thread of the C library's.
static void note_expiry(union sigval number)
{
    pthread_mutex_lock(&root.mutex);
    if (root.n_notes < NOTES) {
        root.notes[root.n_notes++] = (uintptr_t)number.sival_ptr;
    }
    pthread_mutex_unlock(&root.mutex);
}

// REQUIRES(root.mutex). @return what points to it; its target is NULL: there is none
static struct expiring **find_expiring(uintptr_t number)
{
    struct expiring **place = &root.timers;

    while (*place != NULL && (*place)->number != number) {
        place = &(*place)->next;
    }
    return place;
}

// @return 0, or -1 and errno
static int make_expiring(clockid_t clock, const struct expiry *expiry,
                         timer_t *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = note_expiry};
    struct expiring *made = malloc(sizeof *made);
    int error;

    if (made == NULL) {
        errno = EAGAIN;
        return -1;
    }
    pthread_mutex_lock(&root.mutex);
    event.sigev_value.sival_ptr = (void *)++root.last_number;
    error = timer_create(clock, &event, timer);
    if (error == 0) {
        *made =
            (struct expiring){root.timers, root.last_number, *timer, *expiry};
        root.timers = made;
    }
    pthread_mutex_unlock(&root.mutex);
    if (error != 0) {
        free(made);
    }
    return error;
}

static void forget_expiring(timer_t timer)
{
    struct expiring **place = &root.timers;
    struct expiring *found;

    pthread_mutex_lock(&root.mutex);
    while (*place != NULL && (*place)->timer != timer) {
        place = &(*place)->next;
    }
    found = *place;
    if (found != NULL) {
        *place = found->next;
    }
    pthread_mutex_unlock(&root.mutex);
    free(found);
}

// The oldest note whose timer is still there. @return 0: there is none
static int take_note(struct expiry *expiry)
{
    int is_found = 0;

    pthread_mutex_lock(&root.mutex);
    while (root.n_notes > 0 && !is_found) {
        const struct expiring *timer = *find_expiring(root.notes[0]);

        is_found = timer != NULL;
        if (is_found) {
            *expiry = timer->expiry;
        }
        root.n_notes--;
        memmove(&root.notes[0], &root.notes[1],
                root.n_notes * sizeof root.notes[0]);
    }
    pthread_mutex_unlock(&root.mutex);
    return is_found;
}

// @return 0: there will be none
static long await_expiry(void *arguments)
{
    const struct timespec time = {.tv_nsec = REST_NS};
    struct expiry expiry;

    while (!take_note(&expiry)) {
        if (front_main_is_gone()) {
            return 0;
        }
        nanosleep(&time, NULL);
    }
    memcpy(arguments, &expiry, sizeof expiry);
    return 1;
}

// ---- and what the program's threads do

extern __typeof__(pthread_create) tmf_pthread_create;

static TM_SHARED int has_server;
static tm_mutex server_mutex;

static uint64_t all_signals(void)
{
    uint64_t mask;
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    memcpy(&mask, &all, sizeof mask);
    return mask;
}

// Signals are not for it, as the C library has it.
static void begin_detached(void *(*body)(void *), void *argument,
                           size_t stack_size)
{
    const uint64_t blocked = front_thread()->blocked;
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    front_thread()->blocked = all_signals();
    if (stack_size > 0) {
        pthread_attr_setstacksize(&attr, stack_size);
    }
    if (tmf_pthread_create(&thread, &attr, body, argument) != 0) {
        front_fatal("no thread can be made for timers");
    }
    front_thread()->blocked = blocked;
}

static void *expire(void *argument)
{
    const struct expiry expiry = *(struct expiry *)argument;

    front_free(argument);
    expiry.function(expiry.value);
    return NULL;
}

static void *serve_timers(void *nothing)
{
    struct expiry expiry;

    while (front_at_root(await_expiry, &expiry) != 0) {
        struct expiry *made = front_allocate(sizeof *made);

        if (made == NULL) {
            front_fatal("no memory for what a timer begins");
        }
        *made = expiry;
        begin_detached(expire, made, expiry.stack_size);
    }
    return nothing;
}

static void need_server(void)
{
    int is_first;

    front_lock(&server_mutex);
    is_first = !has_server;
    has_server = 1;
    front_unlock(&server_mutex);
    if (is_first) {
        front_never_saved("the program has timers that begin threads");
        begin_detached(serve_timers, NULL, 0);
    }
}

// ---- those that have numbers

struct number_call {
    timer_t timer;
    clockid_t clock;
    int has_event;
    struct sigevent event;
    struct expiry expiry;
    int flags;
    int is_set;
    struct itimerspec value;
    struct itimerspec before;
};

static long make_timer(void *arguments)
{
    struct number_call *call = arguments;
    struct sigevent event = call->event;
    const struct expiry expiry = call->expiry;
    timer_t timer;
    const int error =
        call->has_event && event.sigev_notify == SIGEV_THREAD
            ? make_expiring(call->clock, &expiry, &timer)
            : timer_create(call->clock, call->has_event ? &event : NULL,
                           &timer);

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
        call.expiry =
            (struct expiry){event->sigev_notify_function, event->sigev_value,
                            front_named_stack(event->sigev_notify_attributes)};
    }
    if (event != NULL && event->sigev_notify == SIGEV_THREAD) {
        need_server();
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

static long delete_timer(void *timer)
{
    const timer_t own = *(timer_t *)timer;

    forget_expiring(own);
    return timer_delete(own);
}

FRONT(timer_delete)
int tmf_timer_delete(timer_t timer)
{
    timer_t own = timer;

    return (int)front_at_root(delete_timer, &own);
}

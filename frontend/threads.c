// SPDX-License-Identifier: BSD-3-Clause
//
// pthread_create() and what goes with it. A pthread_t is the number of a thread.
//
// Attributes: stack size and detached state count; scheduling, processors and guard sizes
// mean nothing here. Cleanup handlers are those of C: the compiler's frames hold them, and
// the C library's functions, which would keep their list in the kernel thread, are replaced.
//
// pthread_exit() unwinds the stack frame by frame, as the C library does: C++ destructors are
// called, and C's handlers where their frame is left. Whoever needs no unwinder (C) has none;
// then the handlers are called one after the other.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

#include "runtime/unchanged.h"

/** What a new thread is told, in shared memory. */
struct beginning {
    void *(*start)(void *);
    void *argument;
    size_t stack_size;
    uint64_t blocked; // signals
};

/** What pthread_cleanup_push() has on the stack: __pthread_unwind_buf_t begins so. */
struct front_cleanup {
    struct __jmp_buf_tag state;
};

// ---- the end of a thread

void front_thread_exit(struct front_thread *thread, void *result)
{
    if (thread->is_main) {
        front_main_gone(result);
    }
    front_leave_stack(thread);
    (void)!teamster_set_front(NULL);
    tm_thread_exit(result);
}

// What its end brings, in the program's context.
static void end_own_things(void)
{
    front_locals_end();
    front_keys_end();
    if (front_robust_orphan != NULL) {
        front_robust_orphan();
    }
    if (front_signals_end != NULL) {
        front_signals_end();
    }
    if (front_join_end != NULL) {
        front_join_end();
    }
}

void *front_thread_body(struct front_thread *thread)
{
    void *result;

    if (front_join_begin != NULL) {
        front_join_begin();
    }
    if (front_signals_begin != NULL) {
        front_signals_begin();
    }
    result = thread->start(thread->argument);
    end_own_things();
    return result;
}

static void *begin_thread(void *argument)
{
    struct beginning *beginning = argument;
    struct front_thread thread = {
        .start = beginning->start,
        .argument = beginning->argument,
        .blocked = beginning->blocked,
    };
    size_t stack_size = beginning->stack_size;
    void *result;

    front_free(beginning);
    result = front_run(&thread, stack_size, front_thread_body);
    front_leave_stack(&thread);
    return result;
}

static _Noreturn void end_calling_thread(void *result)
{
    end_own_things();
    FRONT_2(front_thread_exit, front_thread(), result);
    abort();
}

// ---- creation

// Attributes of no size have the system's; set to that, they would be others.
// @return 0: none is named
size_t front_named_stack(const pthread_attr_t *attr)
{
    pthread_attr_t set;
    size_t size = 0;

    if (attr == NULL || pthread_attr_getstacksize(attr, &size) != 0) {
        return 0;
    }
    set = *attr;
    return pthread_attr_setstacksize(&set, size) == 0 &&
                   memcmp(&set, attr, sizeof set) == 0
               ? size
               : 0;
}

static size_t stack_size_of(const pthread_attr_t *attr)
{
    const size_t named = front_named_stack(attr);

    return named == 0 && front_default_stack != NULL ? front_default_stack()
                                                     : named;
}

static int is_detached(const pthread_attr_t *attr)
{
    int state = PTHREAD_CREATE_JOINABLE;

    return attr != NULL && pthread_attr_getdetachstate(attr, &state) == 0 &&
           state == PTHREAD_CREATE_DETACHED;
}

// The attributes', if they name one, else its creator's.
static uint64_t mask_of(const pthread_attr_t *attr)
{
    sigset_t set;
    uint64_t mask;

    if (attr == NULL || front_attr_mask == NULL ||
        !front_attr_mask(attr, &set)) {
        return front_thread()->blocked;
    }
    memcpy(&mask, &set, sizeof mask);
    return mask;
}

static long create_thread(struct beginning *beginning, int detached,
                          pthread_t *number)
{
    const tm_thread_attr attr = {.is_detached = detached};
    tm_thread thread;
    tm_status status =
        tm_thread_create(&thread, &attr, begin_thread, beginning);

    if (status == TM_OK) {
        *number = (pthread_t)thread;
    }
    return front_error(status);
}

FRONT(pthread_create)
int tmf_pthread_create(pthread_t *number, const pthread_attr_t *attr,
                       void *(*start)(void *), void *argument)
{
    struct beginning *beginning = front_allocate(sizeof *beginning);
    int detached;
    int error;

    if (beginning == NULL) {
        return EAGAIN;
    }
    if (attr == NULL && front_default_attr != NULL) {
        attr = front_default_attr();
    }
    detached = is_detached(attr);
    *beginning =
        (struct beginning){start, argument, stack_size_of(attr), mask_of(attr)};
    error = (int)FRONT_3(create_thread, beginning, detached, number);
    if (error != 0) {
        front_free(beginning);
    } else if (detached && front_join_detach != NULL) {
        front_join_detach(*number);
    }
    return error;
}

// ---- other calls

static long join_thread(pthread_t number, void **result)
{
    void *value = NULL;
    tm_status status;

    if (number == (pthread_t)tm_thread_self()) {
        return EDEADLK;
    }
    status = front_join_main(number, &value) ? TM_OK
                                             : tm_thread_join(number, &value);
    if (status == TM_OK && result != NULL) {
        *result = value;
    }
    return front_error(status);
}

FRONT(pthread_join)
int tmf_pthread_join(pthread_t number, void **result)
{
    const int error = (int)FRONT_2(join_thread, number, result);

    if (error == 0 && front_join_forget != NULL) {
        front_join_forget(number);
    }
    return error;
}

static long detach_thread(pthread_t number)
{
    return front_error(tm_thread_detach(number));
}

FRONT(pthread_detach)
int tmf_pthread_detach(pthread_t number)
{
    const int error = (int)FRONT_1(detach_thread, number);

    if (error == 0 && front_join_detach != NULL) {
        front_join_detach(number);
    }
    return error;
}

static long ask_self(void)
{
    return (long)tm_thread_self();
}

FRONT(pthread_self)
pthread_t tmf_pthread_self(void)
{
    const pthread_t other = front_thread()->acts_for;

    return other != 0 ? other : (pthread_t)FRONT_1(ask_self, 0);
}

FRONT(pthread_equal)
int tmf_pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

static long let_others_run(void)
{
    tm_thread_yield();
    return 0;
}

FRONT(sched_yield)
int tmf_sched_yield(void)
{
    return (int)FRONT_1(let_others_run, 0);
}

extern int tmf_pthread_yield(void)
    __attribute__((weak, alias("tmf_sched_yield")));

// ---- cleanup handlers and the end

static struct front_cleanup **place_of_next(void *buffer)
{
    // Behind the state it has four words for the C library's own use.
    return (struct front_cleanup **)((char *)buffer +
                                     sizeof(__pthread_unwind_buf_t) -
                                     4 * sizeof(void *));
}

void tmf___pthread_register_cancel(__pthread_unwind_buf_t *buffer)
    __attribute__((weak));
void tmf___pthread_register_cancel(__pthread_unwind_buf_t *buffer)
{
    struct front_thread *thread = front_thread();

    *place_of_next(buffer) = thread->cleanups;
    thread->cleanups = (struct front_cleanup *)buffer;
}

void tmf___pthread_unregister_cancel(__pthread_unwind_buf_t *buffer)
    __attribute__((weak));
void tmf___pthread_unregister_cancel(__pthread_unwind_buf_t *buffer)
{
    front_thread()->cleanups = *place_of_next(buffer);
}

// The newest handler is called by what its frame goes on with; then the next.
static _Noreturn void call_newest(struct front_thread *thread)
{
    struct front_cleanup *newest = thread->cleanups;

    thread->cleanups = *place_of_next(newest);
    longjmp(&newest->state, 1);
}

extern __typeof__(_Unwind_ForcedUnwind) _Unwind_ForcedUnwind
    __attribute__((weak));
extern __typeof__(_Unwind_GetCFA) _Unwind_GetCFA __attribute__((weak));

static void end_by_catch(_Unwind_Reason_Code reason,
                         struct _Unwind_Exception *exception)
{
    (void)reason;
    (void)exception;
    front_fatal("pthread_exit(): what catch (...) catches must be thrown on");
}

// Before each frame is left. The last one is front_thread_body()'s.
static _Unwind_Reason_Code stop_at_end(int version, _Unwind_Action actions,
                                       _Unwind_Exception_Class class,
                                       struct _Unwind_Exception *exception,
                                       struct _Unwind_Context *context,
                                       void *unused)
{
    struct front_thread *thread = front_thread();
    const char *frame_end = (const char *)_Unwind_GetCFA(context);

    (void)version;
    (void)class;
    (void)unused;
    if (thread->cleanups != NULL && (char *)thread->cleanups < frame_end) {
        front_free(exception);
        call_newest(thread);
    }
    if ((actions & _UA_END_OF_STACK) != 0 ||
        frame_end >= front_stack_end(thread) - FRONT_STACK_TOP) {
        front_free(exception);
        end_calling_thread(thread->result);
    }
    return _URC_NO_REASON;
}

static _Noreturn void unwind_all(void)
{
    struct front_thread *thread = front_thread();
    struct _Unwind_Exception *exception =
        _Unwind_ForcedUnwind == NULL ? NULL : front_allocate(sizeof *exception);

    if (exception != NULL) {
        memset(exception, 0, sizeof *exception);
        exception->exception_cleanup = end_by_catch;
        _Unwind_ForcedUnwind(exception, stop_at_end, NULL);
    }
    if (thread->cleanups != NULL) {
        call_newest(thread);
    }
    end_calling_thread(thread->result);
}

void tmf___pthread_unwind_next(__pthread_unwind_buf_t *buffer)
    __attribute__((weak, noreturn));
void tmf___pthread_unwind_next(__pthread_unwind_buf_t *buffer)
{
    (void)buffer;
    unwind_all();
}

FRONT(pthread_exit)
void tmf_pthread_exit(void *result)
{
    if (front_thread()->acts_for != 0) {
        front_fatal("pthread_exit() in a signal handler that runs beside its "
                    "thread: set a flag there, and end the thread by that");
    }
    front_thread()->result = result;
    unwind_all();
}

// ---- what means nothing here

static TM_SHARED int concurrency; // as it was set

// Nobody is cancelled; who asks is told what was said last.
static int change_setting(int *setting, int value, int *before)
{
    if (before != NULL) {
        *before = *setting;
    }
    *setting = value;
    return 0;
}

FRONT(pthread_setcancelstate)
int tmf_pthread_setcancelstate(int state, int *before)
{
    return state == PTHREAD_CANCEL_ENABLE || state == PTHREAD_CANCEL_DISABLE
               ? change_setting(&front_thread()->cancel_state, state, before)
               : EINVAL;
}

FRONT(pthread_setcanceltype)
int tmf_pthread_setcanceltype(int type, int *before)
{
    return type == PTHREAD_CANCEL_DEFERRED ||
                   type == PTHREAD_CANCEL_ASYNCHRONOUS
               ? change_setting(&front_thread()->cancel_type, type, before)
               : EINVAL;
}

FRONT(pthread_testcancel)
void tmf_pthread_testcancel(void)
{
}

FRONT(pthread_setconcurrency)
int tmf_pthread_setconcurrency(int level)
{
    concurrency = level >= 0 ? level : concurrency;
    return level >= 0 ? 0 : EINVAL;
}

FRONT(pthread_getconcurrency)
int tmf_pthread_getconcurrency(void)
{
    return concurrency;
}

FRONT(pthread_setaffinity_np)
int tmf_pthread_setaffinity_np(pthread_t number, size_t size,
                               const cpu_set_t *set)
{
    (void)number;
    (void)size;
    (void)set;
    return 0;
}

FRONT(sched_setaffinity)
int tmf_sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set)
{
    (void)process;
    (void)size;
    (void)set;
    return 0;
}

FRONT(pthread_setschedparam)
int tmf_pthread_setschedparam(pthread_t number, int policy,
                              const struct sched_param *parameters)
{
    (void)number;
    (void)policy;
    (void)parameters;
    return 0;
}

FRONT(pthread_setschedprio)
int tmf_pthread_setschedprio(pthread_t number, int priority)
{
    (void)number;
    (void)priority;
    return 0;
}

// ---- what all threads have in common, then

FRONT(pthread_getschedparam)
int tmf_pthread_getschedparam(pthread_t number, int *policy,
                              struct sched_param *parameters)
{
    (void)number;
    *policy = SCHED_OTHER;
    *parameters = (struct sched_param){0};
    return 0;
}

static long read_processors(cpu_set_t *set, size_t size)
{
    cpu_set_t own;

    if (sched_getaffinity(0, sizeof own, &own) != 0) {
        return errno;
    }
    memset(set, 0, size);
    memcpy(set, &own, size < sizeof own ? size : sizeof own);
    return 0;
}

FRONT(pthread_getaffinity_np)
int tmf_pthread_getaffinity_np(pthread_t number, size_t size, cpu_set_t *set)
{
    (void)number;
    return (int)FRONT_2(read_processors, set, size);
}

// The clock is that of the worker that runs it.
FRONT(pthread_getcpuclockid)
int tmf_pthread_getcpuclockid(pthread_t number, clockid_t *clock)
{
    if (number != tmf_pthread_self()) {
        return ENOENT;
    }
    *clock = CLOCK_THREAD_CPUTIME_ID;
    return 0;
}

// A thread knows its own name; others are called as the program is.
FRONT(pthread_setname_np)
int tmf_pthread_setname_np(pthread_t number, const char *name)
{
    if (strlen(name) >= FRONT_NAME) {
        return ERANGE;
    }
    if (number == tmf_pthread_self()) {
        strcpy(front_thread()->name, name);
    }
    return 0;
}

FRONT(pthread_getname_np)
int tmf_pthread_getname_np(pthread_t number, char *name, size_t size)
{
    const char *own = front_thread()->name;

    if (size < FRONT_NAME) {
        return ERANGE;
    }
    snprintf(name, FRONT_NAME, "%s",
             number == tmf_pthread_self() && own[0] != '\0'
                 ? own
                 : program_invocation_short_name);
    return 0;
}

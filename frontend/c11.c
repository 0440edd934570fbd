// SPDX-License-Identifier: BSD-3-Clause
//
// <threads.h>: the same objects under other names, and other numbers for errors.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>

extern __typeof__(pthread_create) tmf_pthread_create;
extern __typeof__(pthread_join) tmf_pthread_join;
extern __typeof__(pthread_detach) tmf_pthread_detach;
extern __typeof__(pthread_self) tmf_pthread_self;
extern __typeof__(pthread_exit) tmf_pthread_exit;
extern __typeof__(pthread_once) tmf_pthread_once;
extern __typeof__(pthread_mutex_init) tmf_pthread_mutex_init;
extern __typeof__(pthread_mutex_destroy) tmf_pthread_mutex_destroy;
extern __typeof__(pthread_mutex_lock) tmf_pthread_mutex_lock;
extern __typeof__(pthread_mutex_trylock) tmf_pthread_mutex_trylock;
extern __typeof__(pthread_mutex_timedlock) tmf_pthread_mutex_timedlock;
extern __typeof__(pthread_mutex_unlock) tmf_pthread_mutex_unlock;
extern __typeof__(pthread_cond_init) tmf_pthread_cond_init;
extern __typeof__(pthread_cond_wait) tmf_pthread_cond_wait;
extern __typeof__(pthread_cond_timedwait) tmf_pthread_cond_timedwait;
extern __typeof__(pthread_cond_signal) tmf_pthread_cond_signal;
extern __typeof__(pthread_cond_broadcast) tmf_pthread_cond_broadcast;
extern __typeof__(pthread_key_create) tmf_pthread_key_create;
extern __typeof__(pthread_key_delete) tmf_pthread_key_delete;
extern __typeof__(pthread_setspecific) tmf_pthread_setspecific;
extern __typeof__(pthread_getspecific) tmf_pthread_getspecific;
extern __typeof__(nanosleep) tmf_nanosleep;
extern int tmf_sched_yield(void);

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "the same object");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "the same object");

static pthread_mutex_t *mutex_of(mtx_t *mutex)
{
    return (pthread_mutex_t *)(void *)mutex;
}

static pthread_cond_t *cond_of(cnd_t *cond)
{
    return (pthread_cond_t *)(void *)cond;
}

static int as_c11(int error)
{
    switch (error) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

struct start {
    thrd_start_t function;
    void *argument;
};

static void *run_start(void *argument)
{
    struct start start = *(struct start *)argument;

    front_free(argument);
    return (void *)(intptr_t)start.function(start.argument);
}

FRONT(thrd_create)
int tmf_thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    struct start *start = front_allocate(sizeof *start);
    int error;

    if (start == NULL) {
        return thrd_nomem;
    }
    *start = (struct start){function, argument};
    error = tmf_pthread_create(thread, NULL, run_start, start);
    if (error != 0) {
        front_free(start);
    }
    return error == EAGAIN ? thrd_nomem : as_c11(error);
}

FRONT(thrd_join)
int tmf_thrd_join(thrd_t thread, int *result)
{
    void *value;
    int error = tmf_pthread_join(thread, &value);

    if (error == 0 && result != NULL) {
        *result = (int)(intptr_t)value;
    }
    return as_c11(error);
}

FRONT(thrd_detach)
int tmf_thrd_detach(thrd_t thread)
{
    return as_c11(tmf_pthread_detach(thread));
}

FRONT(thrd_current)
thrd_t tmf_thrd_current(void)
{
    return tmf_pthread_self();
}

FRONT(thrd_equal)
int tmf_thrd_equal(thrd_t a, thrd_t b)
{
    return a == b;
}

FRONT(thrd_exit)
void tmf_thrd_exit(int result)
{
    tmf_pthread_exit((void *)(intptr_t)result);
}

FRONT(thrd_yield)
void tmf_thrd_yield(void)
{
    tmf_sched_yield();
}

FRONT(thrd_sleep)
int tmf_thrd_sleep(const struct timespec *time, struct timespec *rest)
{
    return tmf_nanosleep(time, rest);
}

FRONT(call_once)
void tmf_call_once(once_flag *flag, void (*function)(void))
{
    tmf_pthread_once((pthread_once_t *)(void *)flag, function);
}

FRONT(mtx_init)
int tmf_mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, (type & mtx_recursive) != 0
                                         ? PTHREAD_MUTEX_RECURSIVE
                                         : PTHREAD_MUTEX_NORMAL);
    return as_c11(tmf_pthread_mutex_init(mutex_of(mutex), &attr));
}

FRONT(mtx_destroy)
void tmf_mtx_destroy(mtx_t *mutex)
{
    tmf_pthread_mutex_destroy(mutex_of(mutex));
}

FRONT(mtx_lock)
int tmf_mtx_lock(mtx_t *mutex)
{
    return as_c11(tmf_pthread_mutex_lock(mutex_of(mutex)));
}

FRONT(mtx_trylock)
int tmf_mtx_trylock(mtx_t *mutex)
{
    return as_c11(tmf_pthread_mutex_trylock(mutex_of(mutex)));
}

FRONT(mtx_timedlock)
int tmf_mtx_timedlock(mtx_t *mutex, const struct timespec *deadline)
{
    return as_c11(tmf_pthread_mutex_timedlock(mutex_of(mutex), deadline));
}

FRONT(mtx_unlock)
int tmf_mtx_unlock(mtx_t *mutex)
{
    return as_c11(tmf_pthread_mutex_unlock(mutex_of(mutex)));
}

FRONT(cnd_init)
int tmf_cnd_init(cnd_t *cond)
{
    return as_c11(tmf_pthread_cond_init(cond_of(cond), NULL));
}

FRONT(cnd_destroy)
void tmf_cnd_destroy(cnd_t *cond)
{
    (void)cond;
}

FRONT(cnd_wait)
int tmf_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
    return as_c11(tmf_pthread_cond_wait(cond_of(cond), mutex_of(mutex)));
}

FRONT(cnd_timedwait)
int tmf_cnd_timedwait(cnd_t *cond, mtx_t *mutex,
                      const struct timespec *deadline)
{
    return as_c11(
        tmf_pthread_cond_timedwait(cond_of(cond), mutex_of(mutex), deadline));
}

FRONT(cnd_signal)
int tmf_cnd_signal(cnd_t *cond)
{
    return as_c11(tmf_pthread_cond_signal(cond_of(cond)));
}

FRONT(cnd_broadcast)
int tmf_cnd_broadcast(cnd_t *cond)
{
    return as_c11(tmf_pthread_cond_broadcast(cond_of(cond)));
}

FRONT(tss_create)
int tmf_tss_create(tss_t *key, tss_dtor_t destructor)
{
    return as_c11(tmf_pthread_key_create(key, destructor));
}

FRONT(tss_delete)
void tmf_tss_delete(tss_t key)
{
    tmf_pthread_key_delete(key);
}

FRONT(tss_get)
void *tmf_tss_get(tss_t key)
{
    return tmf_pthread_getspecific(key);
}

FRONT(tss_set)
int tmf_tss_set(tss_t key, void *value)
{
    return as_c11(tmf_pthread_setspecific(key, value));
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes and spin locks. The object's address names the lock; of its bytes only the kind is
// used, which the initialisers of the C library set too. A kind other than the usual one is
// told to Teamster when the mutex is initialised, or, if it never was, when it is first
// locked: `__lock` notes that.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

tm_status front_lock(void *mutex)
{
    return (tm_status)FRONT_1(tm_mutex_lock, mutex);
}

tm_status front_try_lock(void *mutex)
{
    return (tm_status)FRONT_1(tm_mutex_trylock, mutex);
}

void front_unlock(void *mutex)
{
    FRONT_1(tm_mutex_unlock, mutex);
}

static tm_mutex *name_of(const void *object)
{
    return (tm_mutex *)(uintptr_t)object;
}

static tm_mutex_type type_of(int kind)
{
    switch (kind & 3) {
    case PTHREAD_MUTEX_RECURSIVE:
        return TM_MUTEX_RECURSIVE;
    case PTHREAD_MUTEX_ERRORCHECK:
        return TM_MUTEX_ERRORCHECK;
    default:
        return TM_MUTEX_NORMAL;
    }
}

static void tell_type(pthread_mutex_t *mutex)
{
    if (type_of(mutex->__data.__kind) != TM_MUTEX_NORMAL &&
        mutex->__data.__lock == 0) {
        // Somebody who holds it has told.
        (void)!tm_mutex_init(name_of(mutex), type_of(mutex->__data.__kind));
        mutex->__data.__lock = 1;
    }
}

// The usual kind waits for itself for ever; that would tell nobody anything.
static long check_deadlock(const pthread_mutex_t *mutex, tm_status status)
{
    if (status == TM_EDEADLK &&
        type_of(mutex->__data.__kind) == TM_MUTEX_NORMAL) {
        front_fatal("deadlock: a thread locks mutex %p, which it holds already",
                    (const void *)mutex);
    }
    return front_error(status);
}

static long lock_mutex(pthread_mutex_t *mutex)
{
    tell_type(mutex);
    return check_deadlock(mutex, tm_mutex_lock(name_of(mutex)));
}

static long try_mutex(pthread_mutex_t *mutex)
{
    tm_status status;

    tell_type(mutex);
    status = tm_mutex_trylock(name_of(mutex));
    return front_error(status == TM_EDEADLK ? TM_EBUSY : status);
}

static long lock_mutex_until(pthread_mutex_t *mutex,
                             const struct timespec *deadline)
{
    const struct timespec until = *deadline;
    tm_status status;

    tell_type(mutex);
    status = tm_mutex_timedlock(name_of(mutex), &until);
    if (status == TM_EDEADLK &&
        type_of(mutex->__data.__kind) == TM_MUTEX_NORMAL) {
        clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
        return ETIMEDOUT;
    }
    return front_error(status);
}

static long unlock_mutex(pthread_mutex_t *mutex)
{
    return front_error(tm_mutex_unlock(name_of(mutex)));
}

// A mutex in memory that is used anew may have had another type.
static long set_type(pthread_mutex_t *mutex, int type)
{
    return front_error(tm_mutex_init(name_of(mutex), (tm_mutex_type)type));
}

FRONT(pthread_mutex_init)
int tmf_pthread_mutex_init(pthread_mutex_t *mutex,
                           const pthread_mutexattr_t *attr)
{
    int kind = PTHREAD_MUTEX_NORMAL;
    int before = mutex->__data.__kind;

    if (attr != NULL) {
        pthread_mutexattr_gettype(attr, &kind);
    }
    memset(mutex, 0, sizeof *mutex);
    mutex->__data.__kind = kind;
    if (type_of(kind) == TM_MUTEX_NORMAL &&
        type_of(before) == TM_MUTEX_NORMAL) {
        return 0;
    }
    mutex->__data.__lock = type_of(kind) != TM_MUTEX_NORMAL;
    return (int)FRONT_2(set_type, mutex, type_of(kind));
}

static long destroy_mutex(pthread_mutex_t *mutex)
{
    return front_error(tm_mutex_destroy(name_of(mutex)));
}

FRONT(pthread_mutex_destroy)
int tmf_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    int error = 0;

    if (type_of(mutex->__data.__kind) != TM_MUTEX_NORMAL) {
        error = (int)FRONT_1(destroy_mutex, mutex);
        mutex->__data.__kind = 0;
        mutex->__data.__lock = 0;
    }
    return error;
}

FRONT(pthread_mutex_lock)
int tmf_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return (int)FRONT_1(lock_mutex, mutex);
}

FRONT(pthread_mutex_trylock)
int tmf_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return (int)FRONT_1(try_mutex, mutex);
}

FRONT(pthread_mutex_timedlock)
int tmf_pthread_mutex_timedlock(pthread_mutex_t *mutex,
                                const struct timespec *deadline)
{
    return (int)FRONT_2(lock_mutex_until, mutex, deadline);
}

FRONT(pthread_mutex_clocklock)
int tmf_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *deadline)
{
    struct timespec until;

    return front_deadline(clock, deadline, &until) != 0
               ? EINVAL
               : (int)FRONT_2(lock_mutex_until, mutex, &until);
}

FRONT(pthread_mutex_unlock)
int tmf_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return (int)FRONT_1(unlock_mutex, mutex);
}

FRONT(pthread_mutex_consistent)
int tmf_pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    (void)mutex;
    return EINVAL;
}

// ---- spin locks: mutexes that have no kind

static long lock_spin(const void *lock)
{
    tm_status status = tm_mutex_lock(name_of(lock));

    if (status == TM_EDEADLK) {
        front_fatal("deadlock: a thread locks spin lock %p, which it holds "
                    "already",
                    lock);
    }
    return front_error(status);
}

static long try_spin(const void *lock)
{
    tm_status status = tm_mutex_trylock(name_of(lock));

    return front_error(status == TM_EDEADLK ? TM_EBUSY : status);
}

static long unlock_spin(const void *lock)
{
    return front_error(tm_mutex_unlock(name_of(lock)));
}

#define SPIN(name, function)                                                   \
    FRONT(name)                                                                \
    int tmf_##name(pthread_spinlock_t *lock)                                   \
    {                                                                          \
        return (int)FRONT_1(function, lock);                                   \
    }

FRONT(pthread_spin_init)
int tmf_pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    (void)shared;
    *lock = 1;
    return 0;
}

FRONT(pthread_spin_destroy)
int tmf_pthread_spin_destroy(pthread_spinlock_t *lock)
{
    (void)lock;
    return 0;
}

SPIN(pthread_spin_lock, lock_spin)
SPIN(pthread_spin_trylock, try_spin)
SPIN(pthread_spin_unlock, unlock_spin)

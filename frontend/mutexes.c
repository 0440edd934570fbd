// SPDX-License-Identifier: BSD-3-Clause
//
// Mutexes and spin locks. The object's address names the lock; of its bytes only the kind is
// used, which the initialisers of the C library set too. A kind other than the usual one is
// told to Teamster when the mutex is initialised, or, if it never was, when it is first
// used: `__lock` notes that.
//
// One of the usual kind is as the C library's: any thread may unlock it, and who locks it twice
// waits. So it may serve as a semaphore. What is robust about one is in robust.c.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "runtime/unchanged.h"

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

/** Of a kind, besides the type: the bit that the C library has for it. */
enum { ROBUST = 16 };

static int is_robust(const pthread_mutex_t *mutex)
{
    return (mutex->__data.__kind & ROBUST) != 0 && front_robust_begin != NULL;
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

static long lock_mutex(pthread_mutex_t *mutex)
{
    tell_type(mutex);
    return front_error(tm_mutex_lock(name_of(mutex)));
}

static long try_mutex(pthread_mutex_t *mutex)
{
    tell_type(mutex);
    return front_error(tm_mutex_trylock(name_of(mutex)));
}

static long lock_mutex_until(pthread_mutex_t *mutex,
                             const struct timespec *deadline)
{
    const struct timespec until = *deadline;

    tell_type(mutex);
    return front_error(tm_mutex_timedlock(name_of(mutex), &until));
}

static long unlock_mutex(pthread_mutex_t *mutex)
{
    tell_type(mutex);
    return front_error(tm_mutex_unlock(name_of(mutex)));
}

// In memory that is used anew there may have been one of another type, or one that is held.
static long init_mutex(const pthread_mutex_t *mutex, int kind)
{
    tm_status status = teamster_mutex_renew(name_of(mutex));

    if (status == TM_OK && type_of(kind) != TM_MUTEX_NORMAL) {
        status = tm_mutex_init(name_of(mutex), type_of(kind));
    }
    return front_error(status);
}

FRONT(pthread_mutex_init)
int tmf_pthread_mutex_init(pthread_mutex_t *mutex,
                           const pthread_mutexattr_t *attr)
{
    int kind = PTHREAD_MUTEX_NORMAL;
    int robustness = PTHREAD_MUTEX_STALLED;

    if (attr != NULL) {
        pthread_mutexattr_gettype(attr, &kind);
        pthread_mutexattr_getrobust(attr, &robustness);
    }
    memset(mutex, 0, sizeof *mutex);
    mutex->__data.__kind =
        kind | (robustness == PTHREAD_MUTEX_ROBUST ? ROBUST : 0);
    mutex->__data.__lock = type_of(kind) != TM_MUTEX_NORMAL;
    return (int)FRONT_2(init_mutex, mutex, kind);
}

static long destroy_mutex(pthread_mutex_t *mutex)
{
    return front_error(tm_mutex_destroy(name_of(mutex)));
}

FRONT(pthread_mutex_destroy)
int tmf_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    const int is_held = FRONT_1(destroy_mutex, mutex) != 0;

    if (is_held && !is_robust(mutex)) {
        return EBUSY;
    }
    mutex->__data.__kind = 0;
    mutex->__data.__lock = 0;
    return 0;
}

// ---- locking; who gets a robust one is told what has become of who had it before

int front_has_locked(pthread_mutex_t *mutex, int error)
{
    if (error == 0 && is_robust(mutex)) {
        error = front_robust_begin(mutex);
        if (error == ENOTRECOVERABLE) {
            FRONT_1(unlock_mutex, mutex);
        }
    }
    return error;
}

int front_will_unlock(pthread_mutex_t *mutex)
{
    return is_robust(mutex) ? front_robust_end(mutex) : 0;
}

FRONT(pthread_mutex_lock)
int tmf_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return front_has_locked(mutex, (int)FRONT_1(lock_mutex, mutex));
}

FRONT(pthread_mutex_trylock)
int tmf_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return front_has_locked(mutex, (int)FRONT_1(try_mutex, mutex));
}

FRONT(pthread_mutex_timedlock)
int tmf_pthread_mutex_timedlock(pthread_mutex_t *mutex,
                                const struct timespec *deadline)
{
    return front_has_locked(mutex,
                            (int)FRONT_2(lock_mutex_until, mutex, deadline));
}

FRONT(pthread_mutex_clocklock)
int tmf_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *deadline)
{
    struct timespec until;

    return front_deadline(clock, deadline, &until) != 0
               ? EINVAL
               : tmf_pthread_mutex_timedlock(mutex, &until);
}

FRONT(pthread_mutex_unlock)
int tmf_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    const int error = front_will_unlock(mutex);

    return error != 0 ? error : (int)FRONT_1(unlock_mutex, mutex);
}

// ---- spin locks: mutexes that have no kind

static long init_spin(const void *lock)
{
    return front_error(teamster_mutex_renew(name_of(lock)));
}

static long lock_spin(const void *lock)
{
    return front_error(tm_mutex_lock(name_of(lock)));
}

static long try_spin(const void *lock)
{
    return front_error(tm_mutex_trylock(name_of(lock)));
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
    return (int)FRONT_1(init_spin, lock);
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

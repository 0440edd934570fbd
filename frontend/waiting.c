// SPDX-License-Identifier: BSD-3-Clause
//
// Condition variables, reader-writer locks, semaphores and barriers. The object's address
// names it; of its bytes only a condition variable's clock is used, and the count of a
// barrier.
#include "front.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/unchanged.h"

// ---- clocks

int front_deadline(clockid_t clock, const struct timespec *deadline,
                   struct timespec *until)
{
    const int64_t second = 1000000000;
    struct timespec here;
    struct timespec real;
    int64_t ns;

    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) {
        return EINVAL;
    }
    *until = *deadline;
    if (clock == CLOCK_REALTIME || deadline->tv_nsec < 0 ||
        deadline->tv_nsec >= second) {
        return 0;
    }
    clock_gettime(clock, &here);
    clock_gettime(CLOCK_REALTIME, &real);
    ns = until->tv_nsec - here.tv_nsec + real.tv_nsec;
    until->tv_sec += real.tv_sec - here.tv_sec;
    while (ns < 0) {
        ns += second;
        until->tv_sec--;
    }
    until->tv_sec += ns / second;
    until->tv_nsec = ns % second;
    return 0;
}

// ---- condition variables

// Where the clock is kept; 0 is CLOCK_REALTIME.
static int *clock_of(pthread_cond_t *cond)
{
    return (int *)(void *)cond;
}

static long wait_cond(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return front_error(tm_cond_wait((tm_cond *)cond, (tm_mutex *)mutex));
}

static long wait_cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
                            const struct timespec *deadline)
{
    const struct timespec until = *deadline;

    return front_error(
        tm_cond_timedwait((tm_cond *)cond, (tm_mutex *)mutex, &until));
}

static long wake_one(pthread_cond_t *cond)
{
    return front_error(tm_cond_signal((tm_cond *)cond));
}

static long wake_all(pthread_cond_t *cond)
{
    return front_error(tm_cond_broadcast((tm_cond *)cond));
}

// It is locked again, whatever the wait has come to.
static int has_waited(pthread_mutex_t *mutex, int error)
{
    const int locked = front_has_locked(mutex, 0);

    return locked != 0 ? locked : error;
}

FRONT(pthread_cond_init)
int tmf_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    clockid_t clock = CLOCK_REALTIME;

    if (attr != NULL) {
        pthread_condattr_getclock(attr, &clock);
    }
    memset(cond, 0, sizeof *cond);
    *clock_of(cond) = clock;
    return 0;
}

FRONT(pthread_cond_destroy)
int tmf_pthread_cond_destroy(pthread_cond_t *cond)
{
    (void)cond;
    return 0;
}

FRONT(pthread_cond_wait)
int tmf_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    const int error = front_will_unlock(mutex);

    return error != 0 ? error
                      : has_waited(mutex, (int)FRONT_2(wait_cond, cond, mutex));
}

FRONT(pthread_cond_clockwait)
int tmf_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                               clockid_t clock, const struct timespec *deadline)
{
    struct timespec until;
    int error = front_deadline(clock, deadline, &until);

    if (error == 0) {
        error = front_will_unlock(mutex);
    }
    return error != 0 ? error
                      : has_waited(mutex, (int)FRONT_3(wait_cond_until, cond,
                                                       mutex, &until));
}

FRONT(pthread_cond_timedwait)
int tmf_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                               const struct timespec *deadline)
{
    return tmf_pthread_cond_clockwait(cond, mutex, *clock_of(cond), deadline);
}

FRONT(pthread_cond_signal)
int tmf_pthread_cond_signal(pthread_cond_t *cond)
{
    return (int)FRONT_1(wake_one, cond);
}

FRONT(pthread_cond_broadcast)
int tmf_pthread_cond_broadcast(pthread_cond_t *cond)
{
    return (int)FRONT_1(wake_all, cond);
}

// ---- reader-writer locks

static tm_rwlock *rwlock_of(void *lock)
{
    return lock;
}

static long read_lock(void *lock)
{
    return front_error(tm_rwlock_rdlock(rwlock_of(lock)));
}

static long try_read_lock(void *lock)
{
    return front_error(tm_rwlock_tryrdlock(rwlock_of(lock)));
}

static long write_lock(void *lock)
{
    return front_error(tm_rwlock_wrlock(rwlock_of(lock)));
}

static long try_write_lock(void *lock)
{
    return front_error(tm_rwlock_trywrlock(rwlock_of(lock)));
}

static long unlock_rwlock(void *lock)
{
    return front_error(tm_rwlock_unlock(rwlock_of(lock)));
}

static long read_lock_until(void *lock, const struct timespec *deadline)
{
    const struct timespec until = *deadline;

    return front_error(tm_rwlock_timedrdlock(rwlock_of(lock), &until));
}

static long write_lock_until(void *lock, const struct timespec *deadline)
{
    const struct timespec until = *deadline;

    return front_error(tm_rwlock_timedwrlock(rwlock_of(lock), &until));
}

FRONT(pthread_rwlock_init)
int tmf_pthread_rwlock_init(pthread_rwlock_t *lock,
                            const pthread_rwlockattr_t *attr)
{
    (void)attr;
    memset(lock, 0, sizeof *lock);
    return 0;
}

FRONT(pthread_rwlock_destroy)
int tmf_pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    (void)lock;
    return 0;
}

#define RWLOCK(name, function)                                                 \
    FRONT(name)                                                                \
    int tmf_##name(pthread_rwlock_t *lock)                                     \
    {                                                                          \
        return (int)FRONT_1(function, lock);                                   \
    }

#define RWLOCK_UNTIL(name, function)                                           \
    FRONT(pthread_rwlock_timed##name)                                          \
    int tmf_pthread_rwlock_timed##name(pthread_rwlock_t *lock,                 \
                                       const struct timespec *deadline)        \
    {                                                                          \
        return (int)FRONT_2(function, lock, deadline);                         \
    }                                                                          \
    FRONT(pthread_rwlock_clock##name)                                          \
    int tmf_pthread_rwlock_clock##name(pthread_rwlock_t *lock,                 \
                                       clockid_t clock,                        \
                                       const struct timespec *deadline)        \
    {                                                                          \
        struct timespec until;                                                 \
                                                                               \
        return front_deadline(clock, deadline, &until) != 0                    \
                   ? EINVAL                                                    \
                   : (int)FRONT_2(function, lock, &until);                     \
    }

RWLOCK(pthread_rwlock_rdlock, read_lock)
RWLOCK(pthread_rwlock_tryrdlock, try_read_lock)
RWLOCK(pthread_rwlock_wrlock, write_lock)
RWLOCK(pthread_rwlock_trywrlock, try_write_lock)
RWLOCK(pthread_rwlock_unlock, unlock_rwlock)
RWLOCK_UNTIL(rdlock, read_lock_until)
RWLOCK_UNTIL(wrlock, write_lock_until)

// ---- semaphores

static int set_error(int error)
{
    if (error == 0) {
        return 0;
    }
    errno = error;
    return -1;
}

static int is_past(const struct timespec *time)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

static long begin_sem(sem_t *sem, unsigned value)
{
    return front_error(tm_sem_init((tm_sem *)sem, value));
}

// A handler has been run in the caller's name meanwhile: signals.c.
static long wait_sem(sem_t *sem)
{
    const tm_status status = teamster_sem_wait((tm_sem *)sem, NULL);

    return status == TM_ETIMEDOUT ? EINTR : front_error(status);
}

static long try_sem(sem_t *sem)
{
    tm_status status = tm_sem_trywait((tm_sem *)sem);

    return status == TM_EBUSY ? EAGAIN : front_error(status);
}

static long wait_sem_until(sem_t *sem, const struct timespec *deadline)
{
    const struct timespec until = *deadline;
    const tm_status status = teamster_sem_wait((tm_sem *)sem, &until);

    return status == TM_ETIMEDOUT && !is_past(&until) ? EINTR
                                                      : front_error(status);
}

static long post_sem(sem_t *sem)
{
    return front_error(tm_sem_post((tm_sem *)sem));
}

static long count_sem(sem_t *sem, int *value)
{
    unsigned n;
    tm_status status = teamster_sem_value((tm_sem *)sem, &n);

    if (status == TM_OK) {
        *value = (int)n;
    }
    return front_error(status);
}

FRONT(sem_init)
int tmf_sem_init(sem_t *sem, int shared, unsigned value)
{
    (void)shared;
    if (value > SEM_VALUE_MAX) {
        return set_error(EINVAL);
    }
    return set_error((int)FRONT_2(begin_sem, sem, value));
}

FRONT(sem_destroy)
int tmf_sem_destroy(sem_t *sem)
{
    (void)sem;
    return 0;
}

FRONT(sem_wait)
int tmf_sem_wait(sem_t *sem)
{
    return set_error((int)FRONT_1(wait_sem, sem));
}

FRONT(sem_trywait)
int tmf_sem_trywait(sem_t *sem)
{
    return set_error((int)FRONT_1(try_sem, sem));
}

FRONT(sem_timedwait)
int tmf_sem_timedwait(sem_t *sem, const struct timespec *deadline)
{
    return set_error((int)FRONT_2(wait_sem_until, sem, deadline));
}

FRONT(sem_clockwait)
int tmf_sem_clockwait(sem_t *sem, clockid_t clock,
                      const struct timespec *deadline)
{
    struct timespec until;

    return set_error(front_deadline(clock, deadline, &until) != 0
                         ? EINVAL
                         : (int)FRONT_2(wait_sem_until, sem, &until));
}

FRONT(sem_post)
int tmf_sem_post(sem_t *sem)
{
    return set_error((int)FRONT_1(post_sem, sem));
}

FRONT(sem_getvalue)
int tmf_sem_getvalue(sem_t *sem, int *value)
{
    return set_error((int)FRONT_2(count_sem, sem, value));
}

// ---- barriers: one thread of each episode, that of the least number, is told apart

static long begin_barrier(void *barrier, unsigned count)
{
    return tm_barrier_init(barrier, count) == TM_OK ? 0 : EBUSY;
}

static long meet_at(void *barrier)
{
    int64_t least = 0;
    const int64_t self = (int64_t)tm_thread_self();
    tm_status status = tm_reduce_int64(barrier, TM_MIN, self, &least);

    if (status != TM_OK) {
        return EINVAL;
    }
    return least == self ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

FRONT(pthread_barrier_init)
int tmf_pthread_barrier_init(pthread_barrier_t *barrier,
                             const pthread_barrierattr_t *attr, unsigned count)
{
    (void)attr;
    return count == 0 ? EINVAL : (int)FRONT_2(begin_barrier, barrier, count);
}

FRONT(pthread_barrier_destroy)
int tmf_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    (void)barrier;
    return 0;
}

FRONT(pthread_barrier_wait)
int tmf_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    return (int)FRONT_1(meet_at, barrier);
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_PLAIN_SLEEP_H
#define BENCH_PLAIN_SLEEP_H
/*
 * What threads wait by, as POSIX has it: they sleep.
 */

#include <pthread.h>
#include <semaphore.h>

enum { PLAIN_THREADS_MAX = 256 };

typedef pthread_mutex_t tm_mutex;
typedef pthread_cond_t tm_cond;
typedef sem_t tm_sem;

typedef struct tm_barrier {
    pthread_barrier_t barrier;
    unsigned count;
    double values[PLAIN_THREADS_MAX]; ///< by number of thread
} tm_barrier;

static inline void plain_barrier_init(tm_barrier *barrier, unsigned count)
{
    pthread_barrier_init(&barrier->barrier, NULL, count);
}

static inline void tm_mutex_lock(tm_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

static inline void tm_mutex_unlock(tm_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

static inline void tm_cond_wait(tm_cond *cond, tm_mutex *mutex)
{
    pthread_cond_wait(cond, mutex);
}

static inline void tm_cond_signal(tm_cond *cond)
{
    pthread_cond_signal(cond);
}

static inline void tm_cond_broadcast(tm_cond *cond)
{
    pthread_cond_broadcast(cond);
}

static inline void tm_sem_init(tm_sem *sem, unsigned value)
{
    sem_init(sem, 0, value);
}

static inline void tm_sem_wait(tm_sem *sem)
{
    while (sem_wait(sem) != 0) {
        // a signal came
    }
}

static inline void tm_sem_post(tm_sem *sem)
{
    sem_post(sem);
}

static inline void tm_barrier_wait(tm_barrier *barrier)
{
    pthread_barrier_wait(&barrier->barrier);
}

#endif

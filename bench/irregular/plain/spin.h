// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_PLAIN_SPIN_H
#define BENCH_PLAIN_SPIN_H
/*
 * What threads wait by without sleeping, each on a processor of its own: what waiting takes at
 * the least.
 */

#include <stdatomic.h>

enum { PLAIN_THREADS_MAX = 256 };

typedef struct tm_mutex {
    atomic_int is_held;
} tm_mutex;

typedef struct tm_sem {
    atomic_int value;
} tm_sem;

typedef struct tm_barrier {
    atomic_uint n_arrived;
    atomic_uint n_opened;
    unsigned count;
    double values[PLAIN_THREADS_MAX]; ///< by number of thread
} tm_barrier;

static inline void plain_barrier_init(tm_barrier *barrier, unsigned count)
{
    (void)count;
    barrier->n_arrived = 0;
}

static inline void tm_mutex_lock(tm_mutex *mutex)
{
    while (atomic_exchange(&mutex->is_held, 1)) {
        while (atomic_load(&mutex->is_held)) {
            __builtin_ia32_pause();
        }
    }
}

static inline void tm_mutex_unlock(tm_mutex *mutex)
{
    atomic_store(&mutex->is_held, 0);
}

static inline void tm_sem_init(tm_sem *sem, int value)
{
    atomic_store(&sem->value, value);
}

static inline void tm_sem_wait(tm_sem *sem)
{
    int value = atomic_load(&sem->value);

    while (value == 0 ||
           !atomic_compare_exchange_weak(&sem->value, &value, value - 1)) {
        __builtin_ia32_pause();
        value = atomic_load(&sem->value);
    }
}

static inline void tm_sem_post(tm_sem *sem)
{
    atomic_fetch_add(&sem->value, 1);
}

static inline void tm_barrier_wait(tm_barrier *barrier)
{
    const unsigned round = atomic_load(&barrier->n_opened);

    if (atomic_fetch_add(&barrier->n_arrived, 1) + 1 == barrier->count) {
        atomic_store(&barrier->n_arrived, 0);
        atomic_fetch_add(&barrier->n_opened, 1);
    } else {
        while (atomic_load(&barrier->n_opened) == round) {
            __builtin_ia32_pause();
        }
    }
}

#endif

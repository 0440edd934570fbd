// SPDX-License-Identifier: BSD-3-Clause
// Deadlock by mutexes needs a cycle of kernel threads, each of which waits for a
// mutex that the next one holds. There is none as long as each locks in the
// order of ranks. Debug builds check that at every lock, also when no other
// thread is near, so that one run on one path finds a breach. The ranks that a
// kernel thread holds are bits of a word of its own:
//
// I1  bit r is set while the kernel thread holds a mutex of rank r
// I2  a new rank is higher than all that are set
#include "base/mutex.h"

#include "base/ensure.h"
#include "base/log.h"

#ifdef TM_DEBUG
static _Thread_local unsigned held_ranks;

static void check_order(const struct mutex *mutex)
{
    unsigned not_below = held_ranks >> mutex->rank;

    if (not_below != 0) {
        int held = mutex->rank + 31 - __builtin_clz(not_below);

        log_fatal(
            EXIT_INTERNAL,
            "internal error: mutex of rank %d locked while one of rank %d "
            "is held; please report this line",
            (int)mutex->rank, held);
    }
}

static void note_locked(const struct mutex *mutex)
{
    held_ranks |= 1u << mutex->rank;
}

static void note_unlocked(const struct mutex *mutex)
{
    ensure((held_ranks >> mutex->rank & 1u) != 0);
    held_ranks &= ~(1u << mutex->rank);
}
#else
static void check_order(const struct mutex *mutex)
{
    (void)mutex;
}

static void note_locked(const struct mutex *mutex)
{
    (void)mutex;
}

static void note_unlocked(const struct mutex *mutex)
{
    (void)mutex;
}
#endif

void mutex_init(struct mutex *mutex, enum mutex_rank rank)
{
    pthread_mutexattr_t attributes;

    ensure(rank >= RANK_NODE && rank < RANK_END);
    ensure(pthread_mutexattr_init(&attributes) == 0);
    // What is held for a microsecond is not worth sleeping for.
    ensure(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP) ==
           0);
    ensure(pthread_mutex_init(&mutex->pthread, &attributes) == 0);
    ensure(pthread_mutexattr_destroy(&attributes) == 0);
    mutex->rank = rank;
}

void mutex_release(struct mutex *mutex)
{
    ensure(pthread_mutex_destroy(&mutex->pthread) == 0);
}

void mutex_lock(struct mutex *mutex)
{
    check_order(mutex);
    ensure(pthread_mutex_lock(&mutex->pthread) == 0);
    note_locked(mutex);
}

int mutex_trylock(struct mutex *mutex)
{
    check_order(mutex);
    if (pthread_mutex_trylock(&mutex->pthread) != 0) {
        return 0;
    }
    note_locked(mutex);
    return 1;
}

void mutex_unlock(struct mutex *mutex)
{
    note_unlocked(mutex);
    ensure(pthread_mutex_unlock(&mutex->pthread) == 0);
}

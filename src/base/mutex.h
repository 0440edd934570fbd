// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_MUTEX_H
#define BASE_MUTEX_H

#include <pthread.h>

/**
 * The order in which mutexes are locked: who holds one may lock only those
 * further down this list. Two mutexes of one rank are never held together.
 */
enum mutex_rank {
    RANK_NODE = 1, ///< the node lock: protocol, synchronisation, transport
    RANK_SCHED,    ///< a worker's queue of runnable threads
    RANK_SWAP,     ///< the jobs of a swap file's kernel thread
    RANK_LOG,      ///< what is locked to report something
    RANK_END       ///< not a rank
};

/**
 * A mutex of kernel threads, never held across a switch of threads. Debug builds
 * (TM_DEBUG) stop the process on a breach of the order and on unlocking a mutex
 * that the kernel thread does not hold.
 */
struct mutex {
    pthread_mutex_t pthread;
    enum mutex_rank rank;
};

/** Make an unlocked mutex; mutex_release() when nobody uses it any more. */
void mutex_init(struct mutex *mutex, enum mutex_rank rank);
void mutex_release(struct mutex *mutex);

/** Wait until nobody holds the mutex, then hold it. Ends when its holder unlocks
 * it: holders do not wait for anything but mutexes further down the order.
 * Context: any kernel thread; not in a signal handler. */
void mutex_lock(struct mutex *mutex);

/** @return 1 and the mutex is held, or 0 at once if somebody holds it. In debug
 * builds the order counts as for mutex_lock(). */
int mutex_trylock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);

#endif

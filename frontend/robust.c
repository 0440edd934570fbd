// SPDX-License-Identifier: BSD-3-Clause
//
// Robust mutexes: a thread that ends with one leaves it to the next, which is told so. What has
// become of one is in its bytes, which its holder alone reads and writes:
//
//     SOUND --its thread ends--> ORPHAN --the next locks it--> IN_DOUBT
//     IN_DOUBT --pthread_mutex_consistent()--> SOUND
//     IN_DOUBT --unlocked without that--> LOST, for ever: nobody locks it any more
//
// A thread has a list of those that it holds, from one to the next by what they have for the C
// library's own list. So none but its holder unlocks a robust mutex.
#include <errno.h>
#include <pthread.h>

#include "front.h"

extern __typeof__(pthread_mutex_unlock) tmf_pthread_mutex_unlock;

enum state { SOUND, ORPHAN, IN_DOUBT, LOST };

static unsigned *state_of(pthread_mutex_t *mutex)
{
    return &mutex->__data.__nusers;
}

static pthread_mutex_t **next_of(pthread_mutex_t *mutex)
{
    return (pthread_mutex_t **)(void *)&mutex->__data.__list;
}

// @return what points to it; its target is NULL: the caller does not hold it
static pthread_mutex_t **find_own(const pthread_mutex_t *mutex)
{
    pthread_mutex_t **place = &front_thread()->robust;

    while (*place != NULL && *place != mutex) {
        place = next_of(*place);
    }
    return place;
}

int front_robust_begin(pthread_mutex_t *mutex)
{
    struct front_thread *thread = front_thread();

    if (*find_own(mutex) != NULL) { // a recursive one
        mutex->__data.__count++;
        return 0;
    }
    if (*state_of(mutex) == LOST) {
        return ENOTRECOVERABLE;
    }
    *next_of(mutex) = thread->robust;
    thread->robust = mutex;
    if (*state_of(mutex) == ORPHAN) {
        *state_of(mutex) = IN_DOUBT;
        return EOWNERDEAD;
    }
    return 0;
}

int front_robust_end(pthread_mutex_t *mutex)
{
    pthread_mutex_t **place = find_own(mutex);

    if (*place == NULL) {
        return EPERM;
    }
    if (mutex->__data.__count > 0) {
        mutex->__data.__count--;
        return 0;
    }
    *place = *next_of(mutex);
    if (*state_of(mutex) == IN_DOUBT) {
        *state_of(mutex) = LOST;
    }
    return 0;
}

void front_robust_orphan(void)
{
    pthread_mutex_t *mutex;

    while ((mutex = front_thread()->robust) != NULL) {
        if (mutex->__data.__count == 0) {
            *state_of(mutex) = ORPHAN;
        }
        tmf_pthread_mutex_unlock(mutex);
    }
}

// ---- calls

FRONT(pthread_mutexattr_setrobust)
int tmf_pthread_mutexattr_setrobust(pthread_mutexattr_t *attr, int robustness)
{
    return pthread_mutexattr_setrobust(attr, robustness);
}

FRONT(pthread_mutex_consistent)
int tmf_pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    if (*find_own(mutex) == NULL || *state_of(mutex) != IN_DOUBT) {
        return EINVAL;
    }
    *state_of(mutex) = SOUND;
    return 0;
}

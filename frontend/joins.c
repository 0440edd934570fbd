// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for the end of a thread for some time only, or not at all. A program that is linked with
// this file, that is one that calls it, keeps a list of its threads that have begun, and of those
// that have ended and that nobody has waited for. Those that are detached are not in it; one that
// is before it has begun is noted there until then.
#include <errno.h>
#include <pthread.h>

#include "front.h"

extern __typeof__(pthread_join) tmf_pthread_join;
extern __typeof__(pthread_self) tmf_pthread_self;

struct ending {
    struct ending *next;
    pthread_t thread;
    int has_ended;
};

static TM_SHARED struct ending *endings;
static tm_mutex mutex;
static tm_cond changed;

// @return what points to it; its target is NULL: the thread is not there
static struct ending **find_ending(pthread_t thread)
{
    struct ending **place = &endings;

    while (*place != NULL && (*place)->thread != thread) {
        place = &(*place)->next;
    }
    return place;
}

static long tell_waiters(void)
{
    (void)!tm_cond_broadcast(&changed);
    return 0;
}

static long wait_until(const struct timespec *deadline)
{
    const struct timespec until = *deadline;

    return front_error(tm_cond_timedwait(&changed, &mutex, &until));
}

// ---- hooks

// Begun and detached, both, or none of it: then it is not in the list.
static void turn_over(pthread_t thread)
{
    struct ending *made = front_allocate(sizeof *made);
    struct ending **place;
    struct ending *other;

    if (made == NULL) {
        front_fatal("no memory for a thread");
    }
    front_lock(&mutex);
    place = find_ending(thread);
    other = *place;
    if (other == NULL) {
        *made = (struct ending){endings, thread, 0};
        endings = made;
        made = NULL;
    } else {
        *place = other->next;
    }
    front_unlock(&mutex);
    front_free(made);
    front_free(other);
}

void front_join_begin(void)
{
    turn_over(tmf_pthread_self());
}

void front_join_detach(pthread_t thread)
{
    turn_over(thread);
}

void front_join_end(void)
{
    struct ending *ending;

    front_lock(&mutex);
    ending = *find_ending(tmf_pthread_self());
    if (ending != NULL) {
        ending->has_ended = 1;
    }
    FRONT_1(tell_waiters, 0);
    front_unlock(&mutex);
}

void front_join_forget(pthread_t thread)
{
    struct ending **place;
    struct ending *ending;

    front_lock(&mutex);
    place = find_ending(thread);
    ending = *place;
    if (ending != NULL) {
        *place = ending->next;
    }
    front_unlock(&mutex);
    if (ending != NULL) {
        front_free(ending);
    }
}

// ---- calls

static int has_ended(pthread_t thread)
{
    const struct ending *ending = *find_ending(thread);

    return ending != NULL && ending->has_ended;
}

// @param until  NULL: do not wait
static int await_end(pthread_t thread, const struct timespec *until)
{
    int error = 0;

    front_lock(&mutex);
    while (!has_ended(thread) && error == 0) {
        error = until == NULL ? EBUSY : (int)FRONT_1(wait_until, until);
    }
    front_unlock(&mutex);
    return error;
}

static int join_if(int error, pthread_t thread, void **result)
{
    return error != 0 ? error : tmf_pthread_join(thread, result);
}

FRONT(pthread_tryjoin_np)
int tmf_pthread_tryjoin_np(pthread_t thread, void **result)
{
    return join_if(await_end(thread, NULL), thread, result);
}

FRONT(pthread_clockjoin_np)
int tmf_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                             const struct timespec *deadline)
{
    struct timespec until;

    if (deadline == NULL || thread == tmf_pthread_self()) {
        return tmf_pthread_join(thread, result);
    }
    return front_deadline(clock, deadline, &until) != 0
               ? EINVAL
               : join_if(await_end(thread, &until), thread, result);
}

FRONT(pthread_timedjoin_np)
int tmf_pthread_timedjoin_np(pthread_t thread, void **result,
                             const struct timespec *deadline)
{
    return tmf_pthread_clockjoin_np(thread, result, CLOCK_REALTIME, deadline);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// sleep() and its like: a worker whose thread sleeps runs others. So do poll() and its
// like with a time and no descriptors, which are such a sleep. They are told from
// other calls by their place: a library that sleeps may hold a lock of its own that
// the next thread would wait for, on the same worker, so there the worker sleeps, as it
// does on kernel threads of the program's own.
//
//   W4 The time is over when the call returns. A signal does not end it, once the thread
//      has gone to sleep.
//   W5 The service thread keeps the time, in steps of a millisecond or so: a shorter
//      sleep is the worker's, after others that can run have run.
#include "runtime/wrap.h"

#include <poll.h>
#include <sys/select.h>
#include <threads.h>

#include "base/clock.h"
#include "os/image.h"
#include "runtime/node.h"

#define SECOND_NS 1000000000ll
#define SHORT_NS 2000000ll
#define LONG_S (100ll * 365 * 86400)

static void put_to_sleep(struct node *node, uint64_t ns)
{
    const uint64_t until_ns = clock_now_ns() + ns;
    struct wait wait;

    wait_begin_call(node, &wait);
    wait.waiter.until_ns = until_ns;
    sync_sleep(node->sync, &wait.waiter);
    node_leave(node);
    node_wake_service(node);
    wait_for(&wait, 1); // ends when the time is over
}

// Sleep without the worker, if that can be. @return 0: the C library is to do it
static int sleep_apart(int64_t s, int64_t ns, uintptr_t place)
{
    if (!image_is_program_text(place) || !wrap_is_thread() || s < 0 || ns < 0 ||
        ns >= SECOND_NS) {
        return 0;
    }
    thread_self()->place = place;
    s = s < LONG_S ? s : LONG_S;
    ns += s * SECOND_NS;
    if (ns < SHORT_NS) { // W5
        tm_thread_yield();
        return 0;
    }
    put_to_sleep(&this_node, (uint64_t)ns);
    return 1;
}

// Of what cannot be read the C library tells.
static int sleep_for_time(const struct timespec *time, uintptr_t place)
{
    return time != NULL && sleep_apart(time->tv_sec, time->tv_nsec, place);
}

static int sleep_until(clockid_t clock, const struct timespec *time,
                       uintptr_t place)
{
    struct timespec now;
    int64_t ns = time != NULL ? time->tv_nsec : -1;
    int64_t s = time != NULL ? time->tv_sec : 0;

    if (ns < 0 || ns >= SECOND_NS || clock_gettime(clock, &now) != 0) {
        return 0;
    }
    ns -= now.tv_nsec;
    s -= now.tv_sec;
    return ns < 0 ? sleep_apart(s - 1, ns + SECOND_NS, place)
                  : sleep_apart(s, ns, place);
}

EXPORTED unsigned sleep(unsigned seconds)
{
    return sleep_apart(seconds, 0, PLACE) ? 0 : CALL(sleep)(seconds);
}

EXPORTED int usleep(useconds_t us)
{
    return sleep_apart(us / 1000000, us % 1000000 * 1000ll, PLACE)
               ? 0
               : CALL(usleep)(us);
}

EXPORTED int nanosleep(const struct timespec *time, struct timespec *left)
{
    return sleep_for_time(time, PLACE) ? 0 : CALL(nanosleep)(time, left);
}

EXPORTED int clock_nanosleep(clockid_t clock, int flags,
                             const struct timespec *time, struct timespec *left)
{
    int is_done = 0;

    if (clock == CLOCK_MONOTONIC ||
        clock == CLOCK_REALTIME) { // the program's clock
        is_done = flags == TIMER_ABSTIME ? sleep_until(clock, time, PLACE)
                                         : sleep_for_time(time, PLACE);
    }
    return is_done ? 0 : CALL(clock_nanosleep)(clock, flags, time, left);
}

EXPORTED int thrd_sleep(const struct timespec *time, struct timespec *left)
{
    return sleep_for_time(time, PLACE) ? 0 : CALL(thrd_sleep)(time, left);
}

// ---- of no descriptors

EXPORTED int poll(struct pollfd *fds, nfds_t n, int ms)
{
    return n == 0 && sleep_apart(ms / 1000, ms % 1000 * 1000000ll, PLACE)
               ? 0
               : CALL(poll)(fds, n, ms);
}

EXPORTED int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time,
                   const sigset_t *mask)
{
    return n == 0 && mask == NULL && sleep_for_time(time, PLACE)
               ? 0
               : CALL(ppoll)(fds, n, time, mask);
}

EXPORTED int select(int n, fd_set *read, fd_set *write, fd_set *error,
                    struct timeval *left)
{
    if (n == 0 && left != NULL &&
        sleep_apart(left->tv_sec, left->tv_usec * 1000ll, PLACE)) {
        *left = (struct timeval){0, 0};
        return 0;
    }
    return CALL(select)(n, read, write, error, left);
}

EXPORTED int pselect(int n, fd_set *read, fd_set *write, fd_set *error,
                     const struct timespec *time, const sigset_t *mask)
{
    return n == 0 && mask == NULL && sleep_for_time(time, PLACE)
               ? 0
               : CALL(pselect)(n, read, write, error, time, mask);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for a word to change, which the C++ library does by futex() for std::future and for
// std::atomic's wait(). Who wakes has changed the word before; both take the word's lock, so
// no wake is lost.
#include "front.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

struct waiting {
    unsigned *word;
    unsigned value;
    const struct timespec *until; // NULL: for ever
};

static long wait_for_word(const struct waiting *given)
{
    const struct waiting waiting = *given;
    struct timespec until;
    tm_status status = TM_OK;
    int is_equal;

    if (waiting.until != NULL) {
        until = *waiting.until;
    }
    (void)!tm_mutex_lock((tm_mutex *)waiting.word);
    is_equal = __atomic_load_n(waiting.word, __ATOMIC_SEQ_CST) == waiting.value;
    if (is_equal && waiting.until == NULL) {
        status =
            tm_cond_wait((tm_cond *)waiting.word, (tm_mutex *)waiting.word);
    } else if (is_equal) {
        status = tm_cond_timedwait((tm_cond *)waiting.word,
                                   (tm_mutex *)waiting.word, &until);
    }
    (void)!tm_mutex_unlock((tm_mutex *)waiting.word);
    if (!is_equal) {
        return EAGAIN;
    }
    return front_error(status);
}

static long wake_waiters(unsigned *word, unsigned most)
{
    (void)!tm_mutex_lock((tm_mutex *)word);
    if (most == 1) {
        (void)!tm_cond_signal((tm_cond *)word);
    } else {
        (void)!tm_cond_broadcast((tm_cond *)word);
    }
    (void)!tm_mutex_unlock((tm_mutex *)word);
    return 0;
}

static int wait_until(unsigned *word, unsigned value, clockid_t clock,
                      const struct timespec *deadline)
{
    struct timespec until;
    struct waiting waiting = {word, value, deadline == NULL ? NULL : &until};

    if (deadline != NULL) {
        (void)front_deadline(clock, deadline, &until);
    }
    return (int)FRONT_1(wait_for_word, &waiting);
}

// ---- std::future

#define WAIT_BY(c_name, clock, name)                                           \
    _Bool c_name(void *base, unsigned *word, unsigned value, _Bool has_time,   \
                 int64_t s, int64_t ns) NAMED(name);                           \
    _Bool c_name(void *base, unsigned *word, unsigned value, _Bool has_time,   \
                 int64_t s, int64_t ns)                                        \
    {                                                                          \
        const struct timespec deadline = {s, ns};                              \
                                                                               \
        (void)base;                                                            \
        if (has_time && (s < 0 || ns < 0)) {                                   \
            return 0; /* a time of long ago */                                 \
        }                                                                      \
        return wait_until(word, value, clock, has_time ? &deadline : NULL) !=  \
               ETIMEDOUT;                                                      \
    }

#define SECONDS_AND_NS                                                         \
    "NSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"

WAIT_BY(wait_for_state, CLOCK_REALTIME,
        "tmf__ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_"
        "untilEPjjb" SECONDS_AND_NS)
WAIT_BY(wait_steadily, CLOCK_MONOTONIC,
        "tmf__ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_"
        "steadyEPjjb" SECONDS_AND_NS)

void notify_state(unsigned *word)
    NAMED("tmf__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj");
void notify_state(unsigned *word)
{
    FRONT_2(wake_waiters, word, UINT_MAX);
}

// ---- syscall()

static long do_futex(unsigned *word, int operation, unsigned value,
                     const struct timespec *time)
{
    const clockid_t clock = (operation & FUTEX_CLOCK_REALTIME) != 0
                                ? CLOCK_REALTIME
                                : CLOCK_MONOTONIC;
    struct timespec deadline;
    int error;

    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        return FRONT_2(wake_waiters, word, value);
    case FUTEX_WAIT:
        if (time != NULL) { // how long
            clock_gettime(CLOCK_MONOTONIC, &deadline);
            deadline.tv_sec += time->tv_sec;
            deadline.tv_nsec += time->tv_nsec;
            deadline.tv_sec += deadline.tv_nsec / 1000000000;
            deadline.tv_nsec %= 1000000000;
            time = &deadline;
        }
        break;
    case FUTEX_WAIT_BITSET:
        break;
    case FUTEX_LOCK_PI2: // what older kernels say of it
        errno = ENOSYS;
        return -1;
    default:
        front_fatal("syscall(SYS_futex) with operation %d is not possible",
                    operation);
    }
    error = wait_until(word, value, clock, time);
    errno = error;
    return error == 0 ? 0 : -1;
}

FRONT(syscall)
long tmf_syscall(long number, ...)
{
    va_list list;
    long a[6];

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    switch (number) {
    case SYS_futex:
        return do_futex((unsigned *)a[0], (int)a[1], (unsigned)a[2],
                        (const struct timespec *)a[3]);
    case SYS_gettid:
        return (long)tm_thread_self() + 1;
    default:
        return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

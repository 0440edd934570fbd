// SPDX-License-Identifier: BSD-3-Clause
#include "os/kthread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"

void kthread_wait(const _Atomic uint32_t *word, uint32_t expected,
                  uint64_t timeout_ns)
{
    struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / 1000000000u),
        .tv_nsec = (long)(timeout_ns % 1000000000u),
    };

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
            timeout_ns > 0 ? &timeout : NULL, NULL, 0);
}

void kthread_sleep_until(uint64_t wall_ns)
{
    struct timespec until = {
        .tv_sec = (time_t)(wall_ns / 1000000000u),
        .tv_nsec = (long)(wall_ns % 1000000000u),
    };

    // The call itself: programs are given a clock_nanosleep() that switches threads.
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
                   NULL) != 0 &&
           errno == EINTR) {
    }
}

void kthread_wake(const _Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void kthread_wake_all(const _Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

tm_status kthread_start(pthread_t *thread, const char *name,
                        void *(*run)(void *argument), void *argument)
{
    sigset_t all;
    sigset_t before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        errno = error;
        log_error("cannot start the kernel thread %s: %m%s", name,
                  error == EAGAIN ? "; see ulimit -u and the cgroup's pids.max"
                                  : "");
        return error == EAGAIN ? TM_ELIMIT : TM_ESYSTEM;
    }
    pthread_setname_np(*thread, name);
    return TM_OK;
}

static void *end_at_once(void *argument)
{
    return argument;
}

tm_status kthread_try(const char *name)
{
    pthread_t thread;
    tm_status status = kthread_start(&thread, name, end_at_once, NULL);

    if (status == TM_OK) {
        pthread_join(thread, NULL);
    }
    return status;
}

int kthread_hurry(pthread_t thread)
{
    const struct sched_param parameters = {.sched_priority = 1};

    return pthread_setschedparam(thread, SCHED_RR, &parameters);
}

void kthread_calm(pthread_t thread)
{
    const struct sched_param parameters = {0};

    (void)pthread_setschedparam(thread, SCHED_OTHER, &parameters);
}

void kthread_stack(char **low, size_t *size)
{
    pthread_attr_t attributes;
    void *address;

    int error = pthread_getattr_np(pthread_self(), &attributes);

    if (error != 0) {
        log_fatal(EXIT_CONFIG,
                  "cannot find the stack of a kernel thread, which "
                  "/proc/self/maps tells: %s; is /proc mounted?",
                  strerror(error));
    }
    ensure(pthread_attr_getstack(&attributes, &address, size) == 0);
    pthread_attr_destroy(&attributes);
    *low = address;
}

int kthread_id(void)
{
    return gettid();
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A clock that is set again and again, for tests: with LD_PRELOAD this library stands
// before the C library's functions that tell the time of day, which then goes an hour
// forwards or a day back at each call. The clocks that only run are left alone.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

typedef int clock_fn(clockid_t clock, struct timespec *now);

static long jump(void)
{
    static _Atomic unsigned n_calls;

    return atomic_fetch_add(&n_calls, 1) % 2 == 0 ? 3600 : -86400;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    clock_fn *real = (clock_fn *)dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);

    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        now->tv_sec += jump();
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec time;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

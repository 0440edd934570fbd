// SPDX-License-Identifier: BSD-3-Clause
//
// What belongs to a process besides files: its number, programs it runs, its environment, random
// numbers; and what it is told of processors and time, which every node knows.
#include "on_root.h"

#include <stdlib.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

extern __typeof__(malloc) tmf_malloc;

FRONT_CALL_0(pid_t, getpid)
FRONT_CALL_0(pid_t, getppid)
FRONT_CALL(1, int, system, const char *, NAME(a))

// ---- the environment

struct variable {
    const char *name;
    char *to;
    size_t room;
};

static long measure_variable(void *arguments)
{
    const struct variable *call = arguments;
    const char *value = getenv(NAME(call->name));

    return value == NULL ? -1 : (long)strlen(value) + 1;
}

static long copy_variable(void *arguments)
{
    const struct variable *call = arguments;
    const char *value = getenv(NAME(call->name));

    if (value == NULL || strlen(value) >= call->room) {
        return -1;
    }
    strcpy(call->to, value);
    return 0;
}

// A shared copy, which nobody frees, as nobody frees the environment.
FRONT(getenv)
char *tmf_getenv(const char *name)
{
    struct variable call = {.name = front_lend_text(name)};
    long size = front_at_root(measure_variable, &call);

    if (size >= 0) {
        call.room = (size_t)size;
        call.to = tmf_malloc(call.room);
    }
    if (call.to != NULL && front_at_root(copy_variable, &call) != 0) {
        call.to = NULL;
    }
    front_end_text(name, call.name);
    return call.to;
}
SAME(secure_getenv, getenv);

// ---- random numbers

FRONT_CALL_0(int, rand)
FRONT_CALL_0(long, random)
FRONT_CALL_0(double, drand48)
FRONT_CALL_0(long, lrand48)
FRONT_CALL_0(long, mrand48)
FRONT_VOID_1(srand, unsigned)
FRONT_VOID_1(srandom, unsigned)
FRONT_VOID_1(srand48, long)

// ---- time and processors

static long count_all_processors(void)
{
    return (long)tm_node_count() * tm_node_workers();
}

FRONT(sysconf)
long tmf_sysconf(int name)
{
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) {
        return FRONT_1(count_all_processors, 0);
    }
    return sysconf(name);
}

FRONT(get_nprocs)
int tmf_get_nprocs(void)
{
    return (int)FRONT_1(count_all_processors, 0);
}

static long sleep_for(const struct timespec *time)
{
    struct timespec own = *time;

    return nanosleep(&own, NULL);
}

FRONT(nanosleep)
int tmf_nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest;
    return (int)FRONT_1(sleep_for, time);
}

static long sleep_until(clockid_t clock, int flags, const struct timespec *time)
{
    struct timespec own = *time;

    return clock_nanosleep(clock, flags, &own, NULL);
}

FRONT(clock_nanosleep)
int tmf_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                        struct timespec *rest)
{
    (void)rest;
    return (int)FRONT_3(sleep_until, clock, flags, time);
}

FRONT(usleep)
int tmf_usleep(useconds_t us)
{
    return (int)FRONT_1(usleep, us);
}

FRONT(sleep)
unsigned tmf_sleep(unsigned s)
{
    return (unsigned)FRONT_1(sleep, s);
}

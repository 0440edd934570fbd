// SPDX-License-Identifier: BSD-3-Clause
//
// What belongs to a process besides files: its number, programs it runs, its environment, random
// numbers; and what it is told of processors and time, which every node knows.
#include "on_root.h"

#include <errno.h>
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

// ---- random numbers, as the C library has them, in shared memory

static TM_SHARED struct {
    int are_begun;
    struct random_data data; // of rand(), too
    char state[128];
    struct drand48_data data48;
} numbers;

static tm_mutex numbers_mutex;

static void take_numbers(void)
{
    front_lock(&numbers_mutex);
    if (!numbers.are_begun) {
        numbers.are_begun = 1;
        (void)initstate_r(1, numbers.state, sizeof numbers.state,
                          &numbers.data);
    }
}

static int32_t next_number(void)
{
    int32_t next;

    take_numbers();
    (void)random_r(&numbers.data, &next);
    front_unlock(&numbers_mutex);
    return next;
}

FRONT(random)
long tmf_random(void)
{
    return next_number();
}

FRONT(rand)
int tmf_rand(void)
{
    return next_number();
}

FRONT(srandom)
void tmf_srandom(unsigned seed)
{
    take_numbers();
    (void)srandom_r(seed, &numbers.data);
    front_unlock(&numbers_mutex);
}

SAME(srand, srandom);

// The first word of a state is the library's.
static char *own_state(void)
{
    return (char *)(numbers.data.state - 1);
}

FRONT(initstate)
char *tmf_initstate(unsigned seed, char *state, size_t size)
{
    char *before;

    take_numbers();
    before = own_state();
    before = initstate_r(seed, state, size, &numbers.data) == 0 ? before : NULL;
    front_unlock(&numbers_mutex);
    return before;
}

FRONT(setstate)
char *tmf_setstate(char *state)
{
    char *before;

    take_numbers();
    before = own_state();
    before = setstate_r(state, &numbers.data) == 0 ? before : NULL;
    front_unlock(&numbers_mutex);
    return before;
}

#define NEXT_48(type, name)                                                    \
    FRONT(name)                                                                \
    type tmf_##name(void)                                                      \
    {                                                                          \
        type next;                                                             \
                                                                               \
        take_numbers();                                                        \
        (void)name##_r(&numbers.data48, &next);                                \
        front_unlock(&numbers_mutex);                                          \
        return next;                                                           \
    }

NEXT_48(double, drand48)
NEXT_48(long, lrand48)
NEXT_48(long, mrand48)

FRONT(srand48)
void tmf_srand48(long seed)
{
    take_numbers();
    (void)srand48_r(seed, &numbers.data48);
    front_unlock(&numbers_mutex);
}

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

// @return 0: it has not slept; 1, or -1 and EINTR
static int sleep_with_signals(int64_t ns, int64_t *left_ns)
{
    return front_sleep == NULL ? 0 : front_sleep(ns, left_ns);
}

int64_t front_ns(const struct timespec *time)
{
    int64_t ns;

    if (time->tv_nsec < 0 || time->tv_nsec >= 1000000000 || time->tv_sec < 0) {
        return 0;
    }
    return __builtin_mul_overflow(time->tv_sec, 1000000000ll, &ns) ||
                   __builtin_add_overflow(ns, time->tv_nsec, &ns)
               ? INT64_MAX
               : ns;
}

static void note_rest(struct timespec *rest, int64_t left_ns)
{
    if (rest != NULL) {
        *rest = (struct timespec){left_ns / 1000000000, left_ns % 1000000000};
    }
}

FRONT(nanosleep)
int tmf_nanosleep(const struct timespec *time, struct timespec *rest)
{
    int64_t left_ns;
    const int slept = sleep_with_signals(front_ns(time), &left_ns);

    if (slept < 0) {
        note_rest(rest, left_ns);
    }
    return slept != 0 ? (slept > 0 ? 0 : -1) : (int)FRONT_1(sleep_for, time);
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
    struct timespec now = {0};
    int64_t left_ns;
    int slept;

    if ((flags & TIMER_ABSTIME) != 0) {
        clock_gettime(clock, &now);
    }
    slept = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
                ? sleep_with_signals(front_ns(time) - front_ns(&now), &left_ns)
                : 0;
    if (slept < 0 && (flags & TIMER_ABSTIME) == 0) {
        note_rest(rest, left_ns);
    }
    return slept != 0 ? (slept > 0 ? 0 : EINTR)
                      : (int)FRONT_3(sleep_until, clock, flags, time);
}

FRONT(usleep)
int tmf_usleep(useconds_t us)
{
    int64_t left_ns;
    const int slept = sleep_with_signals(us * 1000ll, &left_ns);

    return slept != 0 ? (slept > 0 ? 0 : -1) : (int)FRONT_1(usleep, us);
}

FRONT(sleep)
unsigned tmf_sleep(unsigned s)
{
    int64_t left_ns = 0;

    if (sleep_with_signals(s * 1000000000ll, &left_ns) == 0) {
        return (unsigned)FRONT_1(sleep, s);
    }
    return (unsigned)((left_ns + 500000000) / 1000000000);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What the kernel tells of the process and its machine. It writes into private memory: pages of
// the caller's may not be there, and would make the call fail. Each node asks its own kernel.
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "front.h"

/** A call whose last argument is filled; A is what is before it. */
#define TELLS(name, A, structure)                                              \
    static long ask_##name(A a, structure *to)                                 \
    {                                                                          \
        structure own;                                                         \
        const int error = name(a, &own);                                       \
                                                                               \
        if (error == 0 && to != NULL) {                                        \
            *to = own;                                                         \
        }                                                                      \
        return error;                                                          \
    }                                                                          \
    FRONT(name)                                                                \
    int tmf_##name(A a, structure *to)                                         \
    {                                                                          \
        return (int)FRONT_2(ask_##name, a, to);                                \
    }

TELLS(getrusage, __rusage_who_t, struct rusage)
TELLS(getrlimit, __rlimit_resource_t, struct rlimit)
TELLS(clock_getres, clockid_t, struct timespec)
SAME(getrlimit64, getrlimit);

// Most clocks are read without the kernel.
static long ask_clock(clockid_t clock, struct timespec *to)
{
    struct timespec own;
    const int error = clock_gettime(clock, &own);

    if (error == 0) {
        *to = own;
    }
    return error;
}

FRONT(clock_gettime)
int tmf_clock_gettime(clockid_t clock, struct timespec *to)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
               ? clock_gettime(clock, to)
               : (int)FRONT_2(ask_clock, clock, to);
}

/** A call of which a structure is all that it is given. */
#define TELLS_ALL(name, structure)                                             \
    static long ask_##name(structure *to)                                      \
    {                                                                          \
        structure own;                                                         \
        const int error = name(&own);                                          \
                                                                               \
        if (error == 0) {                                                      \
            *to = own;                                                         \
        }                                                                      \
        return error;                                                          \
    }                                                                          \
    FRONT(name)                                                                \
    int tmf_##name(structure *to)                                              \
    {                                                                          \
        return (int)FRONT_1(ask_##name, to);                                   \
    }

TELLS_ALL(uname, struct utsname)
TELLS_ALL(sysinfo, struct sysinfo)

#define TELLS_THREE(name, type)                                                \
    static long ask_##name(type *a, type *b, type *c)                          \
    {                                                                          \
        type own[3];                                                           \
        const int error = name(&own[0], &own[1], &own[2]);                     \
                                                                               \
        if (error == 0) {                                                      \
            *a = own[0];                                                       \
            *b = own[1];                                                       \
            *c = own[2];                                                       \
        }                                                                      \
        return error;                                                          \
    }                                                                          \
    FRONT(name)                                                                \
    int tmf_##name(type *a, type *b, type *c)                                  \
    {                                                                          \
        return (int)FRONT_3(ask_##name, a, b, c);                              \
    }

TELLS_THREE(getresuid, uid_t)
TELLS_THREE(getresgid, gid_t)

// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_CLUSTER_PROGRAM_H
#define TESTS_CLUSTER_PROGRAM_H
/*
 * What the test programs of this folder have in common: numbers out of a seed,
 * and how they end when something is wrong. Only teamster.h is needed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "teamster.h"

/** A number that looks random, the same for the same arguments. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/** The next number of a sequence. @return below `below` */
static inline uint64_t draw(uint64_t *state, uint64_t below)
{
    *state += 1;
    return mix(*state, 0) % below;
}

/** End the program: one line says what is wrong, on which node and thread. */
#define FAIL(format, ...)                                                      \
    do {                                                                       \
        fprintf(stderr, "WRONG, thread %u on node %u, line %d: " format "\n",  \
                (unsigned)tm_thread_self(), tm_node_self(), __LINE__,          \
                __VA_ARGS__);                                                  \
        fflush(stdout);                                                        \
        _exit(1);                                                              \
    } while (0)

/** A call of the library that must succeed. */
#define OK(call)                                                               \
    do {                                                                       \
        tm_status status_ = (call);                                            \
        if (status_ != TM_OK) {                                                \
            FAIL("%s: %s", #call, tm_strerror(status_));                       \
        }                                                                      \
    } while (0)

/** Let some time pass. */
static inline void spin(uint64_t n)
{
    for (volatile uint64_t i = 0; i < n; i++) {
    }
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_BITS_TEST_H
#define SYNC_BITS_TEST_H

#include <stdint.h>
#include <string.h>

/* A double as reductions carry it. */

static inline uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif

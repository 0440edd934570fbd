// SPDX-License-Identifier: BSD-3-Clause
#include "sync/reduce.h"

#include <string.h>

static double to_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t to_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double combine_double(double a, double b, tm_op op)
{
    switch (op) {
    case TM_SUM:
        return a + b;
    case TM_PRODUCT:
        return a * b;
    case TM_MIN:
        return b < a ? b : a;
    default:
        return b > a ? b : a;
    }
}

static uint64_t combine_int64(uint64_t a, uint64_t b, tm_op op)
{
    switch (op) {
    case TM_SUM:
        return a + b;
    case TM_PRODUCT:
        return a * b;
    case TM_MIN:
        return (int64_t)b < (int64_t)a ? b : a;
    default:
        return (int64_t)b > (int64_t)a ? b : a;
    }
}

/* Shell's sort: in place, and fast on the sorted pieces that nodes send. */
static void sort_by_thread(struct wire_contribution *values, uint32_t n)
{
    uint32_t gap = 1;

    while (gap < n / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (uint32_t i = gap; i < n; i++) {
            struct wire_contribution moved = values[i];
            uint32_t j = i;

            for (; j >= gap && values[j - gap].thread > moved.thread;
                 j -= gap) {
                values[j] = values[j - gap];
            }
            values[j] = moved;
        }
    }
}

uint64_t reduce_bits(struct wire_contribution *values, uint32_t n, tm_op op,
                     int are_doubles)
{
    uint64_t result;

    sort_by_thread(values, n);
    result = values[0].value;
    for (uint32_t i = 1; i < n; i++) {
        result = are_doubles
                     ? to_bits(combine_double(to_double(result),
                                              to_double(values[i].value), op))
                     : combine_int64(result, values[i].value, op);
    }
    return result;
}

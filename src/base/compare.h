// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_COMPARE_H
#define BASE_COMPARE_H

#include <stdint.h>

/* Context: any; pure. */

/** @return the smaller one */
static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/** @param most  not less than `least`. @return what of these bounds is nearest to n */
static inline uint64_t within(uint64_t n, uint64_t least, uint64_t most)
{
    return n < least ? least : smaller(n, most);
}

// ---- for qsort()

/** Doubles, the least first. */
static inline int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

/** Something that has a number, and the value by which it is sorted. */
struct ranked {
    double value;
    uint32_t number;
};

/** struct ranked, the least first; of equals the lowest number. */
static inline int compare_rising(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;

    return a->value != b->value
               ? (a->value < b->value ? -1 : 1)
               : (a->number > b->number) - (a->number < b->number);
}

/** The same, the greatest first. */
static inline int compare_falling(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;

    return a->value != b->value
               ? (a->value > b->value ? -1 : 1)
               : (a->number > b->number) - (a->number < b->number);
}

#endif

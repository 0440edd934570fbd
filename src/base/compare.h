// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_COMPARE_H
#define BASE_COMPARE_H

#include <stdint.h>

/* For qsort(). Context: any; pure. */

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

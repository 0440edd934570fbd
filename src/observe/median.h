// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_MEDIAN_H
#define OBSERVE_MEDIAN_H

#include <stdint.h>

/** Of measurements: the least, and what a quarter of them stay below, a half, three
 * quarters. */
struct quartiles {
    uint64_t least;
    uint64_t low;
    uint64_t median;
    uint64_t high;
};

/** @param values  [n] in any order, sorted afterwards; n at least 1 */
struct quartiles quartiles_of(uint64_t *values, unsigned n);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* Random numbers, the same on every machine; not against somebody who wants to guess
 * them. Context: any; pure. Source: splitmix64 (Steele, Lea, Flood, 2014). */

/** Well spread bits for a number: another number gives other ones. */
static inline uint64_t random_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/** The next of a series of 2^64 numbers. @param state  any number to begin with */
static inline uint64_t random_next(uint64_t *state)
{
    return random_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/** The next, as a number < limit. @param limit  at least 1 */
static inline uint64_t random_index(uint64_t *state, uint64_t limit)
{
    return random_next(state) % limit;
}

#endif

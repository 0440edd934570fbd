// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_REDUCE_H
#define SYNC_REDUCE_H

#include "net/message.h"

/* A contribution is a thread's value in a reduction, as the bits of a double or an integer. */

/**
 * Combine values in ascending order of their threads, from the left, so that
 * the result does not depend on who came first or from where.
 *
 * @param values  [n], n > 0; sorted by thread afterwards
 * @return the bits of the result; integers wrap around
 * Context: pure.
 */
uint64_t reduce_bits(struct wire_contribution *values, uint32_t n, tm_op op,
                     int are_doubles);

#endif

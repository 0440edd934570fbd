// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/**
 * A number that tells whether bytes are still the same: a change is missed about
 * one time in 2^32. Not against those who mean harm, and not to be stored or sent:
 * it may change with the version.
 *
 * @param bytes  at a multiple of 8
 * @param size   a multiple of 64
 * @param seed   equal bytes with another seed give another number
 * @return never 0
 *
 * Context: any thread.
 */
uint32_t checksum(const void *bytes, size_t size, uint64_t seed);

#endif

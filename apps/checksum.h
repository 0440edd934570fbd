// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_CHECKSUM_H
#define APPS_CHECKSUM_H
/*
 * By which the results of two runs are compared.
 */

#include <stddef.h>
#include <stdint.h>

/**
 * A number that differs when a bit of the values does. The checksums of the
 * parts of an array add up to that of the whole, in any order.
 *
 * @param first  the index in the whole array of values[0]
 */
uint64_t checksum(const double *values, size_t n, size_t first);

/** The same of n bytes, as words of 8, the last of them filled with zeros. */
uint64_t checksum_bytes(const void *bytes, size_t n);

/** Print the checksum of a result. */
void checksum_print(uint64_t sum);

#endif

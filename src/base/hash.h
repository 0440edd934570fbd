// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** The hash of no bytes. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

/**
 * Go on with the hash of bytes, the same on every machine; not against somebody who
 * wants two to be equal.
 *
 * @param hash  of the bytes before, or HASH_START
 * @return the hash of all
 * Context: any; pure. Source: FNV-1a, 64 bits (Fowler, Noll, Vo).
 */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "net/message.h"

/*
 * The address of a node: of its UCX worker, for nodes of its own host, and of its
 * listener, for others, each behind its length, which is 0 for one that is not there:
 *
 *     length u32, address, length u32, address
 *
 * Each is wrapped, so that a damaged one is recognised; UCX trusts what it is given:
 *
 *     mark u32, checksum u32, address
 *
 * Behind UCX's address are DOORBELL_BYTES of the node's doorbell (net/doorbell.h).
 */

/** The parts of a node's address: for nodes of its own host, and for others. */
struct address_parts {
    const void *bytes[2]; ///< wrapped; size 0: it has no such part
    size_t size[2];
};

enum { ADDRESS_WITHIN_HOST, ADDRESS_BETWEEN_HOSTS };

/** @return the bytes that the parts take when they are joined. */
size_t address_joined_size(const struct address_parts *parts);

/** Write all parts as one address. @param[out] joined  [address_joined_size()] */
void address_join(const struct address_parts *parts, uint8_t *joined);

/** Find the parts; accepts any bytes. @param[out] parts  point into `joined`
 * @return TM_OK, TM_EWIRE */
TM_CHECKED tm_status address_split(const void *joined, size_t size,
                                   struct address_parts *parts);

/** @return the bytes that the wrapped form of an address takes. */
size_t address_wrapped_size(size_t size);

/** Wrap an address. @param[out] wrapped  [address_wrapped_size(size)] */
void address_wrap(const void *address, size_t size, uint8_t *wrapped);

/**
 * Unwrap an address; accepts any bytes.
 * @return the address, inside of `wrapped`
 * @return NULL  it is damaged
 */
const void *address_unwrap(const void *wrapped, size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "net/message.h"

/*
 * The address of a node is that of its UCX workers: one for nodes of its own host
 * and, if there are several, one for other hosts, each behind its length:
 *
 *     length u32, address, length u32, address
 *
 * Each is wrapped with where the node's bell is (net/bell.h; only nodes of its host
 * have a use for it), so that a damaged one is recognised, because UCX trusts what
 * it is given:
 *
 *     mark u32, checksum u32, UCX's address, BELL_BYTES of the bell
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

/** @return the bytes that the wrapped form of a UCX address takes. */
size_t address_wrapped_size(size_t size);

/** Wrap a UCX address. @param[out] wrapped  [address_wrapped_size(size)] */
void address_wrap(const void *address, size_t size, uint8_t *wrapped);

/**
 * Unwrap an address; accepts any bytes.
 * @return UCX's address, inside of `wrapped`
 * @return NULL  it is damaged
 */
const void *address_unwrap(const void *wrapped, size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "net/message.h"

/*
 * The address of a node is UCX's address of its worker, with where its bell is
 * (net/bell.h) behind it, in a wrapper by which a damaged one is recognised,
 * because UCX trusts what it is given:
 *
 *     mark u32, checksum u32, UCX's address, BELL_BYTES of the bell
 */

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

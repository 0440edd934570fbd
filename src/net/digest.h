// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_DIGEST_H
#define NET_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What bytes come to, so that one can see whether they have changed without having kept them. */

#define DIGEST_SIZE 16u

struct digests;

/** @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged: there is no libsodium) */
TM_CHECKED tm_status digests_open(struct digests **digests);
void digests_close(struct digests *digests);

/** The digest of bytes: BLAKE2b (RFC 7693) of 128 bits. Nobody will see two that differ and have
 * the same one. @param number  goes into it as well. Context: any thread */
void digest_of(const struct digests *digests, uint64_t number,
               const void *bytes, size_t size, uint8_t digest[DIGEST_SIZE]);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_ENVELOPE_H
#define NET_ENVELOPE_H

#include <stdint.h>

#include "base/status.h"
#include "net/seal.h"

/*
 * Giving the job's key to a node by a way that others can read. Each node makes a
 * pair of keys and lets all see the public one; who has the public key can put the
 * job's key into an envelope that only that node can open.
 */

#define ENVELOPE_PUBLIC_SIZE 32u
#define ENVELOPE_SIZE (SEAL_KEY_SIZE + 48u)

struct envelope_keys; ///< a node's pair

/**
 * @param[out] keys  to be freed with envelope_keys_free()
 * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged: there is no libsodium)
 *
 * Context: any thread.
 */
TM_CHECKED tm_status envelope_keys_new(struct envelope_keys **keys);

/** Overwrite and free them. NULL is allowed. */
void envelope_keys_free(struct envelope_keys *keys);

/** @return [ENVELOPE_PUBLIC_SIZE] bytes for all to see; lives as long as `keys` */
const uint8_t *envelope_public(const struct envelope_keys *keys);

/**
 * Put the job's key into an envelope.
 *
 * @param keys           of the sender
 * @param job_key        [SEAL_KEY_SIZE]
 * @param public_key     [ENVELOPE_PUBLIC_SIZE]  the receiver's
 * @param[out] envelope  [ENVELOPE_SIZE]
 * @return TM_OK
 * @return TM_EWIRE  that is no public key
 */
TM_CHECKED tm_status envelope_close(const struct envelope_keys *keys,
                                    const uint8_t *job_key,
                                    const uint8_t *public_key,
                                    uint8_t *envelope);

/** Take it out; accepts any bytes.
 * @param envelope      [ENVELOPE_SIZE]
 * @param[out] job_key  [SEAL_KEY_SIZE]
 * @return TM_OK
 * @return TM_EWIRE  it is for another node, or was changed */
TM_CHECKED tm_status envelope_open(const struct envelope_keys *keys,
                                   const uint8_t *envelope, uint8_t *job_key);

#endif

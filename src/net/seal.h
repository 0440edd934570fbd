// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_SEAL_H
#define NET_SEAL_H

#include <stddef.h>

#include "base/status.h"

/*
 * What keeps frames between hosts secret and genuine. seal.c says how.
 */

#define SEAL_KEY_SIZE 32u ///< of the job's key
#define SEAL_TAG_SIZE 16u ///< bytes that a sealed text is longer

struct seals; ///< one node's keys, with each other node and for each direction

/**
 * Make the keys of a node out of the job's key.
 *
 * @param[out] seals  set on success; to be given to seals_free()
 * @param job_key     [SEAL_KEY_SIZE]  not kept
 * @param self        < n_nodes
 * @return TM_OK
 * @return TM_ESYSTEM  libsodium is missing or does not work (logged)
 * @return TM_ENOMEM   (logged)
 * Context: any thread; loads the library at the first call.
 */
TM_CHECKED tm_status seals_new(struct seals **seals, const uint8_t *job_key,
                               node_id self, unsigned n_nodes);

/** Overwrite and free the keys. NULL is allowed. */
void seals_free(struct seals *seals);

/** A frame's parts. The head travels in the clear and is authenticated. */
struct seal_frame {
    uint64_t sequence; ///< never twice for a pair of nodes and a direction
    const void *head;
    size_t head_size;
};

/**
 * Seal a text for another node, in place.
 *
 * @param to    not self
 * @param text  [size + SEAL_TAG_SIZE]  the tag is put behind
 * Context: any thread; does not block or allocate.
 */
void seals_seal(const struct seals *seals, node_id to,
                const struct seal_frame *frame, void *text, size_t size);

/**
 * Open a sealed text.
 *
 * @param from      not self
 * @param sealed    [size]  any bytes
 * @param[out] text  [size - SEAL_TAG_SIZE]  means nothing on failure
 * @return TM_OK
 * @return TM_EWIRE  it is not what `from` sealed for this node under this
 *                   sequence number and head
 * Context: as seals_seal().
 */
TM_CHECKED tm_status seals_open(const struct seals *seals, node_id from,
                                const struct seal_frame *frame,
                                const void *sealed, size_t size, void *text);

#endif

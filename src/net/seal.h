// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_SEAL_H
#define NET_SEAL_H

#include <stddef.h>

#include "base/status.h"

/*
 * What keeps frames between hosts secret and genuine. seal.c says how.
 */

#define SEAL_KEY_SIZE 32u ///< of the job's key, and of all that are made of it
#define SEAL_TAG_SIZE 16u ///< bytes that a sealed frame is longer
#define SEAL_MAC_SIZE 32u ///< of seals_mac()

struct seals; ///< one node's: the library, and keys made of the job's

/**
 * @param[out] seals  set on success; to be given to seals_free()
 * @param job_key     [SEAL_KEY_SIZE]  not kept
 * @param is_plain    frames can be read by anybody; all else stays
 * @return TM_OK
 * @return TM_ESYSTEM  libsodium is missing or does not work (logged)
 * @return TM_ENOMEM   (logged)
 * Context: any thread; loads the library.
 */
TM_CHECKED tm_status seals_new(struct seals **seals, const uint8_t *job_key,
                               int is_plain);

/** Overwrite and free the keys. NULL is allowed. */
void seals_free(struct seals *seals);

/** One direction of one connection. To be kept in secret memory (os/secret.h). */
struct seal_lane {
    uint8_t key[SEAL_KEY_SIZE];
    uint64_t sequence; ///< of the next frame; counts from 0, by the functions
};

/** A frame: a head that travels in the clear, a text, and room for the tag. Head
 * and text are authenticated. */
struct seal_frame {
    uint8_t *bytes; ///< [head_size + text_size + SEAL_TAG_SIZE]
    size_t head_size;
    size_t text_size;
};

/** Seal the next frame of a lane, in place.
 * Context: any thread that owns the lane; does not block or allocate. */
void seals_seal(const struct seals *seals, struct seal_lane *lane,
                const struct seal_frame *frame);

/**
 * Open the next frame of a lane, in place.
 *
 * @param frame  any bytes; the text means nothing on failure
 * @return TM_OK
 * @return TM_EWIRE  it is not what the other end has sealed as its next frame; the
 *                   lane is of no more use
 * Context: as seals_seal().
 */
TM_CHECKED tm_status seals_open(const struct seals *seals,
                                struct seal_lane *lane,
                                const struct seal_frame *frame);

/* For handshakes (net/handshake.h). */

/** Authenticate `a`, then `b`, by the job's key.
 * @param[out] mac  [SEAL_MAC_SIZE] */
void seals_mac(const struct seals *seals, const void *a, size_t a_size,
               const void *b, size_t b_size, uint8_t *mac);

/** Are two of SEAL_MAC_SIZE bytes equal? Takes as long wherever they differ. */
int seals_is_same(const struct seals *seals, const uint8_t *a,
                  const uint8_t *b);

/** Make a key pair for one connection. @param[out] secret, shown  [SEAL_KEY_SIZE] */
void seals_make_pair(const struct seals *seals, uint8_t *secret,
                     uint8_t *shown);

/**
 * The keys of a connection: of the job's key, of what the two ends have shown each
 * other, and of all that they have said.
 *
 * @param secret    [SEAL_KEY_SIZE]  of this end
 * @param shown     [SEAL_KEY_SIZE]  by the other, any bytes
 * @param said      [said_size]
 * @param[out] keys  [2 * SEAL_KEY_SIZE]  the same at both ends
 * @return TM_OK, TM_EWIRE (nobody who means it shows that)
 */
TM_CHECKED tm_status seals_agree(const struct seals *seals,
                                 const uint8_t *secret, const uint8_t *shown,
                                 const void *said, size_t said_size,
                                 uint8_t *keys);

#endif

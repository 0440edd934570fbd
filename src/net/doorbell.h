// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_DOORBELL_H
#define NET_DOORBELL_H

#include "net/message.h"

/*
 * A doorbell wakes a node on the same host that sleeps: a word in memory that both
 * see says whether a sender has to ring, and a pipe carries that. doorbell.c says
 * why. A node has one doorbell of its own, and knows those of others.
 */
struct doorbell; ///< this node's own

/** One that this node rings. */
struct doorbell_peer {
    struct doorbell_word
        *word; ///< NULL: that node has no doorbell, or cannot be reached
    int pipe;
};

/** What others need to know of a doorbell, as bytes. */
#define DOORBELL_BYTES 20u

/** Make this node's doorbell. @return NULL: there is none; not logged */
struct doorbell *doorbell_new(void);

/** NULL is allowed. */
void doorbell_free(struct doorbell *doorbell);

/** Write down where the doorbell is; for NULL, that there is none. */
void doorbell_describe(const struct doorbell *doorbell,
                       uint8_t bytes[DOORBELL_BYTES]);

/** Become one that rings the doorbell of another node. If this cannot be, peer->word
 * is NULL, and that node goes on sleeping as if it had none. */
void doorbell_attach(struct doorbell_peer *peer,
                     const uint8_t bytes[DOORBELL_BYTES]);

/** NULL as word is allowed. */
void doorbell_detach(struct doorbell_peer *peer);

/** Something has just been put where the other node finds it: ring, if it wants
 * to be woken. Costs a look at one word if it does not.
 * @return 1 it has been rung */
int doorbell_ring(const struct doorbell_peer *peer);

/** Do so many nodes ring it, or more? Else their messages wake nobody by it. */
int doorbell_is_rung_by(const struct doorbell *doorbell, unsigned n_nodes);

/** Senders are to ring from now on, once, unless somebody polls. The caller
 * looks for messages once more before it sleeps on doorbell_fd(). */
void doorbell_arm(struct doorbell *doorbell);

/** Somebody polls all the time, or no longer does; they are counted. Who stops
 * looks for messages once more afterwards. Needs no lock. */
void doorbell_note_polling(struct doorbell *doorbell, int is_polling);

/** Readable when it has been rung. */
int doorbell_fd(const struct doorbell *doorbell);

#endif

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
    struct doorbell_word *word; ///< NULL: that node has no doorbell, or it is
                                ///< not attached
    int pipe;
    uint32_t process;     ///< of that node; 0: it has no doorbell
    uint32_t pipe_number; ///< there
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

/** Become one that rings the doorbell of another node, if that has one.
 * @return TM_OK; TM_EPEER, that node's process has ended; TM_ESYSTEM, with errno (neither is
 *         logged) */
TM_CHECKED tm_status doorbell_attach(struct doorbell_peer *peer,
                                     const uint8_t bytes[DOORBELL_BYTES]);

/** Has the process ended whose doorbell this is? 0 if it is attached to none. */
int doorbell_is_gone(const struct doorbell_peer *peer);

/** NULL as word is allowed. */
void doorbell_detach(struct doorbell_peer *peer);

/** Something has just been put where the other node finds it: ring, if it wants
 * to be woken. Costs a look at one word if it does not.
 * @return 1 it has been rung */
int doorbell_ring(const struct doorbell_peer *peer);

/** Senders are to ring from now on, once, unless somebody polls. The caller
 * looks for messages once more before it sleeps on doorbell_fd(). */
void doorbell_arm(struct doorbell *doorbell);

/** Somebody polls all the time, or no longer does; they are counted. Who stops
 * looks for messages once more afterwards. Needs no lock. */
void doorbell_note_polling(struct doorbell *doorbell, int is_polling);

/** Readable when it has been rung. */
int doorbell_fd(const struct doorbell *doorbell);

#endif

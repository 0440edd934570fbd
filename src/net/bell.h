// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_BELL_H
#define NET_BELL_H

#include "net/message.h"

/*
 * A bell wakes a node on the same host that sleeps: a word in memory that both
 * see says whether a sender has to ring, and a pipe carries that. bell.c says
 * why. A node has one bell of its own, and knows those of others.
 */
struct bell; ///< this node's own

/** One that this node rings. */
struct rope {
    struct bell_word
        *word; ///< NULL: that node has no bell, or cannot be reached
    int pipe;
};

/** What others need to know of a bell, as bytes. */
#define BELL_BYTES 20u

/** Make this node's bell. @return NULL: there is none; not logged */
struct bell *bell_new(void);

/** NULL is allowed. */
void bell_free(struct bell *bell);

/** Write down where the bell is; for NULL, that there is none. */
void bell_describe(const struct bell *bell, uint8_t bytes[BELL_BYTES]);

/** Become one that rings the bell of another node. If this cannot be, rope->word
 * is NULL, and that node goes on sleeping as if it had none. */
void rope_take(struct rope *rope, const uint8_t bytes[BELL_BYTES]);

/** NULL as word is allowed. */
void rope_drop(struct rope *rope);

/** Something has just been put where the other node finds it: ring, if it wants
 * to be woken. Costs a look at one word if it does not.
 * @return 1 it has been rung */
int rope_pull(const struct rope *rope);

/** Do so many nodes ring it, or more? Else their messages wake nobody by it. */
int bell_is_rung_by(const struct bell *bell, unsigned n_nodes);

/** Senders are to ring from now on, once, unless somebody looks. The caller
 * looks for messages once more before it sleeps on bell_fd(). */
void bell_arm(struct bell *bell);

/** Somebody looks all the time, or no longer does; they are counted. Who stops
 * looks for messages once more afterwards. Needs no lock. */
void bell_look(struct bell *bell, int is_looking);

/** Readable when it has been rung. */
int bell_fd(const struct bell *bell);

#endif

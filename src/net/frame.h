// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_FRAME_H
#define NET_FRAME_H

#include <stdint.h>

#include "net/message.h"

/*
 * Encoded messages in memory that is used again and again. All of one pool is
 * called under one lock.
 */

/** The longest number of bytes a transport puts in front of a message. */
#define FRAME_PREFIX_MAX 20u

/** The longest number of bytes it puts behind one. */
#define FRAME_TAIL_MAX 16u

/** The longest frame. */
#define FRAME_MAX                                                              \
    (FRAME_PREFIX_MAX + MESSAGE_HEADER_MAX + MESSAGE_BODY_MAX + FRAME_TAIL_MAX)

#define FRAME_N_CLASSES 5

struct frame_pool;

struct frame {
    struct frame *next; ///< of whoever holds the frame
    struct frame *previous_used;
    struct frame *next_used;
    struct frame_pool *pool;
    unsigned class;
    uint32_t size; ///< bytes of the frame
    node_id to;    ///< of whoever sends the frame
    uint8_t bytes[];
};

struct frame_pool {
    struct frame *unused[FRAME_N_CLASSES];
    unsigned n_unused[FRAME_N_CLASSES];
    struct frame *used; ///< all that are out
};

void frame_pool_init(struct frame_pool *pool);

/** Frees everything, also the frames that are still out. */
void frame_pool_release(struct frame_pool *pool);

/**
 * @param size  1..FRAME_MAX
 * @return a frame of that size, never NULL: without memory the process ends
 *         with exit code 71. Give it back with frame_put().
 */
struct frame *frame_get(struct frame_pool *pool, uint32_t size);

void frame_put(struct frame *frame);

/** @return the memory that it takes, in bytes */
size_t frame_memory(const struct frame *frame);

/** A frame that holds an encoded message between `prefix` and `tail` bytes, which
 * the caller fills in. The message's body is not too long (else a bug: ensure). */
struct frame *frame_encode(struct frame_pool *pool, uint32_t prefix,
                           uint32_t tail, const struct message *message);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_ORDER_H
#define NET_ORDER_H

#include "net/frame.h"

/*
 * Puts the frames of one sender back into the order of sending. The sender
 * numbers them 0, 1, 2, ...
 */

/** A frame may be so many numbers early, less one. */
#define ORDER_WINDOW 4096u

struct order {
    uint64_t next; ///< the number to be delivered next
    uint32_t n_held;
    struct frame **held; ///< [ORDER_WINDOW] by number; NULL until one is early
};

enum order_place {
    ORDER_NEXT,    ///< deliver it, then call order_delivered()
    ORDER_EARLY,   ///< give it to order_hold()
    ORDER_REFUSED, ///< was here before, or is too early to be held
};

void order_init(struct order *order);

/** Forgets the held frames without giving them back to their pool. */
void order_release(struct order *order);

enum order_place order_place(const struct order *order, uint64_t sequence);

/** Hold a frame whose place is ORDER_EARLY. */
void order_hold(struct order *order, uint64_t sequence, struct frame *frame);

/**
 * The next frame has been delivered.
 * @return the held frame whose turn it is now: deliver it, give it back, and
 *         call this again; NULL if it has not come yet
 */
struct frame *order_delivered(struct order *order);

#endif

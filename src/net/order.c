// SPDX-License-Identifier: BSD-3-Clause
//
// UCX keeps no order between messages that travel by different protocols or
// lanes (a short one may overtake one of many fragments), and the state machines
// above rely on it. So frames are numbered, and one that comes early is held in
// a ring of ORDER_WINDOW slots until those before it have come. Nearly all
// frames come in order: then the ring is never even allocated.
//
// I1  held[n % ORDER_WINDOW] is the frame of number n, for n in
//     (next, next + ORDER_WINDOW); the slot of `next` itself is empty.
//
// A sender that skips numbers gets stuck: its frames are held, then refused. It
// cannot make this node use more memory than the window holds.
#include "net/order.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/log.h"

void order_init(struct order *order)
{
    *order = (struct order){0};
}

void order_release(struct order *order)
{
    free(order->held);
    order_init(order);
}

enum order_place order_place(const struct order *order, uint64_t sequence)
{
    uint64_t ahead = sequence - order->next;

    if (ahead == 0) {
        return ORDER_NEXT;
    }
    if (ahead >= ORDER_WINDOW) {
        return ORDER_REFUSED;
    }
    if (order->held != NULL && order->held[sequence % ORDER_WINDOW] != NULL) {
        return ORDER_REFUSED;
    }
    return ORDER_EARLY;
}

void order_hold(struct order *order, uint64_t sequence, struct frame *frame)
{
    ensure(order_place(order, sequence) == ORDER_EARLY);
    if (order->held == NULL) {
        order->held = calloc(ORDER_WINDOW, sizeof(struct frame *));
        if (order->held == NULL) {
            log_fatal(EXIT_MEMORY, "no memory to hold messages back");
        }
    }
    order->held[sequence % ORDER_WINDOW] = frame;
    order->n_held++;
}

struct frame *order_delivered(struct order *order)
{
    struct frame **slot;
    struct frame *frame;

    order->next++;
    if (order->n_held == 0) {
        return NULL;
    }
    slot = &order->held[order->next % ORDER_WINDOW];
    frame = *slot;
    if (frame != NULL) {
        *slot = NULL;
        order->n_held--;
    }
    return frame;
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_INBOX_H
#define NET_INBOX_H

#include "net/frame.h"
#include "net/transport.h"

/*
 * What the transports have in common on their way in: frames are decoded,
 * counted, and given to the node; what a node sends to itself waits here for the
 * next progress().
 */
struct inbox {
    node_id self;
    net_receive_fn *receive;
    void *owner;
    struct net_counters counters;
    unsigned n_delivered; ///< messages, since the transport set it to 0
    struct {
        struct frame *first;
        struct frame *last;
    } to_self;
};

void inbox_init(struct inbox *inbox, node_id self, net_receive_fn *receive,
                void *owner);

/** Decode a frame and call receive(), or refuse it. */
void inbox_deliver(struct inbox *inbox, node_id from, const void *frame,
                   uint32_t size);

/** Count a frame that is not delivered, and log the first ones. */
void inbox_refuse(struct inbox *inbox, unsigned from, size_t size,
                  const char *why);

/** Queue a frame without a prefix for this node itself; takes it over. */
void inbox_send_to_self(struct inbox *inbox, struct frame *frame);

/** Deliver what this node has sent to itself until now, not what it sends
 * meanwhile. */
void inbox_deliver_to_self(struct inbox *inbox);

static inline int inbox_is_empty(const struct inbox *inbox)
{
    return inbox->to_self.first == NULL;
}

#endif

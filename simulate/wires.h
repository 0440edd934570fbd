// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIMULATE_WIRES_H
#define SIMULATE_WIRES_H

#include "net/message.h"
#include "simulate/events.h"

/*
 * The network of a simulated cluster: each node has one link, which sends and receives at
 * the same time, to a switch that never is full. Messages of two nodes stay in order.
 */
struct wires;

/** A node's link. */
struct wire_speed {
    double latency_s;   ///< of a message to any other node, without its bytes
    double bytes_per_s; ///< each way; > 0
};

/** What was sent of one kind. */
struct wire_count {
    uint64_t n;
    uint64_t bytes;
};

/** A message has come; it lives until the call returns. */
typedef void wires_receive_fn(void *owner, node_id to, node_id from,
                              const struct message *message);

/** @param speeds  [n_nodes]; copied
 *  @param jitter  each latency is longer by up to this part of it, by chance
 *  @return it; the process ends if memory is short */
struct wires *wires_new(struct events *events, unsigned n_nodes,
                        const struct wire_speed *speeds, double jitter,
                        wires_receive_fn *receive, void *owner);
/** Before the events, which have the messages on their way, are released. */
void wires_free(struct wires *wires);

/** Send a message to another node; it is copied. @return bytes, its head included */
uint32_t wires_send(struct wires *wires, node_id from, node_id to,
                    const struct message *message);

/** @return [MESSAGES_END] by type, what nodes have sent to other ones */
const struct wire_count *wires_counts(const struct wires *wires);

#endif

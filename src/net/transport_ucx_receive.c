// SPDX-License-Identifier: BSD-3-Clause
//
// The transport over UCX: what comes. ucx_frame_has_come() is called by UCX, inside
// progress(). Frames that are in order (net/order.h), nearly all of them, are decoded
// where UCX has them, or where they have been unsealed to; an early one is held.
//
// I1  A frame counts only on the wire that its sender's host is reached by: nobody
//     on the network can pass for a node of this host, whose frames are not
//     sealed. Nothing is done for a frame of the network before its seal is known
//     to be good, but to look at its number.
#include <string.h>

#include "net/transport_ucx_priv.h"

/** A frame that has come. */
struct arrival {
    struct peer *peer;
    uint64_t sequence;
    const uint8_t *text; ///< the message
    uint32_t size;
    struct frame *holder; ///< of the text; NULL: UCX has it
};

static struct peer *read_prefix(struct wire *wire, struct wire_reader *reader,
                                struct arrival *arrival)
{
    struct net *net = wire->net;
    node_id from;

    arrival->sequence = wire_get_u64(reader);
    from = wire_get_u16(reader);
    if (reader->failed || from >= net->n_nodes || from == net->inbox.self ||
        net->peers[from].wire != wire) { // I1
        return NULL;
    }
    arrival->text = reader->at;
    arrival->size = (uint32_t)(reader->end - reader->at);
    return &net->peers[from];
}

static void deliver_in_order(struct net *net, const struct arrival *arrival)
{
    struct peer *peer = arrival->peer;
    node_id from = (node_id)(peer - net->peers);
    struct frame *held;

    inbox_deliver(&net->inbox, from, arrival->text, arrival->size);
    if (arrival->holder != NULL) {
        frame_put(arrival->holder);
    }
    while ((held = order_delivered(&peer->order)) != NULL) {
        inbox_deliver(&net->inbox, from, held->bytes, held->size);
        frame_put(held);
    }
}

static void hold_back(struct net *net, const struct arrival *arrival)
{
    struct frame *held = arrival->holder;

    if (held == NULL) {
        held = frame_get(&net->pool, arrival->size);
        memcpy(held->bytes, arrival->text, arrival->size);
    }
    order_hold(&arrival->peer->order, arrival->sequence, held);
}

/** Unseal the message into a frame of its own. @return 0 if it is not genuine */
static int unseal(struct net *net, struct arrival *arrival, const void *prefix)
{
    const struct seal_frame frame = {arrival->sequence, prefix, PREFIX};
    node_id from = (node_id)(arrival->peer - net->peers);
    struct frame *text;

    if (arrival->size <= SEAL_TAG_SIZE) {
        return 0;
    }
    text = frame_get(&net->pool, arrival->size - SEAL_TAG_SIZE);
    if (seals_open(net->seals, from, &frame, arrival->text, arrival->size,
                   text->bytes) != TM_OK) {
        frame_put(text);
        return 0;
    }
    arrival->holder = text;
    arrival->text = text->bytes;
    arrival->size = text->size;
    return 1;
}

static void place_frame(struct wire *wire, const void *bytes, size_t size)
{
    struct wire_reader reader = wire_read(bytes, size);
    struct net *net = wire->net;
    struct arrival arrival = {0};
    enum order_place place;
    unsigned from;

    arrival.peer = read_prefix(wire, &reader, &arrival);
    if (arrival.peer == NULL) {
        inbox_refuse(&net->inbox, NODE_NONE, size, "it has no sender");
        return;
    }
    from = (unsigned)(arrival.peer - net->peers);
    place = order_place(&arrival.peer->order, arrival.sequence);
    if (place == ORDER_REFUSED) {
        inbox_refuse(&net->inbox, from, size, "it is out of order");
    } else if (wire->is_sealed && !unseal(net, &arrival, bytes)) {
        inbox_refuse(&net->inbox, from, size, "it is not genuine");
    } else if (place == ORDER_NEXT) {
        deliver_in_order(net, &arrival);
    } else {
        hold_back(net, &arrival);
    }
}

ucs_status_t ucx_frame_has_come(void *owner, const void *header,
                                size_t header_size, void *data, size_t size,
                                const ucp_am_recv_param_t *param)
{
    struct wire *wire = owner;
    struct net *net = wire->net;

    (void)header;
    if (net->is_closing) {
        return UCS_OK;
    }
    // All senders force eager protocols: such a one is no node.
    if (header_size != 0 || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) ||
        size <= PREFIX || size > FRAME_MAX) {
        inbox_refuse(&net->inbox, NODE_NONE, size, "it is no frame");
        return UCS_OK;
    }
    place_frame(wire, data, size);
    return UCS_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The transport within a host: what comes. ucx_frame_has_come() is called by UCX,
// inside progress(). Frames that are in order (net/order.h), nearly all of them, are
// decoded where UCX has them; an early one is held.
//
// I1  A frame counts only if its sender is on this host: nobody else has the memory
//     that it comes by.
#include <string.h>

#include "net/transport_ucx_priv.h"

/** A frame that has come. */
struct arrival {
    struct peer *peer;
    uint64_t sequence;
    const uint8_t *text; ///< the message; UCX has it
    uint32_t size;
};

static struct peer *read_prefix(struct net *net, struct wire_reader *reader,
                                struct arrival *arrival)
{
    node_id from;

    arrival->sequence = wire_get_u64(reader);
    from = wire_get_u16(reader);
    if (reader->failed || from >= net->n_nodes || from == net->inbox.self ||
        net->peers[from].reach != REACH_HERE) { // I1
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
    while (peer->reach == REACH_HERE &&
           (held = order_delivered(&peer->order)) != NULL) {
        inbox_deliver(&net->inbox, from, held->bytes, held->size);
        frame_put(held);
    }
}

static void hold_back(struct net *net, const struct arrival *arrival)
{
    struct frame *held = frame_get(&net->pool, arrival->size);

    memcpy(held->bytes, arrival->text, arrival->size);
    order_hold(&arrival->peer->order, arrival->sequence, held);
}

static void place_frame(struct net *net, const void *bytes, size_t size)
{
    struct wire_reader reader = wire_read(bytes, size);
    struct arrival arrival = {0};

    arrival.peer = read_prefix(net, &reader, &arrival);
    if (arrival.peer == NULL) {
        inbox_refuse(&net->inbox, NODE_NONE, size, "it has no sender");
        return;
    }
    switch (order_place(&arrival.peer->order, arrival.sequence)) {
    case ORDER_NEXT:
        deliver_in_order(net, &arrival);
        break;
    case ORDER_EARLY:
        hold_back(net, &arrival);
        break;
    case ORDER_REFUSED:
        inbox_refuse(&net->inbox, (unsigned)(arrival.peer - net->peers), size,
                     "it is out of order");
        break;
    }
}

ucs_status_t ucx_frame_has_come(void *owner, const void *header,
                                size_t header_size, void *data, size_t size,
                                const ucp_am_recv_param_t *param)
{
    struct wire *wire = owner;
    struct net *net = wire->owner;

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
    place_frame(net, data, size);
    return UCS_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The transport over UCX active messages.
//
// A frame on the way to another node:
//
//     sequence u32, sender u16, message (net/message.h)
//
// send() encodes it into a frame of the pool and hands that to UCX, always by an
// eager protocol: those need nothing of the receiver but room, so a node that
// computes or waits never holds up a sender, and no other process reads this
// one's memory. If UCX cannot send at once, it keeps the frame and calls
// frame_is_sent() later, from progress().
//
// frame_has_come() is called by UCX, inside progress(). Frames that are in order
// (net/order.h), nearly all of them, are decoded where UCX has them; an early
// one is copied and held.
//
// I1  progress() is not called inside progress(): `is_in_progress`.
// I2  A lost node (`is_lost`) is sent nothing more. This happens when UCX sees a
//     connection break; over shared memory it never does. Who is alive is
//     decided elsewhere.
// I3  Whoever has been sent something is rung (net/bell.h) when all of it is where
//     that node finds it. A long frame goes in pieces, of which only so many
//     have room: while one is not sent, its receiver is rung after each step.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "net/address.h"
#include "net/bell.h"
#include "net/inbox.h"
#include "net/order.h"
#include "net/transport.h"
#include "net/ucx.h"

/** The number of our active messages. */
#define FRAME_AM 1

/** Bytes in front of a message: sequence, sender. */
#define PREFIX 6u

/** How often progress() lets UCX look, at most: other work must get its turn. */
#define N_LOOKS 32

/** How long close() waits for frames to leave. */
#define CLOSE_NS 100000000u

struct peer {
    ucp_ep_h endpoint; ///< NULL: not connected
    uint32_t sent;     ///< the sequence number of the next frame to it
    int is_lost;
    struct rope rope;   ///< wakes it
    struct order order; ///< of the frames from it
    struct net *net;    ///< for UCX's error handler
};

struct net {
    struct ucx ucx;
    ucp_context_h context;
    ucp_worker_h worker;
    unsigned n_nodes;
    uint8_t *address;
    size_t address_size;
    struct bell *bell;  ///< NULL: UCX wakes this node
    int sleeps_by_bell; ///< armed so
    struct frame_pool pool;
    struct inbox inbox;
    unsigned n_unsent; ///< frames that UCX keeps until there is room for them
    int is_in_progress;
    int is_closing;      ///< what comes is dropped
    struct peer peers[]; ///< [n_nodes]; that of self is not used
};

// ---- receiving ----

static struct peer *peer_of_frame(struct net *net, struct wire_reader *reader,
                                  uint32_t *sequence)
{
    node_id from;

    *sequence = wire_get_u32(reader);
    from = wire_get_u16(reader);
    if (reader->failed || from >= net->n_nodes || from == net->inbox.self) {
        return NULL;
    }
    return &net->peers[from];
}

static void deliver_in_order(struct net *net, struct peer *peer,
                             const struct wire_reader *frame)
{
    node_id from = (node_id)(peer - net->peers);
    struct frame *held;

    inbox_deliver(&net->inbox, from, frame->at,
                  (uint32_t)(frame->end - frame->at));
    while ((held = order_delivered(&peer->order)) != NULL) {
        inbox_deliver(&net->inbox, from, held->bytes, held->size);
        frame_put(held);
    }
}

static void hold_back(struct net *net, struct peer *peer, uint32_t sequence,
                      const struct wire_reader *frame)
{
    uint32_t size = (uint32_t)(frame->end - frame->at);
    struct frame *held = frame_get(&net->pool, size);

    memcpy(held->bytes, frame->at, size);
    order_hold(&peer->order, sequence, held);
}

static void place_frame(struct net *net, struct wire_reader *frame)
{
    size_t size = (size_t)(frame->end - frame->at);
    uint32_t sequence;
    struct peer *peer = peer_of_frame(net, frame, &sequence);

    if (peer == NULL) {
        inbox_refuse(&net->inbox, NODE_NONE, size, "it has no sender");
        return;
    }
    switch (order_place(&peer->order, sequence)) {
    case ORDER_NEXT:
        deliver_in_order(net, peer, frame);
        break;
    case ORDER_EARLY:
        hold_back(net, peer, sequence, frame);
        break;
    case ORDER_REFUSED:
        inbox_refuse(&net->inbox, (unsigned)(peer - net->peers), size,
                     "it is out of order");
        break;
    }
}

static ucs_status_t frame_has_come(void *owner, const void *header,
                                   size_t header_size, void *data, size_t size,
                                   const ucp_am_recv_param_t *param)
{
    struct net *net = owner;
    struct wire_reader reader = {
        .at = data,
        .end = (const uint8_t *)data + size,
    };

    (void)header;
    if (net->is_closing) {
        return UCS_OK;
    }
    // All senders force eager protocols: such a one is no node.
    if (header_size != 0 || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) ||
        size <= PREFIX ||
        size > PREFIX + MESSAGE_HEADER_MAX + MESSAGE_BODY_MAX) {
        inbox_refuse(&net->inbox, NODE_NONE, size, "it is no frame");
        return UCS_OK;
    }
    place_frame(net, &reader);
    return UCS_OK;
}

// ---- sending ----

static struct net *net_of_frame(struct frame *frame)
{
    return (struct net *)((char *)frame->pool - offsetof(struct net, pool));
}

static void frame_is_sent(void *request, ucs_status_t status, void *owner)
{
    struct frame *frame = owner;
    struct net *net = net_of_frame(frame);

    (void)status; // an error is told to endpoint_has_failed(), too
    net->ucx.ucp_request_free(request);
    net->n_unsent--;
    rope_pull(&net->peers[frame->to].rope);
    frame_put(frame);
}

static void lose_peer(struct peer *peer, ucs_status_t status)
{
    if (!peer->is_lost) {
        peer->is_lost = 1;
        log_debug("the connection to node %u is lost: %s",
                  (unsigned)(peer - peer->net->peers),
                  peer->net->ucx.ucs_status_string(status));
    }
}

static void endpoint_has_failed(void *owner, ucp_ep_h endpoint,
                                ucs_status_t status)
{
    (void)endpoint;
    lose_peer(owner, status);
}

static void hand_to_ucx(struct net *net, struct peer *peer, struct frame *frame)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = frame_is_sent,
        .user_data = frame,
    };
    void *request = net->ucx.ucp_am_send_nbx(peer->endpoint, FRAME_AM, NULL, 0,
                                             frame->bytes, frame->size, &param);

    if (UCS_PTR_IS_PTR(request)) {
        net->n_unsent++; // its first pieces may have gone: I3
        rope_pull(&peer->rope);
        return;
    }
    if (UCS_PTR_IS_ERR(request)) {
        lose_peer(peer, UCS_PTR_STATUS(request));
    }
    rope_pull(&peer->rope);
    frame_put(frame);
}

static void send_to_peer(struct net *net, struct peer *peer,
                         const struct message *message)
{
    struct frame *frame;
    struct wire_writer prefix;

    ensure(peer->endpoint != NULL);
    if (peer->is_lost) {
        return;
    }
    frame = frame_encode(&net->pool, PREFIX, message);
    prefix = (struct wire_writer){
        .at = frame->bytes,
        .end = frame->bytes + PREFIX,
    };
    wire_put_u32(&prefix, peer->sent++);
    wire_put_u16(&prefix, net->inbox.self);
    frame->to = (node_id)(peer - net->peers);
    net->inbox.counters.messages_sent++;
    net->inbox.counters.bytes_sent += frame->size - PREFIX;
    hand_to_ucx(net, peer, frame);
}

static void ucx_send(struct net *net, node_id to, const struct message *message)
{
    ensure(to < net->n_nodes);
    if (to == net->inbox.self) {
        inbox_send_to_self(&net->inbox, frame_encode(&net->pool, 0, message));
    } else {
        send_to_peer(net, &net->peers[to], message);
    }
}

// ---- opening and connecting ----

static void wrap(struct net *net, const void *address, size_t size)
{
    uint8_t *bytes = malloc(size + BELL_BYTES);

    net->address_size = address_wrapped_size(size + BELL_BYTES);
    net->address = malloc(net->address_size);
    if (bytes == NULL || net->address == NULL) {
        log_error("no memory for the transport's address");
        free(net->address);
        net->address = NULL;
    } else {
        memcpy(bytes, address, size);
        bell_describe(net->bell, bytes + size);
        address_wrap(bytes, size + BELL_BYTES, net->address);
    }
    free(bytes);
}

static tm_status make_address(struct net *net)
{
    ucp_address_t *address;
    size_t size;
    ucs_status_t result =
        net->ucx.ucp_worker_get_address(net->worker, &address, &size);

    if (result != UCS_OK) {
        log_error("cannot get an address from UCX: %s",
                  net->ucx.ucs_status_string(result));
        return TM_ESYSTEM;
    }
    wrap(net, address, size);
    net->ucx.ucp_worker_release_address(net->worker, address);
    return net->address != NULL ? TM_OK : TM_ESYSTEM;
}

static tm_status listen_for_frames(struct net *net)
{
    const ucp_am_handler_param_t param = {
        .field_mask =
            UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
            UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = FRAME_AM,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = frame_has_come,
        .arg = net,
    };
    ucs_status_t result =
        net->ucx.ucp_worker_set_am_recv_handler(net->worker, &param);

    if (result != UCS_OK) {
        log_error("UCX takes no handler for messages: %s",
                  net->ucx.ucs_status_string(result));
        return TM_ESYSTEM;
    }
    return TM_OK;
}

static struct net *new_net(node_id self, unsigned n_nodes,
                           net_receive_fn *receive, void *owner)
{
    struct net *net = calloc(1, sizeof *net + n_nodes * sizeof(struct peer));

    if (net == NULL) {
        log_error("no memory for the transport");
        return NULL;
    }
    net->n_nodes = n_nodes;
    frame_pool_init(&net->pool);
    inbox_init(&net->inbox, self, receive, owner);
    for (unsigned i = 0; i < n_nodes; i++) {
        net->peers[i].net = net;
        order_init(&net->peers[i].order);
    }
    return net;
}

static tm_status ucx_open(struct net **net, node_id self, unsigned n_nodes,
                          net_receive_fn *receive, void *owner)
{
    struct net *made = new_net(self, n_nodes, receive, owner);
    tm_status status = TM_ESYSTEM;
    int is_local = ucx_is_local();

    if (made == NULL) {
        return TM_ESYSTEM;
    }
    made->bell = is_local ? bell_new() : NULL;
    status =
        ucx_open_worker(&made->ucx, n_nodes, &made->context, &made->worker);
    if (status != TM_OK) {
        goto free_net;
    }
    status = listen_for_frames(made);
    if (status == TM_OK) {
        status = make_address(made);
    }
    if (status != TM_OK) {
        goto close_worker;
    }
    *net = made;
    return TM_OK;

close_worker:
    made->ucx.ucp_worker_destroy(made->worker);
    made->ucx.ucp_cleanup(made->context);
free_net:
    bell_free(made->bell);
    free(made);
    return status;
}

static void ucx_address(struct net *net, const void **bytes, size_t *size)
{
    *bytes = net->address;
    *size = net->address_size;
}

static tm_status connect_peer(struct net *net, struct peer *peer,
                              const void *address, size_t size, char *why,
                              size_t room)
{
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address_unwrap(address, size),
        .err_mode = UCP_ERR_HANDLING_MODE_NONE,
        .err_handler = {.cb = endpoint_has_failed, .arg = peer},
    };
    unsigned number = (unsigned)(peer - net->peers);
    ucs_status_t result;

    if (params.address == NULL) {
        snprintf(why, room, "the address of node %u is malformed", number);
        return TM_EWIRE;
    }
    result = net->ucx.ucp_ep_create(net->worker, &params, &peer->endpoint);
    if (result != UCS_OK) {
        peer->endpoint = NULL;
        snprintf(why, room,
                 "cannot connect to node %u: %s; UCX_TLS must be the same on "
                 "all nodes, UCX_LOG_LEVEL=info says more",
                 number, net->ucx.ucs_status_string(result));
        return TM_EPEER;
    }
    if (net->bell != NULL && size > BELL_BYTES) {
        rope_take(&peer->rope, (const uint8_t *)address + size - BELL_BYTES);
    }
    return TM_OK;
}

static tm_status ucx_connect(struct net *net, const void *const *addresses,
                             const size_t *sizes, char *why, size_t room)
{
    for (unsigned i = 0; i < net->n_nodes; i++) {
        tm_status status;

        if (i == net->inbox.self) {
            continue;
        }
        status = connect_peer(net, &net->peers[i], addresses[i], sizes[i], why,
                              room);
        if (status != TM_OK) {
            return status;
        }
    }
    return TM_OK;
}

// ---- progress and sleep ----

// I3
static void ring_if_unsent(const struct net *net)
{
    for (unsigned i = 0; net->n_unsent > 0 && i < net->n_nodes; i++) {
        rope_pull(&net->peers[i].rope);
    }
}

static unsigned ucx_progress(struct net *net)
{
    unsigned looks = 0;

    ensure(!net->is_in_progress);
    net->is_in_progress = 1;
    net->inbox.n_delivered = 0;
    inbox_deliver_to_self(&net->inbox);
    while (net->ucx.ucp_worker_progress(net->worker) != 0 &&
           ++looks < N_LOOKS) {
    }
    ring_if_unsent(net);
    net->is_in_progress = 0;
    return net->inbox.n_delivered;
}

static int ucx_is_rung(const struct net *net)
{
    return bell_is_rung_by(net->bell, net->n_nodes - 1);
}

static int ucx_arm(struct net *net)
{
    if (!inbox_is_empty(&net->inbox)) {
        return 0;
    }
    net->sleeps_by_bell = ucx_is_rung(net);
    if (net->sleeps_by_bell) {
        bell_arm(net->bell);
        return ucx_progress(net) == 0 && inbox_is_empty(&net->inbox);
    }
    return net->ucx.ucp_worker_arm(net->worker) == UCS_OK;
}

static void ucx_look(struct net *net, int is_looking)
{
    if (net->bell != NULL) {
        bell_look(net->bell, is_looking);
    }
}

static unsigned ucx_n_unsent(const struct net *net)
{
    return net->n_unsent;
}

static int ucx_wait_fd(struct net *net)
{
    int fd = -1;

    if (net->sleeps_by_bell) {
        return bell_fd(net->bell);
    }
    if (net->ucx.ucp_worker_get_efd(net->worker, &fd) != UCS_OK) {
        return -1;
    }
    return fd;
}

// ---- closing ----

static void push_out(struct net *net)
{
    const ucp_request_param_t param = {0};
    void *request = net->ucx.ucp_worker_flush_nbx(net->worker, &param);
    uint64_t deadline = clock_now_ns() + CLOSE_NS;

    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    while (net->ucx.ucp_request_check_status(request) == UCS_INPROGRESS &&
           clock_now_ns() < deadline) {
        net->ucx.ucp_worker_progress(net->worker);
        ring_if_unsent(net);
    }
    net->ucx.ucp_request_free(request);
}

static void ucx_close(struct net *net)
{
    net->is_closing = 1;
    push_out(net);
    net->ucx.ucp_worker_destroy(net->worker);
    net->ucx.ucp_cleanup(net->context);
    for (unsigned i = 0; i < net->n_nodes; i++) {
        order_release(&net->peers[i].order);
        rope_drop(&net->peers[i].rope);
    }
    bell_free(net->bell);
    frame_pool_release(&net->pool);
    free(net->address);
    free(net);
}

static void ucx_counters(struct net *net, struct net_counters *counters)
{
    *counters = net->inbox.counters;
}

const struct transport transport_ucx = {
    .name = "ucx",
    .open = ucx_open,
    .address = ucx_address,
    .connect = ucx_connect,
    .send = ucx_send,
    .progress = ucx_progress,
    .arm = ucx_arm,
    .look = ucx_look,
    .is_rung = ucx_is_rung,
    .n_unsent = ucx_n_unsent,
    .wait_fd = ucx_wait_fd,
    .close = ucx_close,
    .counters = ucx_counters,
};

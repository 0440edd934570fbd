// SPDX-License-Identifier: BSD-3-Clause
//
// The transport over UCX active messages.
//
// A frame on the way to another node:
//
//     sequence u64, sender u16, message (net/message.h)
//
// A node has up to two wires (net/ucx_wire.h), UCX workers of its own: one for the
// nodes of its host, over shared memory, and one for all others, over the network,
// where the message is sealed and 16 bytes longer (net/seal.h). A run on one host has
// no second wire: nothing listens.
//
// send() encodes a message into a frame of the pool and hands that to UCX, always
// by an eager protocol: those need nothing of the receiver but room, so a node that
// computes or waits never holds up a sender, and no other process reads this
// one's memory. If UCX cannot send at once, it keeps the frame and calls
// frame_is_sent() later, from progress().
//
// I1  progress() is not called inside progress(): `is_in_progress`.
// I2  A lost node (`is_lost`) is sent nothing more. This happens when UCX sees a
//     connection break; over shared memory it never does. Who is alive is
//     decided elsewhere.
// I3  A node of this host that has been sent something is rung (net/bell.h) when all
//     of it is where that node finds it. A long frame goes in pieces, of which only
//     so many have room: while one is not sent, its receiver is rung after each step.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "net/transport_ucx_priv.h"

/** How often progress() lets UCX look, at most: other work must get its turn. */
#define N_LOOKS 32

/** How long close() waits for frames to leave. */
#define CLOSE_NS 100000000u

// ---- sending ----

struct wire *ucx_any_wire(struct net *net)
{
    return net->wires[WITHIN_HOST] != NULL ? net->wires[WITHIN_HOST]
                                           : net->wires[BETWEEN_HOSTS];
}

static struct net *net_of_frame(struct frame *frame)
{
    return (struct net *)((char *)frame->pool - offsetof(struct net, pool));
}

static void frame_is_sent(void *request, ucs_status_t status, void *owner)
{
    struct frame *frame = owner;
    struct net *net = net_of_frame(frame);

    (void)status; // an error is told to endpoint_has_failed(), too
    ucx_any_wire(net)->ucx.ucp_request_free(request);
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
                  peer->wire->ucx.ucs_status_string(status));
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
    void *request = peer->wire->ucx.ucp_am_send_nbx(
        peer->endpoint, WIRE_AM, NULL, 0, frame->bytes, frame->size, &param);

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

/** Write what is in front of a message, and seal it if it goes to another host. */
static void finish_frame(struct net *net, struct peer *peer,
                         struct frame *frame, uint32_t tail)
{
    const struct seal_frame place = {peer->sent, frame->bytes, PREFIX};
    struct wire_writer prefix = {
        .at = frame->bytes,
        .end = frame->bytes + PREFIX,
    };

    wire_put_u64(&prefix, peer->sent);
    wire_put_u16(&prefix, net->inbox.self);
    if (peer->wire->is_sealed) {
        seals_seal(net->seals, (node_id)(peer - net->peers), &place,
                   frame->bytes + PREFIX, frame->size - PREFIX - tail);
    }
    peer->sent++;
}

static void send_to_peer(struct net *net, struct peer *peer,
                         const struct message *message)
{
    struct frame *frame;
    uint32_t tail;

    ensure(peer->endpoint != NULL);
    if (peer->is_lost) {
        return;
    }
    tail = peer->wire->is_sealed ? SEAL_TAG_SIZE : 0;
    frame = frame_encode(&net->pool, PREFIX, tail, message);
    net->inbox.counters.messages_sent++;
    net->inbox.counters.bytes_sent += frame->size - PREFIX - tail;
    finish_frame(net, peer, frame, tail);
    frame->to = (node_id)(peer - net->peers);
    hand_to_ucx(net, peer, frame);
}

static void ucx_send(struct net *net, node_id to, const struct message *message)
{
    ensure(to < net->n_nodes);
    if (to == net->inbox.self) {
        inbox_send_to_self(&net->inbox,
                           frame_encode(&net->pool, 0, 0, message));
    } else {
        send_to_peer(net, &net->peers[to], message);
    }
}

// ---- opening and connecting ----

static tm_status make_address(struct net *net)
{
    struct address_parts parts = {0};

    for (unsigned i = 0; i < N_WIRES; i++) {
        if (net->wires[i] != NULL) {
            parts.bytes[i] = net->wires[i]->address;
            parts.size[i] = net->wires[i]->address_size;
        }
    }
    net->address_size = address_joined_size(&parts);
    net->address = malloc(net->address_size);
    if (net->address == NULL) {
        log_error("no memory for the transport's address");
        return TM_ESYSTEM;
    }
    address_join(&parts, net->address);
    return TM_OK;
}

static tm_status open_wire(struct net *net, unsigned which,
                           const struct ucx_request *request)
{
    struct wire *wire = &net->room[which];
    tm_status status;

    wire->net = net;
    wire->is_sealed = which == BETWEEN_HOSTS;
    if (ucx_is_local(request)) {
        net->bell = bell_new();
        wire->bell = net->bell;
    }
    status = wire_open(wire, request, ucx_frame_has_come);
    if (status == TM_OK) {
        net->wires[which] = wire;
    }
    return status;
}

static tm_status open_wires(struct net *net, const struct net_config *config)
{
    struct ucx_request request = {
        .reach = config->device == NULL ? UCX_ONE_HOST : UCX_WITHIN_HOST,
        .n_nodes = config->n_nodes,
    };
    tm_status status = TM_OK;

    if (config->device == NULL || config->n_here > 1) {
        status = open_wire(net, WITHIN_HOST, &request);
    }
    if (status == TM_OK && config->device != NULL) {
        request.reach = UCX_BETWEEN_HOSTS;
        request.device = config->device;
        status = open_wire(net, BETWEEN_HOSTS, &request);
    }
    return status;
}

static struct net *new_net(const struct net_config *config)
{
    struct net *net =
        calloc(1, sizeof *net + config->n_nodes * sizeof(struct peer));

    if (net == NULL) {
        log_error("no memory for the transport");
        return NULL;
    }
    net->n_nodes = config->n_nodes;
    net->n_here = config->n_here;
    net->joined_fd = net->joined_bell_fd = -1;
    frame_pool_init(&net->pool);
    inbox_init(&net->inbox, config->self, config->receive, config->owner);
    for (unsigned i = 0; i < net->n_nodes; i++) {
        net->peers[i].net = net;
        order_init(&net->peers[i].order);
    }
    return net;
}

static void close_if_open(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void free_net(struct net *net)
{
    for (unsigned i = 0; i < N_WIRES; i++) {
        if (net->wires[i] != NULL) {
            wire_close(net->wires[i]);
        }
    }
    for (unsigned i = 0; i < net->n_nodes; i++) {
        order_release(&net->peers[i].order);
        rope_drop(&net->peers[i].rope);
    }
    close_if_open(net->joined_fd);
    close_if_open(net->joined_bell_fd);
    bell_free(net->bell);
    frame_pool_release(&net->pool);
    seals_free(net->seals);
    free(net->address);
    free(net);
}

static tm_status ucx_open(struct net **net, const struct net_config *config)
{
    struct net *made = new_net(config);
    tm_status status;

    if (made == NULL) {
        return TM_ESYSTEM;
    }
    status = open_wires(made, config);
    if (status == TM_OK) {
        status = ucx_join_networks(made);
    }
    if (status == TM_OK) {
        status = make_address(made);
    }
    if (status != TM_OK) {
        free_net(made);
        return status;
    }
    *net = made;
    return TM_OK;
}

static void ucx_address(struct net *net, const void **bytes, size_t *size)
{
    *bytes = net->address;
    *size = net->address_size;
}

static tm_status connect_wire(struct peer *peer, const void *address,
                              size_t size, char *why, size_t room)
{
    const ucp_err_handler_t failed = {.cb = endpoint_has_failed, .arg = peer};
    unsigned number = (unsigned)(peer - peer->net->peers);
    ucs_status_t result;
    tm_status status = wire_connect(peer->wire, address, size, &failed,
                                    &peer->endpoint, &result);

    if (status == TM_EWIRE) {
        snprintf(why, room, "the address of node %u is malformed", number);
    } else if (status != TM_OK) {
        snprintf(why, room,
                 "cannot connect to node %u: %s; UCX_TLS must be the same on "
                 "all nodes, UCX_LOG_LEVEL=info says more",
                 number, peer->wire->ucx.ucs_status_string(result));
    } else if (peer->wire->bell != NULL) {
        rope_take(&peer->rope, (const uint8_t *)address + size - BELL_BYTES);
    }
    return status;
}

static tm_status connect_peer(struct net *net, struct peer *peer,
                              const struct net_place *place, char *why,
                              size_t room)
{
    unsigned which = place->is_elsewhere ? BETWEEN_HOSTS : WITHIN_HOST;
    unsigned number = (unsigned)(peer - net->peers);
    struct address_parts parts;

    if (address_split(place->address, place->size, &parts) != TM_OK) {
        snprintf(why, room, "the address of node %u is malformed", number);
        return TM_EWIRE;
    }
    peer->wire = net->wires[which];
    if (peer->wire == NULL || parts.size[which] == 0) {
        snprintf(why, room, "node %u cannot be reached from this host", number);
        return TM_EPEER;
    }
    return connect_wire(peer, parts.bytes[which], parts.size[which], why, room);
}

static tm_status make_seals(struct net *net, const uint8_t *job_key, char *why,
                            size_t room)
{
    tm_status status = TM_OK;

    if (net->wires[BETWEEN_HOSTS] != NULL) {
        ensure(job_key != NULL);
        status = seals_new(&net->seals, job_key, net->inbox.self, net->n_nodes);
        if (status != TM_OK) {
            snprintf(why, room, "nothing can be encrypted here");
        }
    }
    return status;
}

static tm_status ucx_connect(struct net *net, const struct net_place *places,
                             const uint8_t *job_key, char *why, size_t room)
{
    tm_status status = make_seals(net, job_key, why, room);

    for (unsigned i = 0; i < net->n_nodes && status == TM_OK; i++) {
        if (i != net->inbox.self) {
            status = connect_peer(net, &net->peers[i], &places[i], why, room);
        }
    }
    return status;
}

// ---- progress ----

/** @return 0 if no wire had anything to do */
static unsigned progress_wires(struct net *net)
{
    unsigned n_done = 0;

    for (unsigned i = 0; i < N_WIRES; i++) {
        struct wire *wire = net->wires[i];

        if (wire != NULL) {
            n_done += wire->ucx.ucp_worker_progress(wire->worker);
        }
    }
    return n_done;
}

// I3
static void ring_if_unsent(const struct net *net)
{
    for (unsigned i = 0; net->n_unsent > 0 && i < net->n_nodes; i++) {
        rope_pull(&net->peers[i].rope);
    }
}

unsigned ucx_progress(struct net *net)
{
    unsigned looks = 0;

    ensure(!net->is_in_progress);
    net->is_in_progress = 1;
    net->inbox.n_delivered = 0;
    inbox_deliver_to_self(&net->inbox);
    while (progress_wires(net) != 0 && ++looks < N_LOOKS) {
    }
    ring_if_unsent(net);
    net->is_in_progress = 0;
    return net->inbox.n_delivered;
}

static unsigned ucx_n_unsent(const struct net *net)
{
    return net->n_unsent;
}

// ---- closing ----

static void push_out(struct net *net, const struct wire *wire,
                     uint64_t deadline_ns)
{
    const ucp_request_param_t param = {0};
    void *request = wire->ucx.ucp_worker_flush_nbx(wire->worker, &param);

    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    while (wire->ucx.ucp_request_check_status(request) == UCS_INPROGRESS &&
           clock_now_ns() < deadline_ns) {
        wire->ucx.ucp_worker_progress(wire->worker);
        ring_if_unsent(net);
    }
    wire->ucx.ucp_request_free(request);
}

static void ucx_close(struct net *net)
{
    uint64_t deadline_ns = clock_now_ns() + CLOSE_NS;

    net->is_closing = 1;
    for (unsigned i = 0; i < N_WIRES; i++) {
        if (net->wires[i] != NULL) {
            push_out(net, net->wires[i], deadline_ns);
        }
    }
    free_net(net);
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

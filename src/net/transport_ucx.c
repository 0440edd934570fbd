// SPDX-License-Identifier: BSD-3-Clause
//
// The transport of a cluster: UCX active messages between the nodes of one host, over
// shared memory, and a wire between hosts (net/between.h): TCP, or UCX again. A run on
// one host has no such wire: nothing listens. When a node of another host joins, the others
// have it from then on, by which they connect to it (ucx_widen): they do not listen
// either. A node alone has neither. Here are the part within a host and what joins the two.
//
// A frame on the way to another node of this host:
//
//     sequence u64, sender u16, message (net/message.h)
//
// send() encodes a message into a frame of the pool and hands that to UCX, always
// by an eager protocol: those need nothing of the receiver but room, so a node that
// computes or waits never holds up a sender, and no other process reads this
// one's memory. If UCX cannot send at once, it keeps the frame and calls
// frame_is_sent() later, from progress().
//
// I1  progress() is not called inside progress(): `is_in_progress`.
// I2  A lost node (`is_lost`) is sent nothing more. A node of this host is lost when it
//     cannot be connected with (transport_ucx_peer.c), or when UCX sees a connection break;
//     over shared memory it does only where it has to map more of the other's and cannot.
//     Who is alive is decided elsewhere.
// I3  A node of this host that has been sent something is rung (net/doorbell.h) when all
//     of it is where that node finds it. A long frame goes in pieces, of which only
//     so many have room: while one is not sent, its receiver is rung after each step by
//     which something may have gone. Nobody else is, and no step means no ring: who is
//     rung for nothing polls, finds nothing, sleeps and can be rung again, so all nodes
//     of a host would keep each other awake.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "net/transport_ucx_priv.h"
#include "os/descriptor.h"

/** How often progress() lets UCX poll, at most: other work must get its turn. */
#define N_POLLS 32

/** How long close() waits for frames to leave. */
#define CLOSE_NS 100000000u

// ---- sending ----

static struct net *net_of_frame(struct frame *frame)
{
    return (struct net *)((char *)frame->pool - offsetof(struct net, pool));
}

static void ring_peer(struct net *net, const struct peer *peer)
{
    net->inbox.counters.rings += (unsigned)doorbell_ring(&peer->doorbell);
}

static void frame_is_sent(void *request, ucs_status_t status, void *owner)
{
    struct frame *frame = owner;
    struct net *net = net_of_frame(frame);
    struct peer *peer = &net->peers[frame->to];

    (void)status; // of an error the endpoint's handler is told, too
    net->wire->ucx.ucp_request_free(request);
    peer->n_unsent--;
    net->n_unsent -= !peer->is_lost;
    ring_peer(net, peer);
    frame_put(frame);
}

static void hand_to_ucx(struct net *net, struct peer *peer, struct frame *frame)
{
    void *request = wire_send(net->wire, peer->endpoint, frame, frame_is_sent);

    if (UCS_PTR_IS_PTR(request)) {
        peer->n_unsent++; // its first pieces may have gone: I3
        net->n_unsent++;
        ring_peer(net, peer);
        return;
    }
    if (UCS_PTR_IS_ERR(request)) {
        ucx_peer_lose(peer, UCS_PTR_STATUS(request));
    }
    ring_peer(net, peer);
    frame_put(frame);
}

static void send_within_host(struct net *net, node_id to,
                             const struct message *message)
{
    struct peer *peer = &net->peers[to];
    struct frame *frame;
    struct wire_writer prefix;

    if (peer->is_lost || (peer->endpoint == NULL && !ucx_peer_connect(peer))) {
        return;
    }
    frame = frame_encode(&net->pool, PREFIX, 0, message);
    net->inbox.counters.messages_sent++;
    net->inbox.counters.bytes_sent += frame->size - PREFIX;
    prefix = (struct wire_writer){frame->bytes, frame->bytes + PREFIX, 0};
    wire_put_u64(&prefix, peer->sent++);
    wire_put_u16(&prefix, net->inbox.self);
    frame->to = to;
    hand_to_ucx(net, peer, frame);
}

static void ucx_send(struct net *net, node_id to, const struct message *message)
{
    ensure(to < net->n_nodes);
    if (to == net->inbox.self) {
        inbox_send_to_self(&net->inbox,
                           frame_encode(&net->pool, 0, 0, message));
        return;
    }
    switch (net->peers[to].reach) {
    case REACH_HERE:
        send_within_host(net, to, message);
        break;
    case REACH_ELSEWHERE:
        net->between->send(net->far, to, message);
        break;
    case REACH_NONE:
        break;
    }
}

// ---- opening and connecting ----

/** The parts of this node's address. @param[out] place  [BETWEEN_PLACE_MAX] is used for one */
static struct address_parts own_parts(const struct net *net, uint8_t *place)
{
    struct address_parts parts = {0};

    if (net->wire != NULL) {
        parts.bytes[ADDRESS_WITHIN_HOST] = net->wire->address;
        parts.size[ADDRESS_WITHIN_HOST] = net->wire->address_size;
    }
    if (net->far != NULL) {
        parts.bytes[ADDRESS_BETWEEN_HOSTS] = place;
        parts.size[ADDRESS_BETWEEN_HOSTS] =
            net->between->address(net->far, place);
    }
    return parts;
}

static tm_status make_address(struct net *net)
{
    uint8_t place[BETWEEN_PLACE_MAX];
    struct address_parts parts = own_parts(net, place);

    net->address_size = address_joined_size(&parts);
    net->address = malloc(net->address_size);
    if (net->address == NULL) {
        log_error("no memory for the transport's address");
        return TM_ENOMEM;
    }
    address_join(&parts, net->address);
    return TM_OK;
}

static tm_status open_within_host(struct net *net,
                                  const struct net_config *config)
{
    const struct ucx_request request = {
        .reach = config->device == NULL ? UCX_ONE_HOST : UCX_WITHIN_HOST,
        .n_nodes = config->n_here,
        .has_drivers = net->between->needs_drivers,
    };
    tm_status status;

    net->wire_room.owner = net;
    net->connects_late = ucx_is_local(request.reach);
    if (net->connects_late) {
        net->doorbell = doorbell_new();
        net->wire_room.doorbell = net->doorbell;
    }
    status = wire_open(&net->wire_room, &request, ucx_frame_has_come);
    if (status == TM_OK) {
        net->wire = &net->wire_room;
    }
    return status;
}

static tm_status open_wires(struct net *net, const struct net_config *config)
{
    tm_status status = TM_OK;

    if (config->n_here > (config->device != NULL)) {
        status = open_within_host(net, config);
    }
    if (status == TM_OK && config->device != NULL) {
        status = net->between->open(&net->far, config, &net->inbox, &net->pool);
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
    net->between = config->between != NULL ? config->between : &between_tcp;
    net->n_nodes = config->n_nodes;
    net->joined_fd = -1;
    net->joined_doorbell_fd = -1;
    net->event = config->event;
    frame_pool_init(&net->pool);
    inbox_init(&net->inbox, config->self, config->receive, config->owner);
    for (unsigned i = 0; i < net->n_nodes; i++) {
        net->peers[i].net = net;
        order_init(&net->peers[i].order);
    }
    return net;
}

static void free_net(struct net *net)
{
    if (net->wire != NULL) {
        wire_close(net->wire);
    }
    for (unsigned i = 0; i < net->n_nodes; i++) {
        order_release(&net->peers[i].order);
        doorbell_detach(&net->peers[i].doorbell);
        free(net->peers[i].address);
    }
    descriptor_close(net->joined_fd);
    descriptor_close(net->joined_doorbell_fd);
    doorbell_free(net->doorbell);
    frame_pool_release(&net->pool);
    free(net->address);
    free(net);
}

static void close_far(struct net *net, uint64_t deadline_ns)
{
    if (net->far != NULL) {
        net->between->close(net->far, deadline_ns);
    }
    net->far = NULL;
}

static tm_status ucx_open(struct net **net, const struct net_config *config)
{
    struct net *made = new_net(config);
    tm_status status;

    if (made == NULL) {
        return TM_ENOMEM;
    }
    status = open_wires(made, config);
    if (status == TM_OK) {
        status = ucx_join_networks(made);
    }
    if (status == TM_OK) {
        status = make_address(made);
    }
    if (status != TM_OK) {
        close_far(made, 0);
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

static tm_status add_elsewhere(struct net *net, node_id node,
                               const struct address_parts *parts, int comes,
                               char *why, size_t room)
{
    tm_status status;

    net->peers[node].reach = REACH_ELSEWHERE;
    status =
        net->between->add(net->far, node, parts->bytes[ADDRESS_BETWEEN_HOSTS],
                          parts->size[ADDRESS_BETWEEN_HOSTS], comes);
    if (status != TM_OK) {
        snprintf(
            why, room,
            status == TM_EWIRE ? "the address of node %u is malformed"
            : status == TM_EPEER
                ? "UCX finds no way to node %u: do UCX_TLS and "
                  "UCX_NET_DEVICES suit all hosts? UCX_LOG_LEVEL=info says "
                  "more"
                : "node %u comes too late",
            node);
    }
    return status;
}

static tm_status ucx_add_peer(struct net *net, node_id node,
                              const struct net_place *place, char *why,
                              size_t room)
{
    struct address_parts parts = {0};
    unsigned part =
        place->is_elsewhere ? ADDRESS_BETWEEN_HOSTS : ADDRESS_WITHIN_HOST;
    int is_read = !(place->is_elsewhere && place->comes);

    ensure(node < net->n_nodes && node != net->inbox.self);
    if (is_read &&
        address_split(place->address, place->size, &parts) != TM_OK) {
        snprintf(why, room, "the address of node %u is malformed", node);
        return TM_EWIRE;
    }
    if ((is_read && parts.size[part] == 0) ||
        (place->is_elsewhere ? net->far == NULL : net->wire == NULL)) {
        snprintf(why, room, "node %u cannot be reached from this host", node);
        return TM_EPEER;
    }
    return place->is_elsewhere
               ? add_elsewhere(net, node, &parts, place->comes, why, room)
               : ucx_peer_add(&net->peers[node],
                              parts.bytes[ADDRESS_WITHIN_HOST],
                              parts.size[ADDRESS_WITHIN_HOST], why, room);
}

static void ucx_remove_peer(struct net *net, node_id node)
{
    struct peer *peer = &net->peers[node];

    ensure(node < net->n_nodes && node != net->inbox.self);
    if (peer->reach == REACH_ELSEWHERE) {
        net->between->remove(net->far, node);
        peer->reach = REACH_NONE;
    } else if (peer->reach == REACH_HERE) {
        ucx_peer_forget(peer);
    }
}

static tm_status ucx_widen(struct net *net, const struct net_config *config,
                           const uint8_t *job_key)
{
    struct net_config silent = *config;
    tm_status status;

    if (net->far != NULL) {
        return TM_OK;
    }
    silent.device = NULL;
    status = net->between->open(&net->far, &silent, &net->inbox, &net->pool);
    if (status != TM_OK) {
        return status;
    }
    status = net->between->take_key(net->far, job_key);
    if (status == TM_OK) {
        status = ucx_join_networks(net);
    }
    if (status != TM_OK) {
        descriptor_drop(&net->joined_fd);
        close_far(net, 0);
    }
    return status;
}

static void ucx_set_epoch(struct net *net, uint32_t epoch)
{
    if (net->far != NULL) {
        net->between->set_epoch(net->far, epoch);
    }
}

static tm_status ucx_connect(struct net *net, const struct net_place *places,
                             const uint8_t *job_key, char *why, size_t room)
{
    tm_status status = TM_OK;

    if (net->far != NULL) {
        ensure(job_key != NULL);
        status = net->between->take_key(net->far, job_key);
        snprintf(why, room, "nothing can be encrypted here");
    }
    for (unsigned i = 0; i < net->n_nodes && status == TM_OK; i++) {
        if (i != net->inbox.self && places[i].size > 0) {
            status = ucx_add_peer(net, (node_id)i, &places[i], why, room);
        }
    }
    if (status == TM_OK) {
        status = ucx_peer_connect_next(net, why, room);
    }
    if (status == TM_OK && net->far != NULL) {
        status = net->between->meet(net->far, why, room);
    }
    return status;
}

// ---- progress ----

// I3, after a step. UCX does not say whose pieces have gone, if any have.
static void ring_if_unsent(struct net *net)
{
    net->n_steps += net->n_unsent > 0;
    for (unsigned i = 0; net->n_unsent > 0 && i < net->n_nodes; i++) {
        if (net->peers[i].n_unsent > 0) {
            ring_peer(net, &net->peers[i]);
        }
    }
}

/** Let UCX poll until it finds nothing, or other work must get its turn. */
static void progress_within_host(struct net *net)
{
    const struct wire *wire = net->wire;
    unsigned polls = 0;

    while (polls < N_POLLS &&
           wire->ucx.ucp_worker_progress(wire->worker) != 0) {
        polls++;
    }
    if (polls > 0) {
        ring_if_unsent(net);
    }
}

unsigned ucx_progress(struct net *net)
{
    ensure(!net->is_in_progress);
    net->is_in_progress = 1;
    net->inbox.n_delivered = 0;
    ucx_peer_tell_losses(net);
    inbox_deliver_to_self(&net->inbox);
    if (net->wire != NULL) {
        progress_within_host(net);
    }
    if (net->far != NULL) {
        net->between->progress(net->far);
    }
    net->is_in_progress = 0;
    return net->inbox.n_delivered;
}

static unsigned ucx_n_unsent(const struct net *net)
{
    return net->n_unsent +
           (net->far != NULL ? net->between->n_unsent(net->far) : 0);
}

static uint64_t ucx_n_steps(const struct net *net)
{
    return net->n_steps +
           (net->far != NULL ? net->between->n_steps(net->far) : 0);
}

// ---- closing ----

static void push_out(struct net *net, uint64_t deadline_ns)
{
    const struct wire *wire = net->wire;
    const ucp_request_param_t param = {0};
    void *request = wire->ucx.ucp_worker_flush_nbx(wire->worker, &param);

    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    while (wire->ucx.ucp_request_check_status(request) == UCS_INPROGRESS &&
           clock_now_ns() < deadline_ns) {
        progress_within_host(net);
    }
    wire->ucx.ucp_request_free(request);
}

static void ucx_close(struct net *net)
{
    uint64_t deadline_ns = clock_now_ns() + CLOSE_NS;

    net->is_closing = 1;
    if (net->wire != NULL) {
        push_out(net, deadline_ns);
    }
    close_far(net, deadline_ns);
    free_net(net);
}

static void ucx_counters(struct net *net, struct net_counters *counters)
{
    *counters = net->inbox.counters;
}

const struct transport transport_ucx = {
    .open = ucx_open,
    .address = ucx_address,
    .connect = ucx_connect,
    .widen = ucx_widen,
    .add_peer = ucx_add_peer,
    .remove_peer = ucx_remove_peer,
    .set_epoch = ucx_set_epoch,
    .send = ucx_send,
    .progress = ucx_progress,
    .arm = ucx_arm,
    .note_polling = ucx_note_polling,
    .has_doorbell = ucx_has_doorbell,
    .n_unsent = ucx_n_unsent,
    .n_steps = ucx_n_steps,
    .wait_fd = ucx_wait_fd,
    .close = ucx_close,
    .counters = ucx_counters,
};

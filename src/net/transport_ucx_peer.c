// SPDX-License-Identifier: BSD-3-Clause
//
// The transport within a host: connections. Of another node this one keeps the address,
// and when it first sends something there it connects: it attaches the other's doorbell and
// has UCX make an endpoint, two mappings and a descriptor. Who only hears of another node
// needs no connection with it. So a node has as many as there are nodes that it talks to,
// however many there are.
//
//     added       address    ucx_peer_add()
//     connected   endpoint   ucx_peer_connect(), by the first message
//     lost        is_lost    it cannot be connected with, or UCX can send no more
//
// From each of them ucx_peer_forget() leads to a node that is none, and ucx_peer_add() from
// there.
//
// P1  Who can send can ring: the doorbell comes first, and without it there is no endpoint.
//     It has a cookie, by which it is known that the process is still that node, and not
//     another one that has its number now.
// P2  If the other's process has ended, that is all: whoever has started it sees that, and
//     tells it. Whatever else is in the way is this node's affair (a limit, say, which the
//     program has used up): it is logged here, and told as NET_PEER_LOST by the next
//     progress().
// P3  If the user has chosen UCX's transports all nodes are connected at once, when they are
//     added: whether they suit is not known before. With shared memory it is known of all if
//     each node has reached the next one.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "net/transport_ucx_priv.h"

/** Why a node cannot be reached. */
struct obstacle {
    int is_gone;      ///< its process has ended: P2
    const char *what; ///< text that stays
    const char *hint; ///< behind that
};

static unsigned number_of(const struct peer *peer)
{
    return (unsigned)(peer - peer->net->peers);
}

static const char *hint_for(const struct peer *peer, int error)
{
    if (!peer->net->connects_late) {
        return "; UCX_TLS must be the same on all nodes, UCX_LOG_LEVEL=info "
               "says more";
    }
    switch (error) {
    case 0:
        return "; it may be a limit: see ulimit -n, vm.max_map_count";
    case EMFILE:
    case ENFILE:
        return "; see ulimit -n";
    case ENOMEM:
        return "; see vm.max_map_count";
    case ENOENT:
    case EACCES:
    case EPERM:
        return "; nodes of one host need each other's /proc";
    default:
        return "";
    }
}

static void free_address(struct peer *peer)
{
    free(peer->address);
    peer->address = NULL;
}

/** What waits for it will not go. */
static void drop_peer(struct peer *peer)
{
    if (!peer->is_lost) {
        peer->is_lost = 1;
        peer->net->n_unsent -= peer->n_unsent;
    }
    free_address(peer);
}

static void lose_peer(struct peer *peer, const struct obstacle *obstacle)
{
    struct net *net = peer->net;

    if (peer->is_lost) {
        return;
    }
    drop_peer(peer);
    if (obstacle->is_gone || !net->connects_late) {
        log_debug("node %u cannot be sent anything any more: %s",
                  number_of(peer), obstacle->what);
        return;
    }
    log_error("node %u cannot be sent anything any more: %s%s", number_of(peer),
              obstacle->what, obstacle->hint);
    peer->untold = obstacle->what;
    net->n_untold++;
}

/** @param error  of the system, as far as is known; else 0 */
static struct obstacle obstacle_of_ucx(const struct peer *peer,
                                       ucs_status_t status, int error)
{
    return (struct obstacle){
        .is_gone = doorbell_is_gone(&peer->doorbell),
        .what = error != 0 ? strerror(error)
                           : peer->net->wire->ucx.ucs_status_string(status),
        .hint = hint_for(peer, error),
    };
}

void ucx_peer_lose(struct peer *peer, ucs_status_t status)
{
    const struct obstacle obstacle = obstacle_of_ucx(peer, status, 0);

    lose_peer(peer, &obstacle);
}

static void endpoint_has_failed(void *owner, ucp_ep_h endpoint,
                                ucs_status_t status)
{
    (void)endpoint;
    ucx_peer_lose(owner, status);
}

/** @return 1 it can be rung, or need not be; 0, and what is in the way */
static int attach_doorbell(struct peer *peer, struct obstacle *obstacle)
{
    tm_status status;

    if (!peer->net->connects_late) {
        return 1; // UCX wakes it
    }
    status = doorbell_attach(
        &peer->doorbell, peer->address + peer->address_size - DOORBELL_BYTES);
    if (status != TM_OK) {
        obstacle->is_gone = status == TM_EPEER;
        obstacle->what =
            obstacle->is_gone ? "its process has ended" : strerror(errno);
        obstacle->hint = hint_for(peer, errno);
    }
    return status == TM_OK;
}

/** @return 1; 0, and what is in the way */
static int connect_peer(struct peer *peer, struct obstacle *obstacle)
{
    const ucp_err_handler_t failed = {.cb = endpoint_has_failed, .arg = peer};
    struct wire *wire = peer->net->wire;
    ucs_status_t result = UCS_OK;

    if (!attach_doorbell(peer, obstacle)) {
        return 0; // P1
    }
    errno = 0;
    if (wire_connect(wire, peer->address, peer->address_size, &failed,
                     &peer->endpoint, &result) != TM_OK) {
        *obstacle = obstacle_of_ucx(peer, result, errno);
        doorbell_detach(&peer->doorbell);
        return 0;
    }
    free_address(peer);
    return 1;
}

int ucx_peer_connect(struct peer *peer)
{
    struct obstacle obstacle;

    if (peer->is_lost || connect_peer(peer, &obstacle)) {
        return !peer->is_lost;
    }
    lose_peer(peer, &obstacle);
    return 0;
}

tm_status ucx_peer_connect_first(struct peer *peer, char *why, size_t room)
{
    struct obstacle obstacle;

    if (peer->endpoint == NULL && !connect_peer(peer, &obstacle)) {
        snprintf(why, room, "cannot connect to node %u: %s%s", number_of(peer),
                 obstacle.what, obstacle.hint);
        return TM_EPEER;
    }
    return TM_OK;
}

static void begin_anew(struct peer *peer)
{
    struct net *net = peer->net;

    order_release(&peer->order);
    peer->sent = 0;
    peer->endpoint = NULL;
    if (peer->is_lost) {
        net->n_unsent += peer->n_unsent;
        peer->is_lost = 0;
    }
    peer->reach = REACH_HERE;
}

tm_status ucx_peer_add(struct peer *peer, const void *address, size_t size,
                       char *why, size_t room)
{
    if (!wire_is_address(address, size)) {
        snprintf(why, room, "the address of node %u is malformed",
                 number_of(peer));
        return TM_EWIRE;
    }
    begin_anew(peer);
    free_address(peer);
    peer->address = malloc(size);
    ensure_memory(peer->address != NULL);
    memcpy(peer->address, address, size);
    peer->address_size = size;
    return peer->net->connects_late ? TM_OK
                                    : ucx_peer_connect_first(peer, why, room);
}

void ucx_peer_forget(struct peer *peer)
{
    drop_peer(peer);
    doorbell_detach(&peer->doorbell);
    peer->net->n_untold -= peer->untold != NULL;
    peer->untold = NULL;
    peer->reach = REACH_NONE;
}

tm_status ucx_peer_connect_next(struct net *net, char *why, size_t room)
{
    for (unsigned i = 1; i < net->n_nodes && net->connects_late; i++) {
        struct peer *peer = &net->peers[(net->inbox.self + i) % net->n_nodes];

        if (peer->reach == REACH_HERE) {
            return ucx_peer_connect_first(peer, why, room);
        }
    }
    return TM_OK;
}

void ucx_peer_tell_losses(struct net *net)
{
    for (unsigned i = 0; i < net->n_nodes && net->n_untold > 0; i++) {
        const char *why = net->peers[i].untold;

        if (why != NULL) {
            net->peers[i].untold = NULL;
            net->n_untold--;
            net->event(net->inbox.owner, NET_PEER_LOST, (node_id)i, why);
        }
    }
}

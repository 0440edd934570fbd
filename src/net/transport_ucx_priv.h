// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TRANSPORT_UCX_PRIV_H
#define NET_TRANSPORT_UCX_PRIV_H

#include <stdatomic.h>

#include "net/address.h"
#include "net/between.h"
#include "net/doorbell.h"
#include "net/inbox.h"
#include "net/order.h"
#include "net/transport.h"
#include "net/ucx.h"

/* Shared by the files of the transport of a cluster. */

/** Bytes in front of a message over UCX: sequence, sender. */
#define PREFIX 10u

enum reach {
    REACH_NONE, ///< it was never added, or has been removed
    REACH_HERE, ///< it is on this host; the rest of its record is for such
    REACH_ELSEWHERE,
};

struct peer {
    enum reach reach;
    ucp_ep_h endpoint; ///< NULL: it is not connected
    uint8_t *address;  ///< then, if it is not lost; wrapped
    size_t address_size;
    uint64_t sent; ///< the sequence number of the next frame to it
    unsigned n_unsent;
    int is_lost;
    const char *untold; ///< why it is lost, until that is told; NULL: it is
    struct doorbell_peer doorbell; ///< wakes it
    struct order order;            ///< of the frames from it
    struct net *net;               ///< for UCX's error handler
};

struct net {
    struct wire
        *wire; ///< to nodes of this host: `wire_room`; NULL: there is none
    struct wire wire_room;
    const struct between *between; ///< how nodes of other hosts are reached
    void *far;     ///< this node's end of that; NULL: all are here
    int joined_fd; ///< of both; -1: there is one
    _Atomic int
        joined_doorbell_fd;     ///< of the doorbell, if there is one, and `far`
    _Atomic unsigned n_polling; ///< while any, `far` is out of that
    struct doorbell
        *doorbell;     ///< for this host's nodes; NULL: UCX wakes this node
    int connects_late; ///< to nodes of this host: by shared memory alone
    unsigned n_nodes;
    uint8_t *address;
    size_t address_size;
    struct frame_pool pool;
    struct inbox inbox;
    unsigned n_unsent; ///< frames that UCX keeps until there is room for them
    uint64_t n_steps;  ///< by which pieces of these may have gone
    unsigned n_untold; ///< nodes of this host that are lost
    net_event_fn *event;
    int is_in_progress;
    int is_closing;      ///< what comes is dropped
    struct peer peers[]; ///< [n_nodes]; that of self is not used
};

/** A node of this host is added, maybe under a number that was removed.
 * @param why  as of add_peer() (net/transport.h)
 * @return TM_OK, TM_EWIRE, TM_EPEER (P3 of transport_ucx_peer.c) */
TM_CHECKED tm_status ucx_peer_add(struct peer *peer, const void *address,
                                  size_t size, char *why, size_t room);

/** Connect with one that is not. @return 1 it can be sent something; 0 it is lost */
int ucx_peer_connect(struct peer *peer);

/** The same, where one that cannot be reached is an error and not lost.
 * @return TM_OK, TM_EPEER */
TM_CHECKED tm_status ucx_peer_connect_first(struct peer *peer, char *why,
                                            size_t room);

/** Connect with the node of this host whose number is the next, if there is one: P3.
 * @return as ucx_peer_connect_first() */
TM_CHECKED tm_status ucx_peer_connect_next(struct net *net, char *why,
                                           size_t room);

/** UCX cannot send it any more. */
void ucx_peer_lose(struct peer *peer, ucs_status_t status);

/** It is none any more. */
void ucx_peer_forget(struct peer *peer);

/** Those that are lost and untold: the event. From progress(). */
void ucx_peer_tell_losses(struct net *net);

/** A frame has come on a wire, its argument: what UCX calls, from progress(). */
ucs_status_t ucx_frame_has_come(void *wire, const void *header,
                                size_t header_size, void *data, size_t size,
                                const ucp_am_recv_param_t *param);

/** Make one descriptor of two, if a node needs two.
 * @return TM_OK, TM_ESYSTEM (logged) */
TM_CHECKED tm_status ucx_join_networks(struct net *net);

/* The transport's functions of these names (net/transport.h). */
unsigned ucx_progress(struct net *net);
int ucx_arm(struct net *net);
void ucx_note_polling(struct net *net, int is_polling);
int ucx_has_doorbell(const struct net *net);
int ucx_wait_fd(struct net *net);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_TRANSPORT_UCX_PRIV_H
#define NET_TRANSPORT_UCX_PRIV_H

#include "net/address.h"
#include "net/bell.h"
#include "net/inbox.h"
#include "net/order.h"
#include "net/seal.h"
#include "net/transport.h"
#include "net/ucx_wire.h"

/* Shared by the files of the transport over UCX. */

/** Bytes in front of a message: sequence, sender. */
#define PREFIX 10u

struct peer {
    struct wire *wire;
    ucp_ep_h endpoint; ///< NULL: not connected
    uint64_t sent;     ///< the sequence number of the next frame to it
    int is_lost;
    struct rope rope;   ///< wakes it, if it is on this host
    struct order order; ///< of the frames from it
    struct net *net;    ///< for UCX's error handler
};

enum { WITHIN_HOST = ADDRESS_WITHIN_HOST, BETWEEN_HOSTS, N_WIRES };

struct net {
    struct wire *wires[N_WIRES]; ///< into `room`; NULL: there is none
    struct wire room[N_WIRES];
    int joined_fd;      ///< of both wires; -1: there is one
    int joined_bell_fd; ///< of the bell and the wire between hosts
    struct bell *bell;  ///< for this host's nodes; NULL: UCX wakes this node
    int sleeps_by_bell; ///< armed so
    unsigned n_nodes;
    unsigned n_here; ///< on this host, this node included
    uint8_t *address;
    size_t address_size;
    struct seals *seals; ///< NULL: all nodes are on this host
    struct frame_pool pool;
    struct inbox inbox;
    unsigned n_unsent; ///< frames that UCX keeps until there is room for them
    int is_in_progress;
    int is_closing;      ///< what comes is dropped
    struct peer peers[]; ///< [n_nodes]; that of self is not used
};

/** A frame has come on a wire, its argument: what UCX calls, from progress(). */
ucs_status_t ucx_frame_has_come(void *wire, const void *header,
                                size_t header_size, void *data, size_t size,
                                const ucp_am_recv_param_t *param);

/** One of the wires, for what does not depend on the worker. */
struct wire *ucx_any_wire(struct net *net);

/** Make one descriptor of two, if a node has two wires.
 * @return TM_OK, TM_ESYSTEM (logged) */
TM_CHECKED tm_status ucx_join_networks(struct net *net);

/* The transport's functions of these names (net/transport.h). */
unsigned ucx_progress(struct net *net);
int ucx_arm(struct net *net);
void ucx_look(struct net *net, int is_looking);
int ucx_is_rung(const struct net *net);
int ucx_wait_fd(struct net *net);

#endif

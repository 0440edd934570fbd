// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_UCX_WIRE_H
#define NET_UCX_WIRE_H

#include "net/doorbell.h"
#include "net/ucx.h"

/*
 * The UCX worker of a node with all that belongs to it: how frames come from and go
 * to the other nodes of its host. Used inside of net/ only.
 */

/** The number of our active messages. */
#define WIRE_AM 1

struct net;

struct wire {
    struct ucx ucx;
    ucp_context_h context;
    ucp_worker_h worker;
    struct net *net;  ///< whose it is
    uint8_t *address; ///< of the worker, wrapped (net/address.h)
    size_t address_size;
    const struct doorbell
        *doorbell; ///< that its nodes ring; NULL: UCX wakes this one
};

/**
 * @param wire     net and doorbell are set by the caller
 * @param n_nodes  so many it is likely to reach
 * @param receive  called with each frame that comes, from progress; its argument
 *                 is the wire
 * @return TM_OK, TM_ESYSTEM (logged)
 */
TM_CHECKED tm_status wire_open(struct wire *wire, enum ucx_reach reach,
                               unsigned n_nodes,
                               ucp_am_recv_callback_t receive);

/** Drops what is queued. */
void wire_close(struct wire *wire);

/** Make an endpoint.
 * @param address  a wrapped one, any bytes
 * @param failed   called with `owner` if the connection breaks
 * @return TM_OK, TM_EWIRE (the address is malformed), TM_EPEER; *result tells
 *         UCX's reason for the last */
TM_CHECKED tm_status wire_connect(struct wire *wire, const void *address,
                                  size_t size, const ucp_err_handler_t *failed,
                                  ucp_ep_h *endpoint, ucs_status_t *result);

#endif

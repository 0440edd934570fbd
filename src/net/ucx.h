// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_UCX_H
#define NET_UCX_H

#include <ucp/api/ucp.h>

#include "net/doorbell.h"

/*
 * UCX, loaded when it is needed. It stays loaded until the process ends. All its
 * functions that are used, once.
 */
#define UCX_FUNCTIONS(F)                                                       \
    F(ucp_am_send_nbx)                                                         \
    F(ucp_cleanup)                                                             \
    F(ucp_config_read)                                                         \
    F(ucp_config_release)                                                      \
    F(ucp_ep_create)                                                           \
    F(ucp_init_version)                                                        \
    F(ucp_request_check_status)                                                \
    F(ucp_request_free)                                                        \
    F(ucp_worker_arm)                                                          \
    F(ucp_worker_create)                                                       \
    F(ucp_worker_destroy)                                                      \
    F(ucp_worker_flush_nbx)                                                    \
    F(ucp_worker_get_address)                                                  \
    F(ucp_worker_get_efd)                                                      \
    F(ucp_worker_progress)                                                     \
    F(ucp_worker_release_address)                                              \
    F(ucp_worker_set_am_recv_handler)                                          \
    F(ucs_status_string)

struct ucx {
#define UCX_FUNCTION(name) __typeof__(name) *(name);
    UCX_FUNCTIONS(UCX_FUNCTION)
#undef UCX_FUNCTION
};

/** Of a run on several hosts a worker reaches the nodes of its own only. */
enum ucx_reach {
    UCX_ONE_HOST,    ///< all nodes are on this host: by shared memory, or by
                     ///< what the user's UCX_TLS says
    UCX_WITHIN_HOST, ///< others are not: by shared memory
};

/** Does the worker reach others by shared memory alone? That is so unless all nodes
 * are on one host and the user has chosen transports. */
int ucx_is_local(enum ucx_reach reach);

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
 * Load the library and open a worker.
 *
 * @param wire     net and doorbell are set by the caller
 * @param n_nodes  so many it is likely to reach
 * @param receive  called with each frame that comes, from progress; its argument
 *                 is the wire
 * @return TM_OK, TM_ESYSTEM (logged)
 * Context: while no other thread reads or writes the environment.
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

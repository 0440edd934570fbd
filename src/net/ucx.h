// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_UCX_H
#define NET_UCX_H

#include <ucp/api/ucp.h>

#include "base/status.h"

/*
 * UCX, loaded when it is needed. All its functions that are used, once.
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

/**
 * Load the library. It stays loaded until the process ends.
 * @return TM_OK, TM_ESYSTEM (logged)
 * Context: while no other thread reads or writes the environment.
 */
TM_CHECKED tm_status ucx_load(struct ucx *ucx);

/** Of a run on several hosts a worker reaches the nodes of its own only. */
enum ucx_reach {
    UCX_ONE_HOST,    ///< all nodes are on this host: by shared memory, or by
                     ///< what the user's UCX_TLS says
    UCX_WITHIN_HOST, ///< others are not: by shared memory
};

/** Does the worker reach others by shared memory alone? That is so unless all nodes
 * are on one host and the user has chosen transports. */
int ucx_is_local(enum ucx_reach reach);

/**
 * Load the library and open a worker for active messages.
 * @return TM_OK, TM_ESYSTEM (logged); the caller destroys worker, then context
 * Context: as ucx_load().
 */
TM_CHECKED tm_status ucx_open_worker(struct ucx *ucx, enum ucx_reach reach,
                                     unsigned n_nodes, ucp_context_h *context,
                                     ucp_worker_h *worker);

#endif

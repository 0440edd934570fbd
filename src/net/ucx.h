// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_UCX_H
#define NET_UCX_H

#include <ucp/api/ucp.h>

#include "net/doorbell.h"

struct frame;

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
    F(ucp_ep_print_info)                                                       \
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

/** Whom a worker reaches. */
enum ucx_reach {
    UCX_ONE_HOST, ///< all nodes, which are on this host: by shared memory, or
                  ///< by what the user's UCX_TLS says
    UCX_WITHIN_HOST, ///< those of this host, by shared memory; others are elsewhere
    UCX_BETWEEN_HOSTS, ///< these: by the network, or by what the user's UCX_TLS says.
                       ///< A connection that breaks is told
};

/** Does the worker reach others by shared memory alone? That is so within a host, unless
 * all nodes are on one and the user has chosen transports. */
int ucx_is_local(enum ucx_reach reach);

/*
 * A UCX worker of a node with all that belongs to it: how frames come from and go
 * to other nodes. Used inside of net/ only.
 */

struct wire {
    struct ucx ucx;
    ucp_context_h context;
    ucp_worker_h worker;
    enum ucx_reach reach;
    void *owner;      ///< whose it is
    uint8_t *address; ///< of the worker, wrapped (net/address.h)
    size_t address_size;
    const struct doorbell
        *doorbell; ///< that its nodes ring; NULL: UCX wakes this one
};

struct ucx_request {
    enum ucx_reach reach;
    unsigned n_nodes; ///< so many it is likely to reach
    int has_drivers; ///< load UCX's drivers, which can be done only once: a worker
                     ///< between hosts may need them, this one or a later one
    const char
        *device; ///< UCX_BETWEEN_HOSTS: the network card that leads to them
    uint16_t first_port; ///< UCX_BETWEEN_HOSTS: as in net_config
    uint16_t last_port;
};

/**
 * Load the library and open a worker.
 *
 * @param wire     owner and doorbell are set by the caller
 * @param receive  called with each frame that comes, from progress; its argument
 *                 is the wire
 * @return TM_OK, TM_ESYSTEM (logged)
 * Context: while no other thread reads or writes the environment.
 */
TM_CHECKED tm_status wire_open(struct wire *wire,
                               const struct ucx_request *request,
                               ucp_am_recv_callback_t receive);

/** Drops what is queued. */
void wire_close(struct wire *wire);

/** Have UCX send a frame.
 * @param is_sent  called, from progress, when it is on its way, with the frame; not if it is at once, or fails
 * @return as ucp_am_send_nbx(): a request, which `is_sent` frees; NULL, it is sent; an error */
void *wire_send(const struct wire *wire, ucp_ep_h endpoint, struct frame *frame,
                ucp_send_nbx_callback_t is_sent);

/** Descriptors from here on are not looked at. */
#define UCX_N_DESCRIPTORS 1024

struct ucx_descriptors {
    unsigned n; ///< those that were open; 0: it is not known which
    unsigned char is_open[UCX_N_DESCRIPTORS];
};

/** Those that are open. */
void ucx_note_descriptors(struct ucx_descriptors *before);

/** Those that have been opened since: UCX's, as long as the program has not begun. They are
 * close-on-exec from now on, as UCX does not make them: a connection ends when the last
 * process closes it.
 * @param settle  what else is to be done with each; NULL: nothing */
void ucx_settle_new_descriptors(const struct ucx_descriptors *before,
                                void (*settle)(int fd, unsigned number),
                                unsigned number);

/** Readable from the first arrival after ucp_worker_arm() on. @return -1: there is none */
int wire_fd(const struct wire *wire);

/** Which of UCX's transports lead to a node that has been heard, as "tcp/eth0".
 * @param[out] text  [size]  "": UCX does not say */
void wire_transports(const struct wire *wire, ucp_ep_h endpoint, char *text,
                     size_t size);

/** Are these bytes a wrapped address? */
int wire_is_address(const void *bytes, size_t size);

/** Make an endpoint.
 * @param address  a wrapped one, any bytes
 * @param failed   called with `owner` if the connection breaks
 * @return TM_OK, TM_EWIRE (the address is malformed), TM_EPEER; *result tells
 *         UCX's reason for the last */
TM_CHECKED tm_status wire_connect(struct wire *wire, const void *address,
                                  size_t size, const ucp_err_handler_t *failed,
                                  ucp_ep_h *endpoint, ucs_status_t *result);

#endif

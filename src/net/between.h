// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_BETWEEN_H
#define NET_BETWEEN_H

#include "net/inbox.h"
#include "net/transport.h"

/** The most bytes of where a node is found by a wire between hosts. */
#define BETWEEN_PLACE_MAX 3072u

/*
 * A wire between hosts: how frames of nodes of different hosts travel. All calls are made
 * under the node lock; inbox and pool are the transport's, and outlive the wire. A function
 * that is named as a slot of a transport (net/transport.h) does what is said there. Used
 * inside of net/ only.
 */
struct between {
    int needs_drivers; ///< UCX's, so UCX is not to be loaded without them

    /** Be there for others, unless config->device is NULL: then others are connected to, only.
     * @param[out] end  this node's, which the others below are given
     * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged), TM_EBUSY (no port; logged) */
    tm_status (*open)(void **end, const struct net_config *config,
                      struct inbox *inbox, struct frame_pool *pool);

    /** Push out what is queued, until a time, say goodbye and free all. */
    void (*close)(void *end, uint64_t deadline_ns);

    /** @param[out] bytes  [BETWEEN_PLACE_MAX]  where others find this node, wrapped
     *                     (net/address.h)
     * @return the bytes of that */
    size_t (*address)(const void *end, uint8_t *bytes);

    /** Take the job's key: before the first add().
     * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged) */
    tm_status (*take_key)(void *end, const uint8_t *job_key);

    /** As add_peer(). @return TM_OK, TM_EWIRE, TM_EPEER, TM_ESTATE */
    tm_status (*add)(void *end, node_id node, const void *address, size_t size,
                     int comes);

    /** Wait until all that have been added are connected, at most 10 s. Delivers
     * nothing.
     * @param[out] why  [room]  on failure
     * @return TM_OK, TM_EPEER */
    tm_status (*meet)(void *end, char *why, size_t room);

    void (*remove)(void *end, node_id node);
    void (*set_epoch)(void *end, uint32_t epoch);
    void (*send)(void *end, node_id to, const struct message *message);
    void (*progress)(void *end);

    /** Get ready to sleep on fd(). @return 0: progress() must be called first */
    int (*arm)(void *end);

    /** Readable while something is to be done, or from the first arrival after arm() on
     * until the next: a wire may be either. */
    int (*fd)(const void *end);

    /** As n_unsent(): of those for which fd() is not readable when they can go. */
    unsigned (*n_unsent)(const void *end);

    /** As n_steps(), of the same. */
    uint64_t (*n_steps)(const void *end);
};

#endif

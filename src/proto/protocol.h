// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTO_PROTOCOL_H
#define PROTO_PROTOCOL_H

#include "proto/engine.h"

/** A request for a page, at its owner. */
struct fetch_request {
    node_id requester;
    int is_write;
    int has_copy; ///< the requester, and it needs no contents
    int is_ahead; ///< not needed yet: serve it only if nothing must wait
    uint32_t id;  ///< of the fetch
};

enum serve_result {
    SERVED,   ///< PAGE is sent
    LATER,    ///< PAGE will be sent; nothing else to do for the caller
    DEFERRED, ///< try the whole request again when the page's queue is run
    REFUSED,  ///< ahead: not now; this node's own: it has what it asked for
};

/*
 * A consistency protocol: what differs between protocols when the engine
 * handles pages. All slots are called under the node lock and must not block.
 */
struct protocol {
    const char *name; ///< as in --protocol=NAME
    tm_protocol id;

    /** A thread here lacks access. Raise it if that needs nobody else.
     * @return 1 raised, 0 the page must be fetched */
    int (*local_fault)(struct engine *engine, page_no page, int is_write);

    /** This node owns the page; another (or, to upgrade, this one) wants it. */
    enum serve_result (*serve)(struct engine *engine, page_no page,
                               const struct fetch_request *request);

    /** The page's contents have just been installed; set its access. */
    void (*arrived)(struct engine *engine, page_no page, int want_write);

    /** A node keeps a page for a thread that waited for it until it has run. */
    int holds_pages;
};

extern const struct protocol protocol_eager_release;
extern const struct protocol protocol_sequential;

/** All there are; the list is runtime/registry.c. */
extern const struct protocol *const protocols[];
extern const unsigned n_protocols;

/** @return NULL if there is none of that id */
const struct protocol *protocol_by_id(tm_protocol id);

#endif

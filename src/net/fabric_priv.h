// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_FABRIC_PRIV_H
#define NET_FABRIC_PRIV_H

#include "net/address.h"
#include "net/between.h"
#include "net/order.h"
#include "net/ucx.h"

/* Shared by the files of UCX between hosts; fabric.c says how they work. */

/** In front of each frame: run u32, number u64, roster epoch u32, sender u16, kind u8. */
#define FABRIC_HEAD 19u

/** What is behind the number: frames that are held begin with it. */
#define FABRIC_LABEL 7u

enum fabric_kind {
    FABRIC_MESSAGE = 1,
    FABRIC_HELLO = 2,  ///< the first one; the text is the sender's address
    FABRIC_BYE = 3,    ///< the end that follows is in order
    FABRIC_FENCED = 4, ///< you are no member any more
};

enum path_state {
    PATH_ABSENT,
    PATH_AWAITED,
    PATH_ASKING,
    PATH_UP,
    PATH_FENCED,
    PATH_LOST,
};

/** The way to a node of another host and back. */
struct path {
    enum path_state state;
    struct fabric *fabric; ///< for UCX's error handler
    ucp_ep_h endpoint;
    uint32_t since;    ///< the roster epoch in which it was added or removed
    uint64_t begun_ns; ///< when it was to be made
    int is_heard;      ///< its hello has come
    int is_open;       ///< what has come behind it may be delivered
    int has_said_bye;
    ucs_status_t failure; ///< what UCX says of the endpoint
    struct frame *hello;  ///< of one that is to be connected to for it
    struct order order;   ///< of the frames from it
    // what goes
    uint64_t sent;     ///< the number of the next frame
    unsigned n_unsent; ///< frames that UCX keeps until there is room for them
    uint64_t waiting;  ///< the memory of these
    uint64_t taken_ns; ///< when one was last taken, or much began to wait
    int is_forgotten;  ///< what waits will not go, and is not counted below
    // what is to be told
    int has_event;
    enum net_event event;
    char why[256];
};

struct fabric {
    struct wire wire;
    struct inbox *inbox;
    struct frame_pool pool;
    net_event_fn *event;
    void *owner;
    node_id self;
    unsigned n_nodes; ///< that there may be
    unsigned n_begun; ///< paths from 0 on that are more than zeros
    unsigned timeout_s;
    uint32_t run; ///< tells this run's frames from those of others
    uint32_t epoch;
    int is_meeting;
    int is_closing;        ///< what comes is dropped
    int has_news;          ///< a path is heard, or has failed, or may be opened
    unsigned n_events;     ///< to be told
    unsigned n_timed;      ///< paths that are being made
    unsigned n_unsent;     ///< of all that are not forgotten
    uint64_t n_steps;      ///< by which some of those may have gone
    uint64_t waiting;      ///< the memory of these
    uint64_t most_waiting; ///< 0: any
    uint64_t time_ns;      ///< in which this node did poll
    uint64_t polled_ns;
    struct ucx_descriptors before; ///< those that were open before nodes meet
    struct path paths[];           ///< [n_nodes]
};

/** Is a path in this state to be made? */
static inline int path_is_timed(enum path_state state)
{
    return state == PATH_AWAITED || state == PATH_ASKING;
}

node_id path_number(const struct path *path);
/** Tell it in the next progress. */
void path_tell(struct path *path, enum net_event event, const char *why);

// ---- fabric_frames.c

/** Send a message over the endpoint. */
void path_send(struct path *path, const struct message *message);
/** Send one whose text is an address, or nothing. */
void path_send_text(struct path *path, enum fabric_kind kind, const void *text,
                    size_t size);
/** What waits will not go. */
void path_forget(struct path *path);
/** It is to be used again. */
void path_count_again(struct path *path);
/** Deliver what was held because the path was not open. */
void path_open(struct path *path);

/** A frame has come on a wire, its argument: what UCX calls, from progress. */
ucs_status_t fabric_frame_has_come(void *wire, const void *header,
                                   size_t header_size, void *data, size_t size,
                                   const ucp_am_recv_param_t *param);

#endif

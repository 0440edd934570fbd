// SPDX-License-Identifier: BSD-3-Clause
//
// UCX between hosts: what goes and what comes. As within a host (net/transport_ucx.c), a
// frame is one active message, sent by an eager protocol, and its number puts back the
// order that UCX does not keep (net/order.c). In front of the message are:
//
//     run u32, number u64, roster epoch u32, sender u16, kind u8
//
// F1  A frame of another run, or of none, is refused: its run is made of the job's key.
//     That is against mistakes. Who means ill can read it.
// F2  A message is refused if its epoch is older than that in which its sender was added
//     or removed, and so is any of one that is no member.
// F3  Messages are delivered in order, and none before the path is open. Its hello has
//     number 0, and what follows is held until then, as what comes early is.
#include <string.h>

#include "base/ensure.h"
#include "net/fabric_priv.h"

// ---- sending ----

void path_forget(struct path *path)
{
    if (!path->is_forgotten) {
        path->is_forgotten = 1;
        path->fabric->n_unsent -= path->n_unsent;
        path->fabric->waiting -= path->waiting;
    }
}

void path_count_again(struct path *path)
{
    if (path->is_forgotten) {
        path->is_forgotten = 0;
        path->fabric->n_unsent += path->n_unsent;
        path->fabric->waiting += path->waiting;
    }
}

static void note_failure(struct path *path, ucs_status_t status)
{
    path->failure = status;
    path->fabric->has_news = 1;
}

/** @param sign  1: it waits from now on; -1: no more */
static void count_waiting(struct path *path, const struct frame *frame,
                          int sign)
{
    const uint64_t bytes = (uint64_t)sign * frame_memory(frame);

    path->n_unsent += (unsigned)sign;
    path->waiting += bytes;
    if (!path->is_forgotten) {
        path->fabric->n_unsent += (unsigned)sign;
        path->fabric->waiting += bytes;
    }
}

static struct fabric *fabric_of_frame(struct frame *frame)
{
    return (struct fabric *)((char *)frame->pool -
                             offsetof(struct fabric, pool));
}

static void frame_is_sent(void *request, ucs_status_t status, void *owner)
{
    struct frame *frame = owner;
    struct fabric *fabric = fabric_of_frame(frame);
    struct path *path = &fabric->paths[frame->to];

    (void)status; // an error is told to the endpoint's handler, too
    fabric->wire.ucx.ucp_request_free(request);
    count_waiting(path, frame, -1);
    path->taken_ns = fabric->time_ns;
    frame_put(frame);
}

static void hand_to_ucx(struct path *path, struct frame *frame)
{
    void *request =
        wire_send(&path->fabric->wire, path->endpoint, frame, frame_is_sent);

    if (UCS_PTR_IS_PTR(request)) {
        if (path->n_unsent == 0) {
            path->taken_ns = path->fabric->time_ns;
        }
        count_waiting(path, frame, 1);
        return;
    }
    if (UCS_PTR_IS_ERR(request)) {
        note_failure(path, UCS_PTR_STATUS(request));
    }
    frame_put(frame);
}

static void send_frame(struct path *path, enum fabric_kind kind,
                       struct frame *frame)
{
    const struct fabric *fabric = path->fabric;
    struct wire_writer head = {frame->bytes, frame->bytes + FABRIC_HEAD, 0};

    wire_put_u32(&head, fabric->run);
    wire_put_u64(&head, path->sent++);
    wire_put_u32(&head, fabric->epoch);
    wire_put_u16(&head, fabric->self);
    wire_put_u8(&head, (uint8_t)kind);
    frame->to = path_number(path);
    hand_to_ucx(path, frame);
}

void path_send_text(struct path *path, enum fabric_kind kind, const void *text,
                    size_t size)
{
    struct frame *frame =
        frame_get(&path->fabric->pool, FABRIC_HEAD + (uint32_t)size);

    if (size > 0) {
        memcpy(frame->bytes + FABRIC_HEAD, text, size);
    }
    send_frame(path, kind, frame);
}

void path_send(struct path *path, const struct message *message)
{
    struct fabric *fabric = path->fabric;
    struct frame *frame = frame_encode(&fabric->pool, FABRIC_HEAD, 0, message);

    fabric->inbox->counters.messages_sent++;
    fabric->inbox->counters.bytes_sent += frame->size - FABRIC_HEAD;
    send_frame(path, FABRIC_MESSAGE, frame);
}

// ---- receiving ----

/** A frame that has come. */
struct arrival {
    struct path *path;
    uint64_t number;
    const uint8_t
        *bytes; ///< from the epoch on: what is held of one that is early
    uint32_t size;
};

/** What is behind the number, in front of a text. */
struct label {
    uint32_t epoch;
    node_id from;
    unsigned kind;
};

#define LABEL_AT (FABRIC_HEAD - FABRIC_LABEL)

static struct label read_label(struct wire_reader *reader)
{
    struct label label;

    label.epoch = wire_get_u32(reader);
    label.from = wire_get_u16(reader);
    label.kind = wire_get_u8(reader);
    return label;
}

static void refuse(struct path *path, size_t size, const char *why)
{
    inbox_refuse(path->fabric->inbox, path_number(path), size, why);
}

/** The next one of its sender. @param bytes  from its label on */
static void deliver(struct path *path, const uint8_t *bytes, uint32_t size)
{
    struct wire_reader reader = wire_read(bytes, size);
    const struct label label = read_label(&reader);
    const uint32_t text_size = (uint32_t)(reader.end - reader.at);

    if (label.kind == FABRIC_FENCED) {
        path_tell(path, NET_FENCED, "");
        path->has_said_bye = 1; // it will close, and that is no news
    } else if (label.kind == FABRIC_BYE) {
        path->has_said_bye = 1;
    } else if (label.epoch < path->since || path->state != PATH_UP) { // F2
        refuse(path, size, "it is of an epoch that is over");
    } else if (label.kind != FABRIC_MESSAGE || text_size == 0) {
        refuse(path, size, "it is no message");
    } else {
        inbox_deliver(path->fabric->inbox, label.from, reader.at, text_size);
    }
}

static int is_listened_to(const struct path *path)
{
    return path->state == PATH_UP || path->state == PATH_FENCED;
}

/** The one that was delivered was not the last that is here. */
static void deliver_held(struct path *path)
{
    struct frame *held;

    while (is_listened_to(path) &&
           (held = order_delivered(&path->order)) != NULL) {
        deliver(path, held->bytes, held->size);
        frame_put(held);
    }
}

void path_open(struct path *path)
{
    path->is_open = 1;
    deliver_held(path);
}

static void hold_back(const struct arrival *arrival, struct frame **place)
{
    struct frame *held = frame_get(&arrival->path->fabric->pool, arrival->size);

    memcpy(held->bytes, arrival->bytes, arrival->size);
    if (place != NULL) {
        *place = held;
    } else {
        order_hold(&arrival->path->order, arrival->number, held);
    }
}

/** Number 0. */
static void take_hello(const struct arrival *arrival, unsigned kind)
{
    struct path *path = arrival->path;

    if (kind != FABRIC_HELLO || path->is_heard || !path_is_timed(path->state)) {
        refuse(path, arrival->size, "it is no hello, or the second one");
        return;
    }
    hold_back(arrival, &path->hello);
    path->is_heard = 1;
    path->fabric->has_news = 1;
}

static void place_frame(const struct arrival *arrival, unsigned kind)
{
    struct path *path = arrival->path;

    switch (order_place(&path->order, arrival->number)) {
    case ORDER_NEXT:
        if (!path->is_open) { // F3
            take_hello(arrival, kind);
            return;
        }
        deliver(path, arrival->bytes, arrival->size);
        deliver_held(path);
        break;
    case ORDER_EARLY:
        hold_back(arrival, NULL);
        break;
    case ORDER_REFUSED:
        refuse(path, arrival->size, "it is out of order");
        break;
    }
}

/** @return its path; NULL: it is of no node that is listened to */
static struct path *find_path(struct fabric *fabric, node_id from)
{
    struct path *path = from < fabric->n_begun ? &fabric->paths[from] : NULL;

    return path != NULL && from != fabric->self &&
                   (is_listened_to(path) || path_is_timed(path->state))
               ? path
               : NULL;
}

static void take_frame(struct fabric *fabric, const uint8_t *bytes, size_t size)
{
    struct wire_reader reader = wire_read(bytes, size);
    const uint32_t run = wire_get_u32(&reader);
    struct arrival arrival = {
        .number = wire_get_u64(&reader),
        .bytes = bytes + LABEL_AT,
        .size = (uint32_t)(size - LABEL_AT),
    };
    const struct label label = read_label(&reader);

    arrival.path = find_path(fabric, label.from);
    if (run != fabric->run) { // F1
        inbox_refuse(fabric->inbox, NODE_NONE, size, "it is of another run");
    } else if (arrival.path == NULL) { // F2
        inbox_refuse(fabric->inbox, label.from, size,
                     "its sender is no member");
    } else {
        place_frame(&arrival, label.kind);
    }
}

ucs_status_t fabric_frame_has_come(void *owner, const void *header,
                                   size_t header_size, void *data, size_t size,
                                   const ucp_am_recv_param_t *param)
{
    const struct wire *wire = owner;
    struct fabric *fabric = wire->owner;

    (void)header;
    if (fabric->is_closing) {
        return UCS_OK;
    }
    // All senders force eager protocols: such a one is no node.
    if (header_size != 0 || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) ||
        size < FABRIC_HEAD || size > FRAME_MAX) {
        inbox_refuse(fabric->inbox, NODE_NONE, size, "it is no frame");
        return UCS_OK;
    }
    take_frame(fabric, data, size);
    return UCS_OK;
}

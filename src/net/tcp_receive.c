// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: what comes. One read takes all that is there, up to the
// length of a frame and more; frames that are whole are opened and delivered where
// they lie. Of one that is not, the rest goes to a frame of its own, where the next
// read puts it: a long frame is copied at most in part.
//
//     room:  [head of the next frame, as far as it has come][what is read]
//
// R1  n_partial > 0 only with a partial frame, and then n_head is 0.
// R2  After a delivery the connection may be closed: its `serial` then differs.
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "net/tcp_priv.h"

/** Of what is read at once. */
#define READ_SIZE (BEHIND_MAX + HEAD)

size_t tcp_room_size(void)
{
    return HEAD + READ_SIZE;
}

struct head {
    uint32_t size; ///< of the whole frame
    uint32_t epoch;
    unsigned kind;
};

/** @return 0 if no node sends such a one */
static int read_head(const uint8_t *bytes, struct head *head)
{
    struct wire_reader reader = {.at = bytes, .end = bytes + HEAD};
    uint32_t n_behind = wire_get_u32(&reader);

    head->epoch = wire_get_u32(&reader);
    head->kind = wire_get_u8(&reader);
    head->size = HEAD + n_behind;
    return n_behind >= SEAL_TAG_SIZE && n_behind <= BEHIND_MAX;
}

static void refuse(struct tcp *tcp, struct channel *channel, size_t size,
                   const char *why)
{
    inbox_refuse(tcp->inbox, channel_number(tcp, channel), size, why);
}

/** A frame that cannot be of that node: all is over. */
static void refuse_channel(struct tcp *tcp, struct channel *channel,
                           size_t size, const char *why)
{
    refuse(tcp, channel, size, why);
    channel_lose(tcp, channel, "somebody has disturbed the connection");
}

/** A genuine frame. */
static void deliver(struct tcp *tcp, struct channel *channel,
                    const struct head *head, const uint8_t *text)
{
    uint32_t size = head->size - HEAD - SEAL_TAG_SIZE;
    node_id from = channel_number(tcp, channel);

    if (head->kind == KIND_FENCED) {
        channel_tell(tcp, channel, NET_FENCED);
        channel->has_said_bye = 1; // it will close, and that is no news
    } else if (head->kind == KIND_BYE) {
        channel->has_said_bye = 1;
    } else if (head->epoch < channel->since ||
               channel->state == CHANNEL_FENCED) {
        refuse(tcp, channel, head->size, "it is of an epoch that is over");
    } else if (head->kind != KIND_MESSAGE || size == 0) {
        refuse(tcp, channel, head->size, "it is no message");
    } else {
        inbox_deliver(tcp->inbox, from, text, size);
    }
}

/** A whole frame, which is opened where it is. */
static void take_frame(struct tcp *tcp, struct channel *channel, uint8_t *bytes)
{
    struct seal_frame parts = {.bytes = bytes, .head_size = HEAD};
    struct head head;

    (void)read_head(bytes, &head);
    parts.text_size = head.size - HEAD - SEAL_TAG_SIZE;
    if (seals_open(tcp->seals, &channel->lanes.in, &parts) != TM_OK) {
        refuse_channel(tcp, channel, head.size, "it is not genuine");
    } else {
        deliver(tcp, channel, &head, bytes + HEAD);
    }
}

/** What is behind the last whole frame. */
static void keep_rest(struct tcp *tcp, struct channel *channel,
                      const uint8_t *at, size_t size, const struct head *head)
{
    if (size < HEAD) {
        memcpy(channel->head, at, size);
        channel->n_head = (unsigned)size;
    } else {
        channel->partial = frame_get(tcp->pool, head->size);
        memcpy(channel->partial->bytes, at, size);
        channel->n_partial = (uint32_t)size;
    }
}

/** Take the frames that lie one behind the other from `at` on. */
static void take_frames(struct tcp *tcp, struct channel *channel, uint8_t *at,
                        const uint8_t *end)
{
    unsigned serial = channel->serial;
    struct head head = {0};

    while (at < end) {
        size_t left = (size_t)(end - at);

        if (left >= HEAD && !read_head(at, &head)) {
            refuse_channel(tcp, channel, left, "it has no length of a frame");
            return;
        }
        if (left < HEAD || left < head.size) {
            keep_rest(tcp, channel, at, left, &head);
            return;
        }
        take_frame(tcp, channel, at);
        if (channel->serial != serial) { // R2
            return;
        }
        at += head.size;
    }
}

/** @return 0 if the channel is not the same any more */
static int take_partial(struct tcp *tcp, struct channel *channel)
{
    struct frame *frame = channel->partial;
    unsigned serial = channel->serial;

    channel->partial = NULL;
    channel->n_partial = 0;
    take_frame(tcp, channel, frame->bytes);
    frame_put(frame);
    return channel->serial == serial;
}

/** @param n_bytes  that have been read, to the partial frame first */
static void take(struct tcp *tcp, struct channel *channel, size_t n_bytes)
{
    uint8_t *at = tcp->room + HEAD;
    const struct frame *partial = channel->partial;

    if (partial != NULL) {
        size_t wanted = partial->size - channel->n_partial;

        if (n_bytes < wanted) {
            channel->n_partial += (uint32_t)n_bytes;
            return;
        }
        n_bytes -= wanted;
        if (!take_partial(tcp, channel)) {
            return;
        }
    }
    memcpy(at - channel->n_head, channel->head, channel->n_head);
    n_bytes += channel->n_head;
    at -= channel->n_head;
    channel->n_head = 0;
    take_frames(tcp, channel, at, at + n_bytes);
}

static ssize_t read_some(const struct tcp *tcp, const struct channel *channel)
{
    struct iovec pieces[2];
    int n = 0;

    if (channel->partial != NULL) {
        pieces[n++] =
            (struct iovec){channel->partial->bytes + channel->n_partial,
                           channel->partial->size - channel->n_partial};
    }
    pieces[n++] = (struct iovec){tcp->room + HEAD, READ_SIZE};
    return readv(channel->fd, pieces, n);
}

void channel_receive(struct tcp *tcp, struct channel *channel)
{
    ssize_t n_bytes;

    if (tcp->is_meeting) { // it is watched for its end only
        channel_lose(tcp, channel, "the connection has ended");
        return;
    }
    n_bytes = read_some(tcp, channel);
    if (n_bytes > 0) {
        take(tcp, channel, (size_t)n_bytes);
    } else if (n_bytes == 0) {
        channel_lose(tcp, channel, "its end of the connection is closed");
    } else if (errno != EAGAIN && errno != EINTR) {
        channel_lose(tcp, channel, strerror(errno));
    }
}

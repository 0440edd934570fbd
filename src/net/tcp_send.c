// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: what goes. A frame is queued, and pushed out at once unless
// others wait before it, or progress is under way: what is sent there goes when the
// arrival at hand has been handled, so that several answers are one call of the system.
//
// S1  Frames are sealed when they are about to go, in order. Those at the front that
//     are sealed (n_sealed) must go, or the other end cannot open what follows; the
//     others may still be dropped.
// S2  A send that fails says nothing of what has come before: the channel is deaf then,
//     and lost when all that has come has been read (tcp_receive.c).
// S3  A channel is heavy while frames of FULL_BYTES wait. One that takes none of them
//     for FULL_NS is lost at the next poll: L3 and L6 in tcp.c.
// S4  What waits for all is `waiting`. If that is more than this node has memory for,
//     the channel for which most waits is lost at the next poll, however much it
//     takes: else the kernel would end this node.
#include <errno.h>
#include <stdio.h>

#include "base/ensure.h"
#include "net/tcp_priv.h"

/** At most so many frames, or a little more than so many bytes, in one call. */
#define N_PIECES 16u
#define PUSH_BYTES 262144u

/** When a node that takes nothing is lost: S3. */
#define FULL_NS UINT64_C(3000000000)

static void put_head(const struct tcp *tcp, const struct frame *frame,
                     enum frame_kind kind)
{
    struct wire_writer writer = {
        .at = (uint8_t *)(uintptr_t)frame->bytes,
        .end = (uint8_t *)(uintptr_t)frame->bytes + HEAD,
    };

    wire_put_u32(&writer, frame->size - HEAD);
    wire_put_u32(&writer, tcp->epoch);
    wire_put_u8(&writer, (uint8_t)kind);
}

// ---- pushing out ----

static void seal_one(const struct tcp *tcp, struct channel *channel,
                     struct frame *frame)
{
    const struct seal_frame parts = {
        .bytes = frame->bytes,
        .head_size = HEAD,
        .text_size = frame->size - HEAD - SEAL_TAG_SIZE,
    };

    seals_seal(tcp->seals, &channel->lanes.out, &parts);
    channel->n_sealed++;
}

/** @return the pieces that are to go next */
static unsigned gather(const struct tcp *tcp, struct channel *channel,
                       struct iovec *pieces)
{
    size_t size = 0;
    unsigned n = 0;

    for (struct frame *frame = channel->first;
         frame != NULL && n < N_PIECES && size < PUSH_BYTES;
         frame = frame->next) {
        uint32_t n_gone = n == 0 ? channel->n_gone : 0;

        if (n >= channel->n_sealed) {
            seal_one(tcp, channel, frame);
        }
        pieces[n++] =
            (struct iovec){frame->bytes + n_gone, frame->size - n_gone};
        size += frame->size - n_gone;
    }
    return n;
}

static void take_off(struct tcp *tcp, struct channel *channel, size_t n_bytes)
{
    channel->taken_ns = tcp->time_ns;
    while (n_bytes > 0) {
        size_t left = channel->first->size - channel->n_gone;

        if (n_bytes < left) {
            channel->n_gone += (uint32_t)n_bytes;
            return;
        }
        n_bytes -= left;
        channel_take_off_first(tcp, channel);
    }
}

static void set_full(const struct tcp *tcp, struct channel *channel,
                     int is_full)
{
    if (channel->is_full != is_full) {
        channel->is_full = is_full;
        channel_watch(tcp, channel);
    }
}

void channel_flush(struct tcp *tcp, struct channel *channel)
{
    struct iovec pieces[N_PIECES];
    struct msghdr message = {.msg_iov = pieces};
    int is_full = 0;

    while (channel->first != NULL && !is_full) {
        ssize_t n_taken;

        message.msg_iovlen = gather(tcp, channel, pieces);
        n_taken = sendmsg(channel->fd, &message, MSG_NOSIGNAL);
        if (n_taken >= 0) {
            take_off(tcp, channel, (size_t)n_taken);
        } else if (errno == EAGAIN) {
            is_full = 1;
        } else if (errno != EINTR) { // S2
            channel->is_deaf = 1;
            channel_drop_queue(tcp, channel, 1);
        }
    }
    set_full(tcp, channel, is_full);
}

void tcp_flush_dirty(struct tcp *tcp)
{
    while (tcp->dirty != NULL) {
        struct channel *channel = tcp->dirty;

        tcp->dirty = channel->next_dirty;
        channel->is_dirty = 0;
        if (channel->state == CHANNEL_UP || channel->state == CHANNEL_FENCED) {
            channel_flush(tcp, channel);
        }
    }
}

// ---- queueing ----

static void push_soon(struct tcp *tcp, struct channel *channel)
{
    if (channel->fd < 0 || channel->is_full) {
        return; // it goes when the channel is up, or has room
    }
    if (!tcp->is_in_progress) {
        channel_flush(tcp, channel);
    } else if (!channel->is_dirty) {
        channel->is_dirty = 1;
        channel->next_dirty = tcp->dirty;
        tcp->dirty = channel;
    }
}

static int is_connected(const struct channel *channel)
{
    return channel->state == CHANNEL_UP || channel->state == CHANNEL_FENCED;
}

void channel_check_queue(struct tcp *tcp, struct channel *channel)
{
    char why[sizeof channel->why];

    if (is_connected(channel) && channel_is_heavy(channel) &&
        tcp->time_ns - channel->taken_ns > FULL_NS) {
        snprintf(why, sizeof why, "it takes nothing, and %llu MiB wait for it",
                 (unsigned long long)(channel->waiting >> 20));
        channel_lose(tcp, channel, why);
    }
}

static struct channel *find_fullest(struct tcp *tcp)
{
    struct channel *found = NULL;

    for (unsigned i = 0; i < tcp->n_begun; i++) {
        struct channel *channel = &tcp->channels[i];

        if (is_connected(channel) &&
            (found == NULL || channel->waiting > found->waiting)) {
            found = channel;
        }
    }
    return found;
}

void tcp_check_waiting(struct tcp *tcp)
{
    struct channel *channel;
    char why[sizeof channel->why];

    if (tcp->most_waiting == 0 || tcp->waiting <= tcp->most_waiting) {
        return;
    }
    channel = find_fullest(tcp);
    if (channel != NULL) {
        snprintf(why, sizeof why,
                 "it takes too little: %llu MiB wait for it, and there is no "
                 "memory for more",
                 (unsigned long long)(channel->waiting >> 20));
        channel_lose(tcp, channel, why);
    }
}

void channel_send_control(struct tcp *tcp, struct channel *channel,
                          enum frame_kind kind)
{
    struct frame *frame = frame_get(tcp->pool, HEAD + SEAL_TAG_SIZE);

    put_head(tcp, frame, kind);
    channel_append(tcp, channel, frame);
    push_soon(tcp, channel);
}

void tcp_send(struct tcp *tcp, node_id to, const struct message *message)
{
    struct channel *channel = &tcp->channels[to];
    struct frame *frame;

    ensure(to < tcp->n_nodes && to != tcp->self);
    if (channel->state == CHANNEL_ABSENT || channel->state >= CHANNEL_FENCED ||
        channel->is_deaf) {
        return;
    }
    frame = frame_encode(tcp->pool, HEAD, SEAL_TAG_SIZE, message);
    tcp->inbox->counters.messages_sent++;
    tcp->inbox->counters.bytes_sent += frame->size - HEAD - SEAL_TAG_SIZE;
    put_head(tcp, frame, KIND_MESSAGE);
    channel_append(tcp, channel, frame);
    if (is_connected(channel)) {
        push_soon(tcp, channel);
    }
}

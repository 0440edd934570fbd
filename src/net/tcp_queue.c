// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: the frames that wait for a channel, in order, and how much
// memory they take; S1, S3 and S4 of tcp_send.c.
#include "net/tcp_priv.h"

/** From when on a channel is heavy: S3. */
#define FULL_BYTES (UINT64_C(64) << 20)

int channel_is_heavy(const struct channel *channel)
{
    return channel->waiting >= FULL_BYTES;
}

void channel_append(struct tcp *tcp, struct channel *channel,
                    struct frame *frame)
{
    int was_heavy = channel_is_heavy(channel);

    frame->next = NULL;
    if (channel->first == NULL) {
        channel->first = frame;
    } else {
        channel->last->next = frame;
    }
    channel->last = frame;
    channel->waiting += frame_memory(frame);
    tcp->waiting += frame_memory(frame);
    if (channel_is_heavy(channel) && !was_heavy) {
        channel->taken_ns = tcp->time_ns;
        tcp->n_heavy++;
    }
}

/** One that is in no queue any more. */
static void free_frame(struct tcp *tcp, struct channel *channel,
                       struct frame *frame)
{
    int was_heavy = channel_is_heavy(channel);

    channel->waiting -= frame_memory(frame);
    tcp->waiting -= frame_memory(frame);
    tcp->n_heavy -= was_heavy && !channel_is_heavy(channel);
    frame_put(frame);
}

void channel_take_off_first(struct tcp *tcp, struct channel *channel)
{
    struct frame *frame = channel->first;

    channel->first = frame->next;
    channel->n_sealed -= channel->n_sealed > 0;
    channel->n_gone = 0;
    free_frame(tcp, channel, frame);
}

void channel_drop_queue(struct tcp *tcp, struct channel *channel, int all)
{
    unsigned n_kept = all ? 0 : channel->n_sealed; // S1
    struct frame *kept = NULL;
    struct frame *frame = channel->first;

    for (unsigned i = 0; i < n_kept; i++) {
        kept = frame;
        frame = frame->next;
    }
    while (frame != NULL) {
        struct frame *next = frame->next;

        free_frame(tcp, channel, frame);
        frame = next;
    }
    channel->last = kept;
    if (kept != NULL) {
        kept->next = NULL;
    } else {
        channel->first = NULL;
        channel->n_sealed = 0;
        channel->n_gone = 0;
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: what is watched; the frames that wait for a channel, in order,
// and how much memory they take (S1, S3 and S4 of tcp_send.c); and the states of a
// channel, as tcp.c has them.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "net/tcp_priv.h"

/** From when on a channel is heavy: S3. */
#define FULL_BYTES (UINT64_C(64) << 20)

// ---- descriptors ----

void tcp_watch(const struct tcp *tcp, int fd, uint32_t events,
               enum watched what, unsigned index)
{
    struct epoll_event event = {
        .events = events,
        .data.u64 = (uint64_t)what << 32 | index,
    };

    if (epoll_ctl(tcp->epoll, EPOLL_CTL_MOD, fd, &event) != 0 &&
        (errno != ENOENT ||
         epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, fd, &event) != 0)) {
        log_fatal(EXIT_MEMORY, "cannot wait for a connection: %m");
    }
    descriptor_set_add(tcp->sockets, fd);
}

void tcp_close_socket(const struct tcp *tcp, int *fd)
{
    if (*fd >= 0) {
        // A child of fork() may have it a moment longer: closing it is not
        // enough.
        (void)epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, *fd, NULL);
        descriptor_set_remove(tcp->sockets, *fd);
        close(*fd);
        *fd = -1;
    }
}

// ---- frames that wait ----

int channel_is_heavy(const struct channel *channel)
{
    return channel->waiting >= FULL_BYTES;
}

void channel_append(struct tcp *tcp, struct channel *channel,
                    struct frame *frame)
{
    int was_heavy = channel_is_heavy(channel);

    list_append(channel, frame);
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
    list_take_each (dropped, frame) {
        free_frame(tcp, channel, dropped);
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

// ---- states ----

node_id channel_number(const struct tcp *tcp, const struct channel *channel)
{
    return (node_id)(channel - tcp->channels);
}

int channel_is_timed(enum channel_state state)
{
    return state >= CHANNEL_AWAITED && state <= CHANNEL_PAUSING;
}

void channel_set_state(struct tcp *tcp, struct channel *channel,
                       enum channel_state state)
{
    tcp->n_timed += (unsigned)channel_is_timed(state);
    tcp->n_timed -= (unsigned)channel_is_timed(channel->state);
    tcp->n_awaited += state == CHANNEL_AWAITED;
    tcp->n_awaited -= channel->state == CHANNEL_AWAITED;
    channel->state = state;
}

void channel_tell(struct tcp *tcp, struct channel *channel,
                  enum net_event event)
{
    tcp->n_events += !channel->has_event;
    channel->has_event = 1;
    channel->event = event;
}

void channel_forget_event(struct tcp *tcp, struct channel *channel)
{
    tcp->n_events -= (unsigned)channel->has_event;
    channel->has_event = 0;
}

void channel_watch(const struct tcp *tcp, const struct channel *channel)
{
    uint32_t events = tcp->is_meeting ? 0 : EPOLLIN; // L4

    if (channel->is_full) {
        events |= EPOLLOUT;
    }
    tcp_watch(tcp, channel->fd, events, WATCHED_CHANNEL,
              channel_number(tcp, channel));
}

void channel_is_up(struct tcp *tcp, struct channel *channel)
{
    channel_set_state(tcp, channel, CHANNEL_UP);
    tcp->up_ns = tcp->time_ns;
    explicit_bzero(&channel->handshake, sizeof channel->handshake);
    tcp_settle(channel->fd, tcp->timeout_s);
    channel_watch(tcp, channel);
    if (!tcp->is_meeting) {
        channel_tell(tcp, channel, NET_PEER_UP);
    }
    log_debug("node %u is connected", channel_number(tcp, channel));
}

void channel_clear(struct tcp *tcp, struct channel *channel)
{
    tcp_close_socket(tcp, &channel->fd);
    channel->serial++;
    channel_drop_queue(tcp, channel, 1);
    if (channel->partial != NULL) {
        frame_put(channel->partial);
    }
    channel->partial = NULL;
    channel->n_partial = 0;
    channel->n_head = 0;
    channel->is_full = 0;
    channel->is_deaf = 0;
    channel->has_said_bye = 0;
    explicit_bzero(&channel->lanes, sizeof channel->lanes);
    explicit_bzero(&channel->handshake, sizeof channel->handshake);
}

void channel_lose(struct tcp *tcp, struct channel *channel, const char *why)
{
    int is_event = channel->state != CHANNEL_FENCED && !channel->has_said_bye;

    log_debug("the channel to node %u ends: %s", channel_number(tcp, channel),
              why);
    channel_clear(tcp, channel);
    channel_set_state(tcp, channel, CHANNEL_LOST);
    if (is_event) {
        snprintf(channel->why, sizeof channel->why, "%s", why);
        channel_tell(tcp, channel, NET_PEER_LOST);
    }
}

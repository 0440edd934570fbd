// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: the states of a channel, as tcp.c has them, and who is a
// member.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/ensure.h"
#include "base/log.h"
#include "net/tcp_priv.h"

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

void channel_tell(struct tcp *tcp, struct channel *channel, enum net_event news)
{
    tcp->n_news += !channel->has_news;
    channel->has_news = 1;
    channel->news = news;
}

void channel_forget_news(struct tcp *tcp, struct channel *channel)
{
    tcp->n_news -= (unsigned)channel->has_news;
    channel->has_news = 0;
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
    channel_flush(tcp, channel);
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
    int is_news = channel->state != CHANNEL_FENCED && !channel->has_said_bye;

    log_debug("the channel to node %u ends: %s", channel_number(tcp, channel),
              why);
    channel_clear(tcp, channel);
    channel_set_state(tcp, channel, CHANNEL_LOST);
    if (is_news) {
        snprintf(channel->why, sizeof channel->why, "%s", why);
        channel_tell(tcp, channel, NET_PEER_LOST);
    }
}

// ---- members ----

tm_status tcp_add(struct tcp *tcp, node_id node, const void *address,
                  size_t size, int comes)
{
    struct channel *channel = &tcp->channels[node];
    struct tcp_place place = {.size = 0};

    ensure(node < tcp->n_nodes && node != tcp->self && tcp->seals != NULL);
    if (!comes && tcp_place_decode(address, size, &place) != TM_OK) {
        return TM_EWIRE;
    }
    if (comes && tcp->listener < 0) {
        return TM_ESTATE;
    }
    channel_clear(tcp, channel);
    channel->place = place;
    channel->since = tcp->epoch;
    channel_forget_news(tcp, channel);
    channel->begun_ns = tcp->time_ns;
    if (comes) {
        channel_set_state(tcp, channel, CHANNEL_AWAITED);
        greeters_look_for(tcp, node);
    } else {
        channel_send_control(tcp, channel, KIND_CONFIRM); // the first to go
        channel_begin(tcp, channel);
    }
    return TM_OK;
}

void tcp_remove(struct tcp *tcp, node_id node)
{
    struct channel *channel = &tcp->channels[node];

    ensure(node < tcp->n_nodes && node != tcp->self);
    channel->since = tcp->epoch;
    if (channel->state == CHANNEL_UP && !channel->has_said_bye) { // L5
        channel_drop_queue(tcp, channel, 0);
        channel_set_state(tcp, channel, CHANNEL_FENCED);
        tcp_settle(channel->fd, 0);
        channel_send_control(tcp, channel, KIND_FENCED);
    } else if (channel->state != CHANNEL_FENCED) {
        channel_clear(tcp, channel);
        channel_set_state(tcp, channel, CHANNEL_ABSENT);
    }
    channel_forget_news(tcp, channel);
}

void tcp_set_epoch(struct tcp *tcp, uint32_t epoch)
{
    ensure(epoch >= tcp->epoch);
    tcp->epoch = epoch;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: connecting to another node. TCP connects, the hello is
// sent, the answer is awaited; what fails is tried again until the time is over, since
// a stranger may have been in the way, or the other node may not be that far.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "net/tcp_priv.h"

#define PAUSE_NS 50000000u

/** How long a channel may take from when it was to be made, or another was. */
#define CONNECT_S 10u

/** @param error  errno of what has failed; 0: the other end has closed */
static void pause_channel(struct tcp *tcp, struct channel *channel, int error)
{
    tcp_close_socket(tcp, &channel->fd);
    channel->reason = error;
    channel->due_ns = tcp->time_ns + PAUSE_NS;
    channel_set_state(tcp, channel, CHANNEL_PAUSING);
}

/** The next step is done when its socket is ready for that. */
static void await(struct tcp *tcp, struct channel *channel,
                  enum channel_state state, uint32_t events)
{
    channel->reason = ETIMEDOUT;
    channel_set_state(tcp, channel, state);
    tcp_watch(tcp, channel->fd, events, WATCHED_CHANNEL,
              channel_number(tcp, channel));
}

void channel_begin(struct tcp *tcp, struct channel *channel)
{
    channel->n_answered = 0;
    channel->fd = tcp_connect(&channel->place);
    if (channel->fd < 0) {
        pause_channel(tcp, channel, errno);
        return;
    }
    await(tcp, channel, CHANNEL_CONNECTING, EPOLLOUT);
}

/** TCP has connected: send the hello, which is short enough to go at once. */
static void say_hello(struct tcp *tcp, struct channel *channel)
{
    const struct hello hello = {tcp->self, channel_number(tcp, channel),
                                tcp->epoch};
    int error = tcp_error(channel->fd);

    if (error != 0) {
        pause_channel(tcp, channel, error);
        return;
    }
    handshake_hello(tcp->seals, &hello, &channel->handshake);
    if (send(channel->fd, channel->handshake.said, HELLO_SIZE, MSG_NOSIGNAL) !=
        HELLO_SIZE) {
        pause_channel(tcp, channel, errno);
        return;
    }
    await(tcp, channel, CHANNEL_ASKING, EPOLLIN);
}

static void take_answer(struct tcp *tcp, struct channel *channel)
{
    struct answer answer;

    if (handshake_read_answer(tcp->seals, &channel->handshake, &answer,
                              &channel->lanes) != TM_OK) {
        pause_channel(tcp, channel, EBADMSG);
    } else if (answer.is_fenced) {
        channel_lose(tcp, channel, "it has gone on without this node");
        channel_tell(tcp, channel, NET_FENCED);
    } else {
        channel_is_up(tcp, channel);
        channel_flush(tcp, channel);
    }
}

static void read_answer(struct tcp *tcp, struct channel *channel)
{
    ssize_t n_bytes = recv(
        channel->fd, channel->handshake.said + HELLO_SIZE + channel->n_answered,
        ANSWER_SIZE - channel->n_answered, 0);

    if (n_bytes > 0) {
        channel->n_answered += (unsigned)n_bytes;
        if (channel->n_answered == ANSWER_SIZE) {
            take_answer(tcp, channel);
        }
    } else if (n_bytes == 0) {
        pause_channel(tcp, channel, 0);
    } else if (errno != EAGAIN && errno != EINTR) {
        pause_channel(tcp, channel, errno);
    }
}

void channel_go_on(struct tcp *tcp, struct channel *channel)
{
    if (channel->state == CHANNEL_CONNECTING) {
        say_hello(tcp, channel);
    } else {
        read_answer(tcp, channel);
    }
}

/** What users are told if a node cannot be reached. */
static void give_up(struct tcp *tcp, struct channel *channel)
{
    char where[TCP_PLACE_TEXT];
    char why[sizeof channel->why];

    if (channel->state == CHANNEL_AWAITED) {
        tcp_place_text(&tcp->place, where);
        snprintf(why, sizeof why,
                 "it does not come to %s: do firewalls let hosts connect to "
                 "each other (--port-range)?",
                 where);
    } else {
        tcp_place_text(&channel->place, where);
        snprintf(why, sizeof why, "%s: %s%s", where,
                 channel->reason != 0 ? strerror(channel->reason)
                                      : "it closes the connection",
                 channel->reason != 0 ? "; does a firewall forbid it "
                                        "(--port-range)?"
                                      : ": is it of another run?");
    }
    channel_lose(tcp, channel, why);
}

/** As long as others get through, one may just be slow: hundreds of nodes meet on a few
 * hosts. */
static int is_overdue(const struct tcp *tcp, const struct channel *channel)
{
    uint64_t since_ns =
        channel->begun_ns > tcp->up_ns ? channel->begun_ns : tcp->up_ns;

    return tcp->time_ns - since_ns >= CONNECT_S * UINT64_C(1000000000);
}

void channel_check_time(struct tcp *tcp, struct channel *channel)
{
    if (is_overdue(tcp, channel)) {
        give_up(tcp, channel);
    } else if (channel->state == CHANNEL_PAUSING &&
               tcp->time_ns >= channel->due_ns) {
        channel_begin(tcp, channel);
    }
}

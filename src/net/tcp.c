// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts. Two nodes of different hosts have one connection of TCP,
// a *channel*. One of them, which is told so, connects to the other, which listens;
// then both make sure of each other (net/handshake.c), and frames go:
//
//     bytes behind this head u32, roster epoch u32, kind u8 | message | tag
//
// sealed (net/seal.c), each at its place: TCP keeps order, and what has been cut,
// repeated, moved or made up does not open. Then nothing that follows can be
// trusted either, and the channel is lost.
//
//   state        until                                        then
//   ABSENT       tcp_add()                                    AWAITED, CONNECTING
//   AWAITED      a greeter is that node (tcp_greet.c)         UP
//   CONNECTING   TCP has connected (tcp_reach.c)              ASKING
//   ASKING       the answer to the hello is there             UP
//   PAUSING      a while after one of these two has failed    CONNECTING
//   these four   CONNECT_S have passed in which none came up  LOST
//   UP           the connection ends                          LOST
//   UP           tcp_remove()                                 FENCED
//   FENCED       the connection ends                          LOST
//   LOST         tcp_add()                                    as from ABSENT
//
// L1  Who has not the job's key gets no byte from this node, and has of it one of
//     N_GREETERS places, HELLO_SIZE bytes, for GREET_S, or PROVEN_S if it has recorded a
//     hello: tcp_greet.c.
// L2  A node listens only while it awaits somebody. When all nodes of a run are
//     connected, nothing of it can be reached.
// L3  What waits for a node that takes it is what the program has sent, and as much
//     as that. One that takes nothing while FULL_BYTES wait is lost after FULL_NS,
//     whether more is sent to it or not (tcp_send.c), and what waited is freed. So is
//     the one for which most waits when all together need more memory than this node
//     has for them, also if it takes some. Of a node that sends, there is at most one
//     frame here.
// L4  receive() and event() are called in tcp_progress() only, event() of a lost channel
//     after receive() of all that came by it. They may call anything but
//     tcp_progress(), tcp_meet() and tcp_close(); so what a loop here holds of a
//     channel is looked at again after such a call.
// L5  A frame is refused if its roster epoch is older than that in which its sender was
//     removed or added. A channel that was removed while it was up is not closed: its
//     node may be frozen, or its host, and shall read CHANNEL_FENCED when it goes on.
// L6  Deadlines are in time in which this node did poll (time_ns): one that was
//     stopped for a minute has not heard that the others were there in time.
#include "net/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "net/tcp_priv.h"
#include "os/descriptor.h"
#include "os/kthread.h"
#include "os/secret.h"

/** The most that a poll counts for: L6. */
#define POLL_NS 200000000u

/** Between two polls of what is slow, while nodes meet. */
#define MEET_MS 20

#define N_EVENTS 32

// ---- opening and closing ----

static struct tcp *new_tcp(const struct net_config *config)
{
    size_t size = sizeof(struct tcp) + config->n_nodes * sizeof(struct channel);
    struct tcp *tcp = secret_new(size);

    if (tcp == NULL) {
        log_error("no memory for connections to %u nodes: %m", config->n_nodes);
        return NULL;
    }
    *tcp = (struct tcp){
        .size = size,
        .self = config->self,
        .n_nodes = config->n_nodes,
        .timeout_s = config->timeout_s,
        .is_plain = config->is_plain,
        .most_waiting = config->most_waiting,
        .sockets = config->sockets,
        .event = config->event,
        .owner = config->owner,
        .epoll = -1,
        .listener = -1,
    };
    for (unsigned i = 0; i < N_GREETERS; i++) {
        tcp->greeters[i].fd = -1;
    }
    return tcp;
}

static void free_tcp(struct tcp *tcp)
{
    tcp_stop_listening(tcp);
    for (unsigned i = 0; i < tcp->n_begun; i++) {
        channel_clear(tcp, &tcp->channels[i]);
    }
    descriptor_close(tcp->epoll);
    seals_free(tcp->seals);
    free(tcp->room);
    secret_free(tcp, tcp->size);
}

static tm_status open_descriptors(struct tcp *tcp,
                                  const struct net_config *config)
{
    const struct tcp_ports ports = {config->first_port, config->last_port,
                                    config->listens_within};
    tm_status status = TM_OK;

    if (config->device != NULL) {
        status =
            tcp_listen(config->device, &ports, &tcp->place, &tcp->listener);
    }
    if (status != TM_OK) {
        return status;
    }
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    tcp->room = malloc(tcp_room_size());
    if (tcp->epoll < 0 || tcp->room == NULL) {
        log_error("cannot wait for connections: %m");
        return TM_ESYSTEM;
    }
    if (tcp->listener >= 0) {
        tcp_watch(tcp, tcp->listener, EPOLLIN, WATCHED_LISTENER, 0);
    }
    return TM_OK;
}

tm_status tcp_open(struct tcp **tcp, const struct net_config *config,
                   struct inbox *inbox, struct frame_pool *pool)
{
    struct tcp *made = new_tcp(config);
    tm_status status;

    if (made == NULL) {
        return TM_ESYSTEM;
    }
    made->inbox = inbox;
    made->pool = pool;
    status = open_descriptors(made, config);
    if (status != TM_OK) {
        free_tcp(made);
        return status;
    }
    *tcp = made;
    return TM_OK;
}

size_t tcp_address(const struct tcp *tcp, uint8_t *bytes)
{
    return tcp_place_encode(&tcp->place, bytes);
}

tm_status tcp_take_key(struct tcp *tcp, const uint8_t *job_key)
{
    return seals_new(&tcp->seals, job_key, tcp->is_plain);
}

/** @return how many channels have frames that are not on their way */
static unsigned flush_all(struct tcp *tcp)
{
    unsigned n_left = 0;

    for (unsigned i = 0; i < tcp->n_begun; i++) {
        struct channel *channel = &tcp->channels[i];

        if (channel->state == CHANNEL_UP || channel->state == CHANNEL_FENCED) {
            channel_flush(tcp, channel);
            n_left += channel->first != NULL;
        }
    }
    return n_left;
}

void tcp_close(struct tcp *tcp, uint64_t deadline_ns)
{
    for (unsigned i = 0; i < tcp->n_begun; i++) {
        if (tcp->channels[i].state == CHANNEL_UP) {
            channel_send_control(tcp, &tcp->channels[i], KIND_BYE);
        }
    }
    while (flush_all(tcp) > 0 && clock_now_ns() < deadline_ns) {
        kthread_sleep_until(clock_now_ns() + 200000);
    }
    free_tcp(tcp);
}

// ---- members ----

// Of most nodes that there may be nothing is ever heard: their channels are memory that is
// never touched.
static struct channel *begun_channel(struct tcp *tcp, node_id node)
{
    ensure(node < tcp->n_nodes && node != tcp->self);
    while (tcp->n_begun <= node) {
        tcp->channels[tcp->n_begun++].fd = -1;
    }
    return &tcp->channels[node];
}

tm_status tcp_add(struct tcp *tcp, node_id node, const void *address,
                  size_t size, int comes)
{
    struct channel *channel = begun_channel(tcp, node);
    struct tcp_place place = {.size = 0};

    ensure(tcp->seals != NULL);
    if (!comes && tcp_place_decode(address, size, &place) != TM_OK) {
        return TM_EWIRE;
    }
    if (comes && tcp->listener < 0) {
        return TM_ESTATE;
    }
    channel_clear(tcp, channel);
    channel->place = place;
    channel->since = tcp->epoch;
    channel_forget_event(tcp, channel);
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
    struct channel *channel = begun_channel(tcp, node);

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
    channel_forget_event(tcp, channel);
}

void tcp_set_epoch(struct tcp *tcp, uint32_t epoch)
{
    ensure(epoch >= tcp->epoch);
    tcp->epoch = epoch;
}

// ---- progress ----

static void check_time(struct tcp *tcp)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t passed_ns = now_ns - tcp->polled_ns;

    tcp->time_ns += passed_ns < POLL_NS ? passed_ns : POLL_NS; // L6
    tcp->polled_ns = now_ns;
    greeters_check_time(tcp);
    for (unsigned i = 0; i < tcp->n_begun && tcp->n_timed + tcp->n_heavy > 0;
         i++) {
        struct channel *channel = &tcp->channels[i];

        if (channel_is_timed(channel->state)) {
            channel_check_time(tcp, channel);
        } else {
            channel_check_queue(tcp, channel);
        }
    }
}

static void handle_channel(struct tcp *tcp, struct channel *channel,
                           uint32_t events)
{
    switch (channel->state) {
    case CHANNEL_CONNECTING:
    case CHANNEL_ASKING:
        channel_go_on(tcp, channel);
        break;
    case CHANNEL_UP:
    case CHANNEL_FENCED:
        if (events & EPOLLOUT) {
            channel_flush(tcp, channel);
        }
        if (events & ~(uint32_t)EPOLLOUT) {
            channel_receive(tcp, channel);
        }
        break;
    default:
        break; // it has been closed since
    }
}

static void handle(struct tcp *tcp, const struct epoll_event *event)
{
    unsigned index = (unsigned)event->data.u64;

    switch ((enum watched)(event->data.u64 >> 32)) {
    case WATCHED_LISTENER:
        tcp_accept(tcp);
        break;
    case WATCHED_CHANNEL:
        handle_channel(tcp, &tcp->channels[index], event->events);
        break;
    case WATCHED_GREETER:
        greeter_go_on(tcp, &tcp->greeters[index]);
        break;
    }
    tcp_flush_dirty(tcp);
}

static void poll_events(struct tcp *tcp, int timeout_ms)
{
    struct epoll_event events[N_EVENTS];
    int n = epoll_wait(tcp->epoll, events, N_EVENTS, timeout_ms);

    for (int i = 0; i < n; i++) {
        handle(tcp, &events[i]);
    }
    if (tcp->n_timed + tcp->n_greeters + tcp->n_heavy > 0) {
        check_time(tcp);
    }
    tcp_check_waiting(tcp);
    if (tcp->listener >= 0 && tcp->has_met && tcp->n_awaited == 0) {
        tcp_stop_listening(tcp); // L2
    }
}

static void tell_events(struct tcp *tcp)
{
    for (unsigned i = 0; i < tcp->n_begun && tcp->n_events > 0; i++) {
        struct channel *channel = &tcp->channels[i];

        if (channel->has_event) {
            channel_forget_event(tcp, channel);
            tcp->event(tcp->owner, channel->event, (node_id)i, channel->why);
        }
    }
}

void tcp_progress(struct tcp *tcp)
{
    tcp->is_in_progress = 1;
    poll_events(tcp, 0);
    if (tcp->n_events > 0) {
        tell_events(tcp);
    }
    tcp_flush_dirty(tcp);
    tcp->is_in_progress = 0;
}

int tcp_is_restless(const struct tcp *tcp)
{
    return tcp->n_events > 0;
}

int tcp_fd(const struct tcp *tcp)
{
    return tcp->epoll;
}

// ---- meeting ----

/** @return one that is lost; NULL: none */
static const struct channel *find_lost(const struct tcp *tcp)
{
    for (unsigned i = 0; i < tcp->n_begun; i++) {
        if (tcp->channels[i].has_event) {
            return &tcp->channels[i];
        }
    }
    return NULL;
}

tm_status tcp_meet(struct tcp *tcp, char *why, size_t room)
{
    const struct channel *lost = NULL;

    tcp->is_meeting = 1;
    while (tcp->n_timed > 0 && lost == NULL) {
        poll_events(tcp, MEET_MS);
        lost = find_lost(tcp);
    }
    tcp->is_meeting = 0;
    if (lost != NULL) {
        snprintf(why, room, "no connection to node %u: %s",
                 channel_number(tcp, lost), lost->why);
        return TM_EPEER;
    }
    for (unsigned i = 0; i < tcp->n_begun; i++) {
        if (tcp->channels[i].state == CHANNEL_UP) {
            channel_watch(tcp, &tcp->channels[i]);
        }
    }
    tcp->has_met = 1;
    return TM_OK;
}

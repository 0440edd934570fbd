// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts: who connects to this node. Anybody may; such a connection is
// a *greeter* until it has shown that it is a node that is awaited.
//
//   WANTS_HELLO     a hello with a good MAC is there    WANTS_CONFIRM, answered; or
//                                                       WANTS_PEER if the node it
//                                                       names is not known yet
//   WANTS_PEER      tcp_add() of that node              WANTS_CONFIRM, answered
//   WANTS_CONFIRM   the first frame opens               the node's channel is up
//   all of these    anything else, or its time is over  closed, and counted
//
// G1  A greeter is asked for no more bytes than the hello or the confirm has: what is
//     behind them stays in the kernel, for the channel.
// G2  Nothing is sent before a hello with a good MAC (handshake.c, H1). Nothing of a
//     node's channel is touched before the confirm, so a recorded hello does no harm.
// G3  Who has shown a good hello has PROVEN_S, others GREET_S. For a node that has read its
//     answer the channel is up: to close it then ends the run, and where hundreds of
//     nodes start on a few processors it may take long to confirm.
// G4  There is a place for each node that there may be, and some for strangers. If all are
//     taken the oldest greeter goes, one that has shown nothing before others. A node that
//     was sent away comes again (tcp_reach.c).
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "net/tcp_priv.h"
#include "os/unseen.h"

#define GREET_S 5
#define PROVEN_S 60

/** So many connections are taken at once; others get their turn. */
#define N_ACCEPTED 16

const char *const net_refusal_texts[NET_N_REFUSALS] = {
    [NET_NO_HELLO] = "it does not begin as nodes do",
    [NET_CUT_SHORT] = "it has ended too soon",
    [NET_TOO_SLOW] = "it has not gone on",
    [NET_TOO_MANY] = "others came",
    [NET_WRONG_KEY] = "it has not the key of this run",
    [NET_WRONG_NODE] = "it means another node",
    [NET_NOT_AWAITED] = "the node that it names is connected already",
    [NET_REMOVED] = "the node that it names is no member any more",
    [NET_NO_CONFIRM] = "what it said was a recording",
    [NET_TOO_LATE] = "no more nodes are awaited",
};

static unsigned index_of(const struct tcp *tcp, const struct greeter *greeter)
{
    return (unsigned)(greeter - tcp->greeters);
}

static void tell_refused(const struct tcp *tcp, const struct greeter *greeter,
                         enum net_refusal why)
{
    const uint64_t *refused = tcp->inbox->counters.refused;
    struct tcp_place from = {.size = sizeof from.name};
    char text[TCP_PLACE_TEXT] = "?";
    uint64_t n_before = 0;

    for (unsigned i = 0; i < NET_N_REFUSALS; i++) {
        n_before += refused[i];
    }
    if (n_before >= LOG_REFUSED_MAX) {
        return;
    }
    if (getpeername(greeter->fd, &from.name.any, &from.size) == 0) {
        tcp_place_text(&from, text);
    }
    log_warning("a connection from %s is refused: %s", text,
                net_refusal_texts[why]);
}

/** Without counting it. */
static void forget(struct tcp *tcp, struct greeter *greeter)
{
    tcp->n_greeters--;
    explicit_bzero(greeter, sizeof *greeter);
    greeter->fd = -1;
}

static void refuse(struct tcp *tcp, struct greeter *greeter,
                   enum net_refusal why)
{
    tell_refused(tcp, greeter, why);
    tcp->inbox->counters.refused[why]++;
    tcp_close_socket(tcp, &greeter->fd);
    forget(tcp, greeter);
}

// ---- the steps of the table ----

static void give_time(const struct tcp *tcp, struct greeter *greeter,
                      unsigned seconds)
{
    greeter->due_ns = tcp->time_ns + seconds * UINT64_C(1000000000);
}

/** Answers are short enough to go at once. @return 0 if it does not */
static int send_answer(const struct greeter *greeter,
                       const struct handshake *draft)
{
    return send(greeter->fd, draft->said + HELLO_SIZE, ANSWER_SIZE,
                MSG_NOSIGNAL) == ANSWER_SIZE;
}

static void answer(struct tcp *tcp, struct greeter *greeter, int is_fenced)
{
    const struct answer text = {is_fenced, tcp->epoch};
    int is_done = handshake_answer(tcp->seals, greeter->bytes, &text,
                                   &tcp->draft, &greeter->lanes) == TM_OK &&
                  send_answer(greeter, &tcp->draft);

    explicit_bzero(&tcp->draft, sizeof tcp->draft);
    if (is_fenced) {
        refuse(tcp, greeter, NET_REMOVED);
    } else if (!is_done) {
        refuse(tcp, greeter, NET_CUT_SHORT);
    } else {
        greeter->state = WANTS_CONFIRM;
        greeter->n_bytes = 0;
        give_time(tcp, greeter, PROVEN_S); // G3
    }
}

/** A genuine hello: may the node that it names come? */
static void consider(struct tcp *tcp, struct greeter *greeter)
{
    const struct hello *hello = &greeter->hello;
    const struct channel *channel = &tcp->channels[hello->from];

    if (hello->epoch < channel->since) {
        answer(tcp, greeter, 1);
    } else if (channel->state == CHANNEL_AWAITED) {
        answer(tcp, greeter, 0);
    } else if (channel->state == CHANNEL_ABSENT) {
        greeter->state = WANTS_PEER;
        give_time(tcp, greeter, PROVEN_S);
    } else {
        refuse(tcp, greeter, NET_NOT_AWAITED);
    }
}

static void take_hello(struct tcp *tcp, struct greeter *greeter)
{
    struct hello *hello = &greeter->hello;

    if (tcp->seals == NULL) {
        return; // the key comes with tcp_take_key(), before any tcp_add()
    }
    if (handshake_read_hello(tcp->seals, greeter->bytes, hello) != TM_OK) {
        refuse(tcp, greeter, NET_WRONG_KEY);
    } else if (hello->to != tcp->self || hello->from == tcp->self ||
               hello->from >= tcp->n_nodes) {
        refuse(tcp, greeter, NET_WRONG_NODE);
    } else {
        consider(tcp, greeter);
    }
}

/** The connection and its keys become the channel's. */
static void promote(struct tcp *tcp, struct greeter *greeter,
                    struct channel *channel)
{
    channel->fd = greeter->fd;
    channel->lanes = greeter->lanes;
    forget(tcp, greeter);
    channel_is_up(tcp, channel);
    channel_flush(tcp, channel);
}

static void take_confirm(struct tcp *tcp, struct greeter *greeter)
{
    const struct seal_frame parts = {greeter->bytes, HEAD, 0};
    struct channel *channel = &tcp->channels[greeter->hello.from];

    if (seals_open(tcp->seals, &greeter->lanes.in, &parts) != TM_OK ||
        greeter->bytes[HEAD - 1] != KIND_CONFIRM) {
        refuse(tcp, greeter, NET_NO_CONFIRM);
    } else if (channel->state != CHANNEL_AWAITED) {
        refuse(tcp, greeter, NET_NOT_AWAITED);
    } else {
        promote(tcp, greeter, channel);
    }
}

// ---- reading ----

/** What it is to send, as a whole; 0: nothing now. */
static unsigned n_wanted(const struct greeter *greeter)
{
    switch (greeter->state) {
    case WANTS_HELLO:
        return HELLO_SIZE;
    case WANTS_CONFIRM:
        return CONFIRM_SIZE;
    default:
        return 0;
    }
}

/** Some bytes have come. */
static void take(struct tcp *tcp, struct greeter *greeter)
{
    if (greeter->state == WANTS_HELLO &&
        !handshake_is_hello(greeter->bytes, greeter->n_bytes)) {
        refuse(tcp, greeter, NET_NO_HELLO);
    } else if (greeter->n_bytes < n_wanted(greeter)) {
        return;
    } else if (greeter->state == WANTS_HELLO) {
        take_hello(tcp, greeter);
    } else {
        take_confirm(tcp, greeter);
    }
}

/** Whether it is to be told of what comes: not while nothing is wanted. */
static void watch(const struct tcp *tcp, const struct greeter *greeter)
{
    int wants = greeter->n_bytes < n_wanted(greeter);

    tcp_watch(tcp, greeter->fd, wants ? EPOLLIN : 0, WATCHED_GREETER,
              index_of(tcp, greeter));
}

void greeter_go_on(struct tcp *tcp, struct greeter *greeter)
{
    unsigned n_left;
    ssize_t n_bytes;

    if (greeter->fd < 0) {
        return; // it was closed by what came before
    }
    n_left = n_wanted(greeter) - greeter->n_bytes; // G1
    n_bytes = recv(greeter->fd, greeter->bytes + greeter->n_bytes,
                   greeter->state == WANTS_PEER ? 0 : n_left, 0);
    if (n_bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n_bytes <= 0) {
        refuse(tcp, greeter, NET_CUT_SHORT);
        return;
    }
    greeter->n_bytes += (unsigned)n_bytes;
    take(tcp, greeter);
    if (greeter->fd >= 0) {
        watch(tcp, greeter);
    }
}

void greeters_look_for(struct tcp *tcp, node_id node)
{
    for (unsigned i = 0; i < N_GREETERS; i++) {
        struct greeter *greeter = &tcp->greeters[i];

        if (greeter->fd < 0) {
            continue;
        }
        if (greeter->state == WANTS_HELLO && greeter->n_bytes == HELLO_SIZE) {
            take_hello(tcp, greeter); // it was here before the key
        } else if (greeter->state == WANTS_PEER &&
                   greeter->hello.from == node) {
            consider(tcp, greeter);
        }
        if (greeter->fd >= 0) {
            watch(tcp, greeter);
        }
    }
}

// ---- coming and going ----

/** G4. Is one to go before the other? */
static int goes_before(const struct greeter *a, const struct greeter *b)
{
    int a_is_new = a->state == WANTS_HELLO;
    int b_is_new = b->state == WANTS_HELLO;

    return a_is_new != b_is_new ? a_is_new : a->due_ns < b->due_ns;
}

static struct greeter *find_place(struct tcp *tcp)
{
    struct greeter *first = &tcp->greeters[0];

    for (unsigned i = 0; i < N_GREETERS; i++) {
        struct greeter *greeter = &tcp->greeters[i];

        if (greeter->fd < 0) {
            return greeter;
        }
        if (goes_before(greeter, first)) {
            first = greeter;
        }
    }
    refuse(tcp, first, NET_TOO_MANY);
    return first;
}

static void greet(struct tcp *tcp, int fd)
{
    struct greeter *greeter = find_place(tcp);

    *greeter = (struct greeter){.fd = fd, .state = WANTS_HELLO};
    give_time(tcp, greeter, GREET_S);
    tcp->n_greeters++;
    watch(tcp, greeter);
    greeter_go_on(tcp, greeter); // most often it is all there
}

void tcp_accept(struct tcp *tcp)
{
    for (unsigned i = 0; i < N_ACCEPTED && tcp->listener >= 0; i++) {
        int fd = unseen_accept(tcp->listener, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            return; // none is there, or none can be had now
        }
        greet(tcp, fd);
    }
}

void greeters_check_time(struct tcp *tcp)
{
    for (unsigned i = 0; i < N_GREETERS && tcp->n_greeters > 0; i++) {
        struct greeter *greeter = &tcp->greeters[i];

        if (greeter->fd >= 0 && tcp->time_ns >= greeter->due_ns) {
            refuse(tcp, greeter, NET_TOO_SLOW);
        }
    }
}

void tcp_stop_listening(struct tcp *tcp)
{
    tcp_close_socket(tcp, &tcp->listener);
    for (unsigned i = 0; i < N_GREETERS; i++) {
        if (tcp->greeters[i].fd >= 0) {
            refuse(tcp, &tcp->greeters[i], NET_TOO_LATE);
        }
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// net/tcp_receive.c and net/tcp_greet.c: what comes to a node by TCP, in pieces of any
// size. Of a peer that is connected, messages are delivered in order up to the first
// frame that is not genuine, and none behind it. Who connects is the peer only with a
// genuine hello and confirm, whatever else it says.
//
// The first byte says which of the two, how large the pieces are, and whether the peer
// or a stranger speaks; the rest is what is said: frames (kind u8, length u8, text),
// sealed unless the kind's highest bit is set.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "net/tcp_priv.h"

enum { N_NODES = 3, PEER = 1, MOST = 8192, NOT_SEALED = 0x80 };

static struct tcp *tcp;
static struct inbox inbox;
static struct frame_pool pool;
static struct seals *seals;
static struct descriptor_set sockets;
static int epoll = -1;
static unsigned n_delivered;

struct said {
    uint8_t bytes[MOST + 512];
    size_t size;
    unsigned n_genuine; ///< messages in it before anything else
};

static void receive(void *owner, node_id from, const struct message *message)
{
    (void)owner;
    (void)message;
    FUZZ_CHECK(from == PEER);
    n_delivered++;
}

static void event(void *owner, enum net_event what, node_id node,
                  const char *why)
{
    (void)owner;
    (void)what;
    (void)node;
    (void)why;
}

static void open_tcp(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};

    if (seals == NULL) {
        FUZZ_CHECK(seals_new(&seals, key, 0) == TM_OK);
        epoll = epoll_create1(EPOLL_CLOEXEC);
        tcp = calloc(1, sizeof *tcp + N_NODES * sizeof tcp->channels[0]);
        FUZZ_CHECK(epoll >= 0 && tcp != NULL);
        tcp->room = malloc(tcp_room_size());
        FUZZ_CHECK(tcp->room != NULL);
    }
    tcp->n_nodes = N_NODES;
    tcp->n_begun = N_NODES;
    tcp->epoch = 1;
    tcp->event = event;
    tcp->inbox = &inbox;
    tcp->pool = &pool;
    tcp->seals = seals;
    tcp->sockets = &sockets;
    tcp->epoll = epoll;
    tcp->listener = -1;
    frame_pool_init(&pool);
    inbox_init(&inbox, 0, receive, NULL);
    inbox.counters.bad_frames = 8; // the first ones would be logged
    inbox.counters.refused[NET_NO_HELLO] = 8;
    n_delivered = 0;
    for (unsigned i = 0; i < N_GREETERS; i++) {
        tcp->greeters[i].fd = -1;
    }
    for (unsigned i = 0; i < N_NODES; i++) {
        tcp->channels[i].fd = -1;
    }
}

static void close_tcp(void)
{
    uint8_t *room = tcp->room;

    tcp_stop_listening(tcp);
    for (unsigned i = 0; i < N_NODES; i++) {
        channel_clear(tcp, &tcp->channels[i]);
    }
    frame_pool_release(&pool);
    memset(tcp, 0, sizeof *tcp + N_NODES * sizeof tcp->channels[0]);
    tcp->room = room;
}

/** @param[out] ends  [2]  the node's, which does not block, and the other one */
static void open_connection(int *ends)
{
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

// ---- what is said ----

static void say_frame(struct said *said, struct wire_reader *input,
                      struct seal_lane *lane, int *all_genuine)
{
    uint8_t kind = wire_get_u8(input);
    size_t length = wire_get_u8(input);
    uint8_t *bytes = said->bytes + said->size;
    struct wire_writer writer = {.at = bytes, .end = bytes + HEAD};
    struct message message;

    if (length > fuzz_left(input)) {
        length = fuzz_left(input);
    }
    if (kind & NOT_SEALED) { // as it is
        if (length > 0) {
            memcpy(bytes, wire_get_bytes(input, length), length);
        }
        said->size += length;
        *all_genuine &= length == 0;
        return;
    }
    wire_put_u32(&writer, (uint32_t)length + SEAL_TAG_SIZE);
    wire_put_u32(&writer, 1);
    wire_put_u8(&writer, kind);
    if (length > 0) {
        memcpy(bytes + HEAD, wire_get_bytes(input, length), length);
    }
    if (*all_genuine && kind == KIND_MESSAGE && length > 0) {
        said->n_genuine +=
            message_decode(bytes + HEAD, (uint32_t)length, &message) == TM_OK;
    }
    seals_seal(seals, lane, &(struct seal_frame){bytes, HEAD, length});
    said->size += HEAD + length + SEAL_TAG_SIZE;
}

static void say_frames(struct said *said, struct wire_reader *input,
                       struct seal_lane *lane)
{
    int all_genuine = 1;

    while (fuzz_left(input) > 0 && said->size < MOST) {
        say_frame(said, input, lane, &all_genuine);
    }
}

// ---- who speaks ----

/** A peer that is connected. */
static void hear_peer(struct wire_reader *input, size_t piece)
{
    static struct said said;
    struct channel *channel = &tcp->channels[PEER];
    struct seal_lane lane = {.key = {3}};
    int ends[2];

    said.size = 0;
    said.n_genuine = 0;
    say_frames(&said, input, &lane);
    open_connection(ends);
    channel->fd = ends[0];
    channel->lanes.in.key[0] = 3;
    channel_set_state(tcp, channel, CHANNEL_UP);
    for (size_t at = 0; at < said.size && channel->fd >= 0; at += piece) {
        size_t n = piece < said.size - at ? piece : said.size - at;

        FUZZ_CHECK(send(ends[1], said.bytes + at, n, MSG_NOSIGNAL) ==
                   (ssize_t)n);
        channel_receive(tcp, channel);
    }
    close(ends[1]);
    if (channel->fd >= 0) {
        channel_receive(tcp, channel);
    }
    FUZZ_CHECK(channel->state == CHANNEL_LOST);
    FUZZ_CHECK(n_delivered == said.n_genuine);
}

static void put(struct greeter *greeter, int fd, const uint8_t *bytes,
                size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece) {
        size_t n = piece < size - at ? piece : size - at;

        if (send(fd, bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n) {
            return; // it has closed
        }
        for (unsigned i = 0; i < 4 && greeter->fd >= 0; i++) {
            greeter_go_on(tcp, greeter);
        }
    }
}

/** A peer that connects, up to its confirm. @return its lanes are made */
static int greet_as_peer(struct greeter *greeter, int fd, size_t piece,
                         uint32_t epoch, struct seal_lanes *lanes)
{
    struct handshake handshake = {0};
    struct answer answer;

    handshake_hello(seals, &(struct hello){PEER, 0, epoch}, &handshake);
    put(greeter, fd, handshake.said, HELLO_SIZE, piece);
    if (recv(fd, handshake.said + HELLO_SIZE, ANSWER_SIZE, MSG_DONTWAIT) !=
        ANSWER_SIZE) {
        return 0;
    }
    FUZZ_CHECK(handshake_read_answer(seals, &handshake, &answer, lanes) ==
               TM_OK);
    return 1;
}

/** Somebody who connects. */
static void hear_greeter(struct wire_reader *input, size_t piece, int is_peer)
{
    static struct said said;
    struct greeter *greeter = &tcp->greeters[0];
    struct channel *channel = &tcp->channels[PEER];
    struct seal_lanes lanes = {0};
    int has_lanes = 0;
    int ends[2];

    open_connection(ends);
    channel_set_state(tcp, channel, CHANNEL_AWAITED);
    *greeter = (struct greeter){.fd = ends[0], .state = WANTS_HELLO};
    tcp->n_greeters = 1;
    if (is_peer) {
        has_lanes = greet_as_peer(greeter, ends[1], piece, 1, &lanes);
    }
    FUZZ_CHECK(channel->state == CHANNEL_AWAITED);
    said.size = 0;
    say_frames(&said, input, &lanes.out);
    put(greeter, ends[1], said.bytes, said.size, piece);
    if (channel->state != CHANNEL_AWAITED) {
        FUZZ_CHECK(channel->state == CHANNEL_UP && has_lanes);
        FUZZ_CHECK(said.bytes[HEAD - 1] == KIND_CONFIRM);
    }
    close(ends[1]);
    for (unsigned i = 0; i < 4 && greeter->fd >= 0; i++) {
        greeter_go_on(tcp, greeter);
    }
    FUZZ_CHECK(n_delivered == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    uint8_t how = wire_get_u8(&input);
    size_t piece = (size_t)1 << (3 + how % 8) | 5;

    open_tcp();
    if (how & 0x40) {
        hear_greeter(&input, piece, how & 0x20);
    } else {
        hear_peer(&input, piece);
    }
    close_tcp();
    return 0;
}

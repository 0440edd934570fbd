// SPDX-License-Identifier: BSD-3-Clause
// net/tcp_receive.c and net/tcp_greet.c: whatever comes, and however it is cut into
// pieces, what is delivered is what the node at the other end has sealed, once each and
// in order, up to the first byte that is not its own; and a greeter that has no key
// becomes nobody.
//
// Node 0 receives; node 1 is connected, node 2 is awaited. The input is a list of what
// comes: for which connection, how many bytes, frames of node 1 or bytes of the input.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "net/tcp_priv.h"

enum { N_NODES = 3, STEPS = 48, TEXT = 64, STREAM = 4096 };

/** The message that carries its own number. */
#define CARRIER MESSAGE_beat

static struct seals *seals;
static struct frame_pool pool;
static struct inbox inbox;
static struct tcp *tcp;
static struct seal_lane lane; ///< of node 1
static int ends[2];           ///< node 1's, the greeter's
static uint32_t n_sealed;
static uint32_t n_delivered;
static unsigned n_lost;

static void receive(void *owner, node_id from, const struct message *message)
{
    (void)owner;
    FUZZ_CHECK(from == 1 && message->type == CARRIER);
    FUZZ_CHECK(message->u.beat.number == n_delivered);
    n_delivered++;
    FUZZ_CHECK(n_delivered <= n_sealed);
}

static void note_event(void *owner, enum net_event event, node_id node,
                       const char *why)
{
    (void)owner;
    (void)why;
    FUZZ_CHECK(event == NET_PEER_LOST && node == 1);
    n_lost++;
}

/** @return this node's end; the other one is *other */
static int make_pair(int *other)
{
    int pair[2];

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    *other = pair[1];
    return pair[0];
}

static void open_tcp(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};
    struct channel *channel;

    FUZZ_CHECK(seals != NULL || seals_new(&seals, key, 0) == TM_OK);
    tcp = calloc(1, sizeof *tcp + N_NODES * sizeof tcp->channels[0]);
    FUZZ_CHECK(tcp != NULL);
    n_sealed = n_delivered = n_lost = 0;
    frame_pool_init(&pool);
    inbox_init(&inbox, 0, receive, NULL);
    inbox.counters.bad_frames = 8; // the first ones would be logged
    inbox.counters.refused[0] = 8;
    *tcp = (struct tcp){
        .n_nodes = N_NODES,
        .event = note_event,
        .inbox = &inbox,
        .pool = &pool,
        .seals = seals,
        .epoll = epoll_create1(0),
        .listener = -1,
        .room = malloc(tcp_room_size()),
        .n_greeters = 1,
    };
    FUZZ_CHECK(tcp->epoll >= 0 && tcp->room != NULL);
    lane = (struct seal_lane){.key = {3}};
    for (unsigned i = 0; i < N_GREETERS; i++) {
        tcp->greeters[i].fd = -1;
    }
    for (unsigned i = 0; i < N_NODES; i++) {
        tcp->channels[i].fd = -1;
    }
    channel = &tcp->channels[1];
    channel->fd = make_pair(&ends[0]);
    channel->lanes.in = lane;
    channel->state = CHANNEL_UP;
    channel_watch(tcp, channel);
    tcp->channels[2].state = CHANNEL_AWAITED;
    tcp->greeters[0].fd = make_pair(&ends[1]);
    tcp->greeters[0].due_ns = UINT64_MAX;
    tcp_watch(tcp, tcp->greeters[0].fd, EPOLLIN, WATCHED_GREETER, 0);
}

static void close_tcp(void)
{
    for (unsigned i = 0; i < N_NODES; i++) {
        channel_clear(tcp, &tcp->channels[i]);
    }
    tcp_close_socket(tcp, &tcp->greeters[0].fd);
    close(ends[0]);
    close(ends[1]);
    close(tcp->epoll);
    frame_pool_release(&pool);
    free(tcp->room);
    free(tcp);
}

static size_t seal_frame_of(uint8_t *bytes)
{
    const struct message message = {.type = CARRIER,
                                    .u.beat = {.number = n_sealed++}};
    struct wire_writer head = {.at = bytes, .end = bytes + HEAD};
    struct seal_frame frame = {.bytes = bytes, .head_size = HEAD};

    frame.text_size = message_encode_header(&message, bytes + HEAD);
    wire_put_u32(&head, (uint32_t)frame.text_size + SEAL_TAG_SIZE);
    wire_put_u32(&head, 0);
    wire_put_u8(&head, KIND_MESSAGE);
    seals_seal(seals, &lane, &frame);
    return HEAD + frame.text_size + SEAL_TAG_SIZE;
}

/** In pieces of so many bytes, each of which is taken before the next comes. */
static void come(int fd, const uint8_t *bytes, size_t size, size_t piece)
{
    while (size > 0) {
        size_t now = size < piece ? size : piece;

        if (send(fd, bytes, now, MSG_NOSIGNAL) < 0) {
            return; // it has been closed
        }
        bytes += now;
        size -= now;
        tcp_progress(tcp);
    }
}

/** @return 0 at the end of the input */
static int take_step(struct wire_reader *input)
{
    uint8_t stream[STREAM];
    size_t size = 0;
    uint8_t what = wire_get_u8(input);
    size_t piece = 1 + wire_get_u8(input);
    unsigned n = what >> 4;

    if (what & 1) {
        for (unsigned i = 0; i <= n; i++) {
            size += seal_frame_of(stream + size);
        }
        if (what & 2) {
            stream[wire_get_u16(input) % size] ^= wire_get_u8(input);
        }
    } else if (4 * n <= fuzz_left(input) && n > 0) {
        memcpy(stream, wire_get_bytes(input, (size_t)4 * n), (size_t)4 * n);
        size = (size_t)4 * n;
    }
    come(ends[what >> 2 & 1], stream, size, piece);
    return !input->failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);

    open_tcp();
    for (unsigned i = 0; i < STEPS && take_step(&input); i++) {
    }
    FUZZ_CHECK(tcp->channels[2].state == CHANNEL_AWAITED);
    FUZZ_CHECK(n_lost <= 1);
    close_tcp();
    return 0;
}

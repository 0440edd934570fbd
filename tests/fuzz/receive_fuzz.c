// SPDX-License-Identifier: BSD-3-Clause
// net/transport_ucx_receive.c with net/order.c and net/inbox.c: whatever comes over
// UCX, a node's messages are delivered once each and in order, and none of a node that
// is not on this host.
//
// Node 0 receives; node 1 is on its host, node 2 on another. The input is a list of
// frames: who sends it, how many numbers too early or late, how long it is.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/transport_ucx_priv.h"

enum { N_NODES = 3, FRAMES = 64, TEXT = 96 };

/** The message that carries its own sequence number. */
#define CARRIER MESSAGE_beat

static struct net *net;
static uint64_t n_delivered[N_NODES];
static uint64_t at_least[N_NODES]; ///< the sequence number of the next message

static void receive(void *owner, node_id from, const struct message *message)
{
    (void)owner;
    FUZZ_CHECK(from == 1);
    FUZZ_CHECK(net->peers[from].order.next >= at_least[from]);
    at_least[from] = net->peers[from].order.next + 1;
    if (message->type == CARRIER) {
        FUZZ_CHECK(message->u.beat.number == at_least[from] - 1);
    }
    n_delivered[from]++;
}

static void open_net(void)
{
    net = calloc(1, sizeof *net + N_NODES * sizeof net->peers[0]);
    FUZZ_CHECK(net != NULL);
    net->n_nodes = N_NODES;
    frame_pool_init(&net->pool);
    inbox_init(&net->inbox, 0, receive, NULL);
    net->inbox.counters.bad_frames = 8; // the first ones would be logged
    net->wire = &net->wire_room;
    net->wire_room.owner = net;
    for (unsigned i = 1; i < N_NODES; i++) {
        net->peers[i].reach = i == 2 ? REACH_ELSEWHERE : REACH_HERE;
        order_init(&net->peers[i].order);
        n_delivered[i] = 0;
        at_least[i] = 0;
    }
}

static void close_net(void)
{
    for (unsigned i = 1; i < N_NODES; i++) {
        order_release(&net->peers[i].order);
    }
    frame_pool_release(&net->pool);
    free(net);
}

static void come(const uint8_t *bytes, size_t size)
{
    const ucp_am_recv_param_t param = {0};
    // A copy of its own: what reads behind its end is found.
    uint8_t *frame = malloc(size + (size == 0));

    FUZZ_CHECK(frame != NULL);
    memcpy(frame, bytes, size);
    ucx_frame_has_come(net->wire, NULL, 0, frame, size, &param);
    free(frame);
}

static size_t write_frame(uint8_t *bytes, uint64_t sequence, node_id from,
                          struct wire_reader *input)
{
    struct wire_writer writer = {.at = bytes, .end = bytes + PREFIX + TEXT};
    size_t length = wire_get_u8(input) % TEXT;

    wire_put_u64(&writer, sequence);
    wire_put_u16(&writer, from);
    if (length < 6) {
        wire_put_u16(&writer, CARRIER);
        wire_put_u32(&writer, (uint32_t)sequence);
    } else if (length <= fuzz_left(input)) {
        wire_put_bytes(&writer, wire_get_bytes(input, length), length);
        if (bytes[PREFIX] == CARRIER) {
            bytes[PREFIX] = 0; // only those that are made above
        }
    }
    return (size_t)(writer.at - bytes);
}

/** One frame. @return 0 at the end of the input */
static int take_frame(struct wire_reader *input)
{
    uint8_t bytes[PREFIX + TEXT];
    node_id from = wire_get_u8(input) & 3;
    uint64_t before = n_delivered[1];
    uint64_t sequence = net->peers[1].order.next;

    sequence += (uint64_t)(int64_t)(int8_t)wire_get_u8(input);
    come(bytes, write_frame(bytes, sequence, from, input));
    FUZZ_CHECK(from == 1 || n_delivered[1] == before);
    return !input->failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);

    open_net();
    for (unsigned i = 0; i < FRAMES && take_frame(&input); i++) {
    }
    close_net();
    return 0;
}

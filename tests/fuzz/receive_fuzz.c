// SPDX-License-Identifier: BSD-3-Clause
// net/transport_ucx_receive.c with net/order.c and net/inbox.c: whatever comes on
// whichever wire, a node's messages are delivered once each and in order, and those of
// a node on another host only if they are genuine.
//
// Node 0 receives; node 1 is on its host, node 2 on another. The input is a list of
// frames: who sends it, on which wire, how many numbers too early or late, what is
// changed, how long it is.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/transport_ucx_priv.h"

enum { N_NODES = 3, FRAMES = 64, TEXT = 96 };

/** The message that carries its own sequence number. */
#define CARRIER MESSAGE_beat

static struct seals *seals[N_NODES];
static struct net *net;
static uint64_t n_delivered[N_NODES];
static uint64_t at_least[N_NODES]; ///< the sequence number of the next message

static void receive(void *owner, node_id from, const struct message *message)
{
    (void)owner;
    FUZZ_CHECK(from == 1 || from == 2);
    FUZZ_CHECK(net->peers[from].order.next >= at_least[from]);
    at_least[from] = net->peers[from].order.next + 1;
    if (message->type == CARRIER) {
        FUZZ_CHECK(message->u.beat.number == at_least[from] - 1);
    }
    n_delivered[from]++;
}

static void open_net(void)
{
    const uint8_t key[SEAL_KEY_SIZE] = {7};

    for (node_id i = 0; i < N_NODES && seals[i] == NULL; i++) {
        FUZZ_CHECK(seals_new(&seals[i], key, i, N_NODES) == TM_OK);
    }
    net = calloc(1, sizeof *net + N_NODES * sizeof net->peers[0]);
    FUZZ_CHECK(net != NULL);
    net->n_nodes = N_NODES;
    net->seals = seals[0];
    frame_pool_init(&net->pool);
    inbox_init(&net->inbox, 0, receive, NULL);
    net->inbox.counters.bad_frames = 8; // the first ones would be logged
    for (unsigned i = 0; i < N_WIRES; i++) {
        net->wires[i] = &net->room[i];
        net->room[i].net = net;
        net->room[i].is_sealed = i == BETWEEN_HOSTS;
    }
    for (unsigned i = 1; i < N_NODES; i++) {
        net->peers[i].wire = net->wires[i == 2 ? BETWEEN_HOSTS : WITHIN_HOST];
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

static void come(unsigned wire, uint8_t *bytes, size_t size)
{
    const ucp_am_recv_param_t param = {0};
    // A copy of its own: what reads behind its end is found.
    uint8_t *frame = malloc(size + (size == 0));

    FUZZ_CHECK(frame != NULL);
    memcpy(frame, bytes, size);
    ucx_frame_has_come(net->wires[wire], NULL, 0, frame, size, &param);
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
    uint8_t bytes[PREFIX + TEXT + SEAL_TAG_SIZE];
    uint8_t how = wire_get_u8(input);
    node_id from = how & 3;
    unsigned wire = how >> 2 & 1;
    uint64_t before = n_delivered[1] + n_delivered[2];
    uint64_t sequence = net->peers[from == 2 ? 2 : 1].order.next;
    size_t size;
    int is_genuine = from == 2 && wire == BETWEEN_HOSTS;

    sequence += (uint64_t)(int64_t)(int8_t)wire_get_u8(input);
    size = write_frame(bytes, sequence, from, input);
    if (how & 8 && is_genuine) {
        const struct seal_frame frame = {sequence, bytes, PREFIX};

        seals_seal(seals[2], 0, &frame, bytes + PREFIX, size - PREFIX);
        size += SEAL_TAG_SIZE;
        if (how & 16) {
            bytes[wire_get_u8(input) % size] ^= 1 << (how >> 5);
            is_genuine = 0;
        }
    } else {
        is_genuine = 0;
    }
    come(wire, bytes, size);
    if (wire == BETWEEN_HOSTS && !is_genuine) {
        FUZZ_CHECK(n_delivered[1] + n_delivered[2] == before);
    }
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

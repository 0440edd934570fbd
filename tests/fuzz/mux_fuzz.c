// SPDX-License-Identifier: BSD-3-Clause
// cli/mux.c and remote_take() of cli/remote.c: a launcher to which anything may speak as the
// agent of a host. Its node's files end, whatever comes, and what waits for them is
// bounded. The input is taken as it is, or, if its first byte says so, as frames with
// the lengths that they have.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "remote.h"

enum { N_NODES = 2, MOST = 60000, ROUNDS = 4, AGAIN = 16 };

/** Frames of the input: kind u8, node u8, length u16, body. @return bytes */
static size_t write_frames(struct wire_reader *input, uint8_t *bytes)
{
    struct wire_writer writer = {.at = bytes, .end = bytes + MOST};

    while (!input->failed && !writer.failed && fuzz_left(input) > 0) {
        uint8_t kind = wire_get_u8(input);
        uint8_t node = wire_get_u8(input);
        size_t length = wire_get_u16(input);

        if (length > fuzz_left(input)) {
            length = fuzz_left(input);
        }
        wire_put_u32(&writer, (uint32_t)length + 3);
        wire_put_u8(&writer, kind);
        wire_put_u16(&writer, node);
        wire_put_bytes(&writer, wire_get_bytes(input, length), length);
    }
    return (size_t)(writer.at - bytes);
}

/** The remote ends of what a host's connection and a node's files are. */
struct ends {
    int agent;    // writes what the mux reads
    int reply;    // reads what the mux writes
    int link;     // the node's control socket
    int out;      // its output
    int is_valid; // the last two are there
};

static void open_host(struct remote_host *host, struct remote_node *nodes,
                      struct ends *ends)
{
    int in[2];
    int out[2];
    int link[2];
    int output[2];

    FUZZ_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
               pipe2(output, O_CLOEXEC | O_NONBLOCK) == 0 &&
               socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          0, link) == 0);
    *host = (struct remote_host){.n_nodes = N_NODES, .nodes = nodes};
    mux_open(&host->mux, in[0], out[1]);
    FUZZ_CHECK(mux_make_channels(&host->mux, N_NODES) == 0);
    mux_attach(&host->mux, 1, MUX_LINK, link[0]);
    mux_attach(&host->mux, 1, MUX_OUT, output[1]);
    *ends = (struct ends){in[1], out[0], link[1], output[0], 1};
    fcntl(ends->agent, F_SETFL, O_NONBLOCK);
}

/** One turn of the launcher's loop. */
static void turn(struct remote_host *host)
{
    struct pollfd set[2 + N_NODES * MUX_CHANNELS];
    struct mux_frame frame;

    FUZZ_CHECK(mux_n_polled(&host->mux) == sizeof set / sizeof set[0]);
    mux_fill(&host->mux, set);
    poll(set, sizeof set / sizeof set[0], 0);
    mux_move(&host->mux, set, 1);
    while (mux_next(&host->mux, &frame)) {
        remote_take(host, &frame);
    }
    for (unsigned i = 0; i < N_NODES * MUX_CHANNELS; i++) {
        FUZZ_CHECK(host->mux.channels[i].out.used <= MUX_WAITING_MAX);
    }
}

static void check_nodes(const struct remote_node *nodes)
{
    for (unsigned i = 0; i < N_NODES; i++) {
        FUZZ_CHECK(memchr(nodes[i].what, 0, sizeof nodes[i].what) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MOST];
    static struct remote_node nodes[N_NODES];
    struct wire_reader input = wire_read(data, size);
    struct remote_host host;
    struct ends ends;
    uint8_t how = wire_get_u8(&input);

    if (how & 1) {
        size = write_frames(&input, bytes);
    } else {
        size = fuzz_left(&input) < MOST ? fuzz_left(&input) : MOST;
        memcpy(bytes, input.at, size);
    }
    memset(nodes, 0, sizeof nodes);
    open_host(&host, nodes, &ends);
    if (how & 2) {
        FUZZ_CHECK(write(ends.link, "from the node", 13) == 13);
        turn(&host);
    }
    for (unsigned i = 0; i < (how & 8 ? AGAIN : 1) && !host.mux.is_broken;
         i++) {
        FUZZ_CHECK(write(ends.agent, bytes, size) == (ssize_t)size);
        turn(&host);
    }
    if (how & 4) {
        close(ends.link);
        ends.link = -1;
        turn(&host);
    }
    close(ends.agent);
    for (unsigned i = 0; i < ROUNDS && host.mux.in >= 0; i++) {
        turn(&host);
    }
    mux_drain(&host.mux, 1);
    FUZZ_CHECK(host.mux.in < 0 || host.mux.is_broken);
    check_nodes(nodes);
    mux_close(&host.mux);
    close(ends.reply);
    close(ends.out);
    if (ends.link >= 0) {
        close(ends.link);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// cluster/boot_launcher.c and bootstrap.c: a node to which anything may speak as its launcher. Every call
// comes to an end. The input is taken as it is, or, if its first byte says so, as
// frames with the lengths that they have.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/bootstrap.h"
#include "fuzz.h"

enum { N_NODES = 3, MOST = 32768 };

static struct boot_member members[N_NODES];
static uint16_t host_of[N_NODES];
static uint8_t job_key[BOOT_KEY_SIZE];

/** Frames of the input: kind u8, length u16, body. @return bytes written */
static size_t write_frames(struct wire_reader *input, uint8_t *bytes)
{
    struct wire_writer writer = {.at = bytes, .end = bytes + MOST};

    while (!input->failed && fuzz_left(input) > 0) {
        uint8_t header[BOOT_HEADER];
        uint8_t kind = wire_get_u8(input);
        size_t length = wire_get_u16(input);

        if (length > fuzz_left(input)) {
            length = fuzz_left(input);
        }
        boot_header(header, kind, length);
        wire_put_bytes(&writer, header, sizeof header);
        wire_put_bytes(&writer, wire_get_bytes(input, length), length);
    }
    return (size_t)(writer.at - bytes);
}

static void converse(struct bootstrap *bootstrap)
{
    static struct node_card own;
    const struct boot_roster roster = {job_key, members, host_of};
    static struct boot_change change;
    enum bootstrap_event event;

    node_card_set_version(&own);
    if (bootstrap_exchange(bootstrap, &own, &roster) != TM_OK ||
        bootstrap_ready(bootstrap) != TM_OK) {
        return;
    }
    do {
        event = bootstrap_poll(bootstrap);
        if (event == BOOTSTRAP_CHANGE &&
            bootstrap_take_change(bootstrap, &change) == TM_OK) {
            FUZZ_CHECK(change.node < TM_MAX_NODES);
        }
    } while (event == BOOTSTRAP_STATUS || event == BOOTSTRAP_CHANGE);
    bootstrap_done(bootstrap, 0);
    bootstrap_is_ended(bootstrap, 0);
}

static void forget_members(void)
{
    for (unsigned i = 0; i < N_NODES; i++) {
        free(members[i].address);
        members[i].address = NULL;
    }
}

/** As a launcher's child. */
static void open_node(struct bootstrap *bootstrap, int fd)
{
    char text[16];

    snprintf(text, sizeof text, "%d", fd);
    FUZZ_CHECK(setenv("TEAMSTER_BOOT_FD", text, 1) == 0);
    snprintf(text, sizeof text, "%d", N_NODES);
    FUZZ_CHECK(setenv("TEAMSTER_NODES", text, 1) == 0);
    FUZZ_CHECK(setenv("TEAMSTER_NODE", "0", 1) == 0);
    FUZZ_CHECK(bootstrap_open(bootstrap) == TM_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MOST];
    struct wire_reader input = wire_read(data, size);
    struct bootstrap bootstrap;
    int ends[2];

    if (wire_get_u8(&input) & 1) {
        size = write_frames(&input, bytes);
    } else {
        size = fuzz_left(&input) < MOST ? fuzz_left(&input) : MOST;
        memcpy(bytes, input.at, size);
    }
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    open_node(&bootstrap, ends[0]);
    FUZZ_CHECK(send(ends[1], bytes, size, 0) == (ssize_t)size);
    shutdown(ends[1], SHUT_WR);
    converse(&bootstrap);
    forget_members();
    close(ends[0]);
    close(ends[1]);
    return 0;
}

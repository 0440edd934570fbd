// SPDX-License-Identifier: BSD-3-Clause
// Two ends of a connection in one process, with a file at each end of a channel.
#include "mux.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define N_NODES 2u

struct side {
    struct mux mux;
    int remote_end[N_NODES][MUX_CHANNELS]; ///< of the mux's files; -1: none
};

static struct side launcher;
static struct side agent;

static void attach(struct side *side, unsigned node, enum mux_channel which,
                   int is_writer)
{
    int ends[2];

    if (which == MUX_LINK) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    } else {
        assert_int_equal(pipe(ends), 0);
    }
    mux_attach(&side->mux, node, which, ends[is_writer]);
    side->remote_end[node][which] = ends[!is_writer];
    fcntl(ends[!is_writer], F_SETFL, O_NONBLOCK);
}

static void make_channels(void)
{
    assert_int_equal(mux_make_channels(&launcher.mux, N_NODES), 0);
    assert_int_equal(mux_make_channels(&agent.mux, N_NODES), 0);
    for (unsigned node = 0; node < N_NODES; node++) {
        for (unsigned which = 0; which < MUX_CHANNELS; which++) {
            attach(&launcher, node, which, which != MUX_INPUT);
            attach(&agent, node, which, which == MUX_INPUT);
        }
    }
}

static int open_sides(void **unused)
{
    int there[2];
    int back[2];

    (void)unused;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    mux_open(&launcher.mux, back[0], there[1]);
    mux_open(&agent.mux, there[0], back[1]);
    make_channels();
    return 0;
}

static void close_ends(struct side *side)
{
    for (unsigned node = 0; node < N_NODES; node++) {
        for (unsigned which = 0; which < MUX_CHANNELS; which++) {
            if (side->remote_end[node][which] >= 0) {
                close(side->remote_end[node][which]);
            }
        }
    }
}

static int close_sides(void **unused)
{
    (void)unused;
    mux_close(&launcher.mux);
    mux_close(&agent.mux);
    close_ends(&launcher);
    close_ends(&agent);
    return 0;
}

static void move(struct side *side)
{
    struct pollfd set[2 + N_NODES * MUX_CHANNELS];
    struct mux_frame frame;

    mux_fill(&side->mux, set);
    assert_true(poll(set, mux_n_polled(&side->mux), 0) >= 0);
    mux_move(&side->mux, set, clock_now_ns());
    assert_int_equal(mux_next(&side->mux, &frame), 0);
}

/** Send bytes through a channel and compare what comes out. */
static void pass(struct side *from, struct side *to, unsigned node,
                 enum mux_channel which, size_t size)
{
    char *sent = malloc(size);
    char *got = malloc(size);
    size_t n_sent = 0;
    size_t n_got = 0;

    assert_true(sent != NULL && got != NULL);
    for (size_t i = 0; i < size; i++) {
        sent[i] = (char)(i * 31 + i / 1000 + which);
    }
    while (n_got < size) {
        ssize_t n =
            write(from->remote_end[node][which], sent + n_sent, size - n_sent);

        n_sent += n > 0 ? (size_t)n : 0;
        move(from);
        move(to);
        n = read(to->remote_end[node][which], got + n_got, size - n_got);
        n_got += n > 0 ? (size_t)n : 0;
    }
    assert_memory_equal(got, sent, size);
    free(sent);
    free(got);
}

static void bytes_come_out_of_their_channel(void **unused)
{
    (void)unused;
    for (size_t size = 1; size < 3000000; size = size * 7 + 1) {
        pass(&launcher, &agent, 1, MUX_LINK, size);
        pass(&agent, &launcher, 1, MUX_LINK, size);
        pass(&launcher, &agent, 0, MUX_INPUT, size);
        pass(&agent, &launcher, 0, MUX_OUT, size);
        pass(&agent, &launcher, 1, MUX_ERR, size);
    }
}

static void a_reader_that_sleeps_holds_up_its_own_channel_only(void **unused)
{
    static char bytes[1 << 16];
    size_t n_taken = 0;
    unsigned n_full = 0;

    (void)unused;
    while (n_full < 100) { // nobody reads what node 0 writes
        ssize_t n = write(agent.remote_end[0][MUX_OUT], bytes, sizeof bytes);

        n_taken += n > 0 ? (size_t)n : 0;
        n_full += n < 0;
        move(&agent);
        move(&launcher);
    }
    assert_true(n_taken < (1 << 20));
    assert_true(launcher.mux.channels[MUX_OUT].out.used <= 256 << 10);
    pass(&agent, &launcher, 0, MUX_ERR, 1000000);
    pass(&agent, &launcher, 1, MUX_OUT, 1000000);
    while (n_taken > 0) {
        ssize_t n = read(launcher.remote_end[0][MUX_OUT], bytes, sizeof bytes);

        n_taken -= n > 0 ? (size_t)n : 0;
        move(&agent);
        move(&launcher);
    }
}

static void ends_of_file_pass(void **unused)
{
    char byte;

    (void)unused;
    assert_int_equal(write(agent.remote_end[0][MUX_OUT], "x", 1), 1);
    close(agent.remote_end[0][MUX_OUT]);
    agent.remote_end[0][MUX_OUT] = -1;
    shutdown(launcher.remote_end[1][MUX_LINK], SHUT_WR);
    for (unsigned i = 0; i < 4; i++) {
        move(&agent);
        move(&launcher);
    }
    assert_int_equal(read(launcher.remote_end[0][MUX_OUT], &byte, 1), 1);
    assert_int_equal(read(launcher.remote_end[0][MUX_OUT], &byte, 1), 0);
    assert_int_equal(read(agent.remote_end[1][MUX_LINK], &byte, 1), 0);
    pass(&agent, &launcher, 1, MUX_LINK, 1000); // the other way still works
}

static void files_end_with_the_connection(void **unused)
{
    char bytes[8];

    (void)unused;
    assert_int_equal(write(agent.remote_end[1][MUX_OUT], "last", 4), 4);
    move(&agent);
    move(&launcher);
    mux_end(&launcher.mux);
    assert_int_equal(read(launcher.remote_end[1][MUX_OUT], bytes, sizeof bytes),
                     4);
    for (unsigned node = 0; node < N_NODES; node++) {
        assert_int_equal(
            read(launcher.remote_end[node][MUX_LINK], bytes, sizeof bytes), 0);
        assert_int_equal(
            read(launcher.remote_end[node][MUX_OUT], bytes, sizeof bytes), 0);
        assert_int_equal(
            read(launcher.remote_end[node][MUX_ERR], bytes, sizeof bytes), 0);
    }
}

static void other_frames_are_handed_out_in_order(void **unused)
{
    struct pollfd set[2 + N_NODES * MUX_CHANNELS];
    struct mux_frame frame;

    (void)unused;
    mux_send_number(&launcher.mux, MUX_SIGNAL, 1, 15);
    mux_send(&launcher.mux, MUX_BEAT, 0, NULL, 0);
    mux_fill(&agent.mux, set);
    poll(set, mux_n_polled(&agent.mux), 0);
    mux_move(&agent.mux, set, 7);
    assert_int_equal(agent.mux.heard_ns, 7);
    assert_int_equal(mux_next(&agent.mux, &frame), 1);
    assert_int_equal(frame.kind, MUX_SIGNAL);
    assert_int_equal(frame.node, 1);
    assert_memory_equal(frame.body, "\x0f\0\0\0", 4);
    assert_int_equal(mux_next(&agent.mux, &frame), 1);
    assert_int_equal(frame.kind, MUX_BEAT);
    assert_int_equal(mux_next(&agent.mux, &frame), 0);
}

static void nonsense_is_not_listened_to(void **unused)
{
    static const struct {
        const char *bytes;
        size_t size;
    } texts[] = {
        {"Last login: Sat Nov 21\n", 23},
        {"\1\0\0\0\1\0\0", 7},               // too short
        {"\xff\xff\xff\xff\1\0\0", 7},       // too long
        {"\4\0\0\0\1\0\0\7", 8},             // no such channel
        {"\4\0\0\0\1\2\0\1", 8},             // no such node
        {"\3\0\0\0\1\0\0", 7},               // no channel
        {"\4\0\0\0\0\0\0\2", 8},             // no kind of frame
        {"\x8\0\0\0\3\0\0\0\xff\0\0\0", 12}, // more taken than was sent
    };

    (void)unused;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct mux_frame frame;

        buffer_append(&agent.mux.from, texts[i].bytes, texts[i].size);
        assert_int_equal(mux_next(&agent.mux, &frame), 0);
        assert_int_equal(agent.mux.is_broken, 1);
        agent.mux.is_broken = 0;
        buffer_drop(&agent.mux.from, agent.mux.from.used);
    }
}

/** From a side that keeps to no window, and nobody reads the node's output. */
static void what_waits_is_bounded(void **unused)
{
    static uint8_t body[32 << 10] = {MUX_OUT};

    (void)unused;
    for (unsigned i = 0; i < 200; i++) {
        mux_send(&agent.mux, MUX_DATA, 0, body, sizeof body);
        move(&launcher);
        move(&agent);
    }
    assert_int_equal(launcher.mux.is_broken, 1);
    assert_true(launcher.mux.channels[MUX_OUT].out.used <= MUX_WAITING_MAX);
    assert_true(launcher.mux.from.used < (1 << 20));
}

/** What one side still sends of nodes that the other has forgotten does no harm. */
static void channels_go_and_come_again(void **unused)
{
    (void)unused;
    mux_forget(&agent.mux);
    assert_int_equal(write(launcher.remote_end[1][MUX_LINK], "late", 4), 4);
    move(&launcher);
    move(&agent);
    assert_int_equal(agent.mux.is_broken, 0);
    mux_forget(&launcher.mux);
    close_ends(&launcher);
    close_ends(&agent);
    make_channels();
    pass(&launcher, &agent, 1, MUX_LINK, 1000);
    pass(&agent, &launcher, 0, MUX_OUT, 1000);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_sides, close_sides)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_come_out_of_their_channel),
        TEST(a_reader_that_sleeps_holds_up_its_own_channel_only),
        TEST(ends_of_file_pass),
        TEST(files_end_with_the_connection),
        TEST(other_frames_are_handed_out_in_order),
        TEST(nonsense_is_not_listened_to),
        TEST(what_waits_is_bounded),
        TEST(channels_go_and_come_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// The node's end against a launcher played by the test: what it will say is put
// into the socket before the node asks, so one thread is enough.
#include "cluster/bootstrap.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/message.h"

static int launcher; ///< its end of the socket

static struct boot_member members[3];
static uint16_t host_of[3];
static uint8_t job_key[BOOT_KEY_SIZE];
static const struct boot_roster roster = {job_key, members, host_of};

static void set_number(const char *variable, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    setenv(variable, text, 1);
}

static struct bootstrap open_node(int self, int n_nodes)
{
    struct bootstrap bootstrap;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    launcher = ends[0];
    set_number("TEAMSTER_BOOT_FD", ends[1]);
    set_number("TEAMSTER_NODE", self);
    set_number("TEAMSTER_NODES", n_nodes);
    assert_int_equal(bootstrap_open(&bootstrap), TM_OK);
    return bootstrap;
}

static void free_members(void)
{
    for (unsigned i = 0; i < 3; i++) {
        free(members[i].address);
        members[i] = (struct boot_member){0};
    }
}

static void close_both(struct bootstrap *bootstrap)
{
    free_members();
    close(launcher);
    close(bootstrap->fd);
}

static void launcher_says(enum boot_kind kind, const void *body, size_t size)
{
    uint8_t header[BOOT_HEADER];

    boot_header(header, kind, size);
    assert_int_equal(write(launcher, header, sizeof header), sizeof header);
    assert_int_equal(write(launcher, body, size), size);
}

static void launcher_hears(enum boot_kind kind, size_t body_size)
{
    static uint8_t bytes[BOOT_HEADER + NODE_CARD_MAX];
    uint8_t header[BOOT_HEADER];

    boot_header(header, kind, body_size);
    assert_int_equal(
        recv(launcher, bytes, BOOT_HEADER + body_size, MSG_WAITALL),
        BOOT_HEADER + body_size);
    assert_memory_equal(bytes, header, BOOT_HEADER);
}

static void without_a_launcher_a_node_is_alone(void **state)
{
    struct bootstrap bootstrap;
    static struct node_card card = {.pid = 7};

    (void)state;
    unsetenv("TEAMSTER_BOOT_FD");
    assert_int_equal(bootstrap_open(&bootstrap), TM_OK);
    assert_int_equal(bootstrap.fd, -1);
    assert_int_equal(bootstrap.self, 0);
    assert_int_equal(bootstrap.n_nodes, 1);
    assert_int_equal(bootstrap_exchange(&bootstrap, &card, &roster), TM_OK);
    assert_int_equal(members[0].pid, 7);
    free_members();
    assert_int_equal(bootstrap_ready(&bootstrap), TM_OK);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_NOTHING);
    bootstrap_done(&bootstrap, 0);
    bootstrap_failed(&bootstrap, 70);
}

static tm_status open_at_place(const char *place, struct bootstrap *bootstrap)
{
    int ends[2];
    tm_status status;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    set_number("TEAMSTER_BOOT_FD", ends[1]);
    set_number("TEAMSTER_NODE", 2);
    set_number("TEAMSTER_NODES", 5);
    setenv("TEAMSTER_PLACE", place, 1);
    status = bootstrap_open(bootstrap);
    unsetenv("TEAMSTER_BOOT_FD");
    close(ends[0]);
    close(ends[1]);
    return status;
}

static void the_place_among_hosts_is_read(void **state)
{
    static const char *const wrong[] = {
        "", "3", "eth0", "0 eth0", "6 eth0", "-1 eth0", "x eth0",
    };
    struct bootstrap bootstrap = open_node(2, 5);

    (void)state;
    assert_int_equal(bootstrap.n_here, 5);
    assert_string_equal(bootstrap.device, "");
    close_both(&bootstrap);
    assert_int_equal(open_at_place("3 eth0", &bootstrap), TM_OK);
    assert_int_equal(bootstrap.n_here, 3);
    assert_string_equal(bootstrap.device, "eth0");
    assert_null(getenv("TEAMSTER_PLACE"));
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(open_at_place(wrong[i], &bootstrap), TM_ECONFIG);
    }
    unsetenv("TEAMSTER_PLACE");
    unsetenv("TEAMSTER_NODE");
    unsetenv("TEAMSTER_NODES");
}

static void opening_hides_the_socket_from_children(void **state)
{
    struct bootstrap bootstrap = open_node(2, 5);

    (void)state;
    assert_int_equal(bootstrap.self, 2);
    assert_int_equal(bootstrap.n_nodes, 5);
    assert_true(fcntl(bootstrap.fd, F_GETFD) & FD_CLOEXEC);
    assert_null(getenv("TEAMSTER_BOOT_FD"));
    assert_null(getenv("TEAMSTER_NODE"));
    assert_null(getenv("TEAMSTER_NODES"));
    close_both(&bootstrap);
}

static void expect_refusal(const char *fd, const char *node, const char *nodes)
{
    struct bootstrap bootstrap;

    setenv("TEAMSTER_BOOT_FD", fd, 1);
    setenv("TEAMSTER_NODE", node, 1);
    setenv("TEAMSTER_NODES", nodes, 1);
    assert_int_equal(bootstrap_open(&bootstrap), TM_ECONFIG);
}

static void wrong_variables_are_refused(void **state)
{
    int ends[2];
    int pipe_ends[2];
    char fd[16];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(fd, sizeof fd, "%d", ends[1]);
    expect_refusal(fd, "4", "4");
    expect_refusal(fd, "0", "1025");
    expect_refusal(fd, "0", "0");
    expect_refusal(fd, "", "4");
    expect_refusal(fd, "1x", "4");
    expect_refusal("x", "1", "4");
    expect_refusal("9999", "1", "4");
    assert_int_equal(pipe(pipe_ends), 0);
    snprintf(fd, sizeof fd, "%d", pipe_ends[1]);
    expect_refusal(fd, "1", "4");
    unsetenv("TEAMSTER_NODE");
    assert_int_equal(bootstrap_open(&(struct bootstrap){0}), TM_ECONFIG);
    unsetenv("TEAMSTER_BOOT_FD");
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(pipe_ends[i]);
    }
}

static size_t put_cards(uint8_t *body, size_t room, unsigned n_nodes)
{
    static struct node_card card;
    size_t used = BOOT_KEY_SIZE + 2;

    memset(body, 'k', BOOT_KEY_SIZE);
    body[BOOT_KEY_SIZE] = (uint8_t)n_nodes;
    body[BOOT_KEY_SIZE + 1] = 0;
    for (unsigned i = 0; i < n_nodes; i++) {
        card.pid = 100 + i;
        body[used++] = (uint8_t)(i / 2);
        body[used++] = 0;
        used += node_card_encode(&card, body + used, room - used);
    }
    return used;
}

static void an_exchange_gives_everybodys_cards(void **state)
{
    static struct node_card card = {.build_id = "me", .address_size = 3};
    static uint8_t body[4096];
    struct bootstrap bootstrap = open_node(1, 3);
    size_t size = put_cards(body, sizeof body, 3);

    (void)state;
    launcher_says(BOOT_STATUS, "", 0); // does not disturb
    launcher_says(BOOT_CARDS, body, size);
    launcher_says(BOOT_GO, "", 0);
    launcher_says(BOOT_STOP, "\x0f\0\0\0", 4);
    assert_int_equal(bootstrap_exchange(&bootstrap, &card, &roster), TM_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(members[i].pid, 100 + i);
        assert_int_equal(host_of[i], i / 2);
    }
    assert_int_equal(job_key[0], 'k');
    assert_int_equal(job_key[BOOT_KEY_SIZE - 1], 'k');
    assert_int_equal(bootstrap_ready(&bootstrap), TM_OK);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_STOP);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_NOTHING);
    launcher_hears(BOOT_CARD, node_card_encode(&card, body, sizeof body));
    launcher_hears(BOOT_READY, 0);
    close_both(&bootstrap);
}

static void expect_exchange(enum boot_kind kind, const void *body, size_t size,
                            tm_status expected)
{
    static struct node_card card;
    struct bootstrap bootstrap = open_node(1, 2);

    launcher_says(kind, body, size);
    assert_int_equal(bootstrap_exchange(&bootstrap, &card, &roster), expected);
    close_both(&bootstrap);
}

static void a_refusal_tells_a_mismatch_from_a_loss(void **state)
{
    (void)state;
    expect_exchange(BOOT_REFUSED, "\x4c\0\0\0text", 9, TM_EMISMATCH);
    expect_exchange(BOOT_REFUSED, "\x4b\0\0\0text", 9, TM_EPEER);
    expect_exchange(BOOT_STOP, "\x0f\0\0\0", 4, TM_EPEER);
}

static void a_malformed_answer_is_refused(void **state)
{
    static uint8_t body[4096];
    size_t size = put_cards(body, sizeof body, 2);

    (void)state;
    expect_exchange(BOOT_CARDS, body, size - 1, TM_EWIRE);
    expect_exchange(BOOT_CARDS, body, 1, TM_EWIRE);
    expect_exchange(BOOT_GO, "", 0, TM_EWIRE);
    body[BOOT_KEY_SIZE] = 3;
    expect_exchange(BOOT_CARDS, body, size, TM_EWIRE);
}

static void a_launcher_that_is_gone_ends_every_wait(void **state)
{
    static struct node_card card;
    struct bootstrap bootstrap = open_node(0, 2);

    (void)state;
    shutdown(launcher, SHUT_WR);
    assert_int_equal(bootstrap_exchange(&bootstrap, &card, &roster), TM_EPEER);
    assert_int_equal(bootstrap_ready(&bootstrap), TM_EPEER);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_GONE);
    close(launcher);
    bootstrap_failed(&bootstrap, 75); // no SIGPIPE
    close(bootstrap.fd);
}

static void an_event_is_taken_when_it_is_whole(void **state)
{
    static const uint8_t bytes[] = {5, 0, 0, 0, BOOT_STOP, 15, 0,
                                    0, 0, 1, 0, 0,         0,  BOOT_STATUS};
    struct bootstrap bootstrap = open_node(0, 2);

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        enum bootstrap_event expected =
            i == 8 ? BOOTSTRAP_STOP
                   : (i == 13 ? BOOTSTRAP_STATUS : BOOTSTRAP_NOTHING);

        assert_int_equal(write(launcher, &bytes[i], 1), 1);
        assert_int_equal(bootstrap_poll(&bootstrap), expected);
    }
    // I1: what is behind it stays.
    assert_int_equal(write(launcher, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_STOP);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_STATUS);
    assert_int_equal(write(launcher, "garbage", 7), 7);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_GONE);
    close_both(&bootstrap);
}

static void a_node_knows_whether_it_is_to_show_more(void **state)
{
    struct bootstrap bootstrap = open_node(0, 2);

    (void)state;
    assert_false(bootstrap.is_to_show);
    launcher_says(BOOT_SHOW, "\1\0\0\0", 4);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_SHOW);
    assert_true(bootstrap.is_to_show);
    bootstrap_tell(&bootstrap, BOOT_WORDS, "\2\0hi", 4);
    launcher_hears(BOOT_WORDS, 4);
    launcher_says(BOOT_SHOW, "\0\0\0\0", 4);
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_SHOW);
    assert_false(bootstrap.is_to_show);
    close_both(&bootstrap);
}

static void a_node_that_cannot_go_on_hears_of_its_end(void **state)
{
    struct bootstrap bootstrap = open_node(0, 2);

    (void)state;
    assert_false(bootstrap_is_ended(&bootstrap, 0));
    launcher_says(BOOT_STATUS, "", 0);
    assert_false(bootstrap_is_ended(&bootstrap, 20));
    launcher_says(BOOT_REFUSED, "\x4b\0\0\0text", 9);
    assert_true(bootstrap_is_ended(&bootstrap, 10000));
    close_both(&bootstrap);
    bootstrap = open_node(0, 2);
    close(launcher);
    assert_true(bootstrap_is_ended(&bootstrap, 10000));
    close(bootstrap.fd);
    bootstrap.fd = -1; // no launcher
    assert_false(bootstrap_is_ended(&bootstrap, 10000));
}

static void a_newcomer_is_announced_with_the_key(void **state)
{
    static const struct node_card card = {.pid = 7};
    static struct boot_change change;
    static uint8_t body[4096];
    struct bootstrap bootstrap = open_node(1, 2);
    struct wire_writer writer = {body, body + sizeof body, 0};

    (void)state;
    wire_put_u16(&writer, 5);
    wire_put_u16(&writer, 259);
    memset(writer.at, 'k', BOOT_KEY_SIZE);
    writer.at += BOOT_KEY_SIZE;
    writer.at += node_card_encode(&card, writer.at, 2048);
    launcher_says(BOOT_NEWCOMER, body, (size_t)(writer.at - body));
    assert_int_equal(bootstrap_poll(&bootstrap), BOOTSTRAP_CHANGE);
    assert_int_equal(bootstrap_take_change(&bootstrap, &change), TM_OK);
    assert_int_equal(change.kind, BOOT_NEWCOMER);
    assert_int_equal(change.node, 5);
    assert_int_equal(change.host, 259);
    assert_memory_equal(change.key, body + 4, BOOT_KEY_SIZE);
    assert_int_equal(change.card.pid, 7);
    launcher_says(BOOT_NEWCOMER, body, 20); // the key is cut short
    assert_int_equal(bootstrap_take_change(&bootstrap, &change), TM_EWIRE);
    bootstrap_peered(&bootstrap, 5, "no way");
    launcher_hears(BOOT_PEERED, 2 + sizeof "no way");
    close_both(&bootstrap);
}

static void a_last_word_carries_the_exit_code(void **state)
{
    struct bootstrap bootstrap = open_node(1, 2);
    static const uint8_t expected[] = {5, 0, 0, 0, BOOT_DONE,   3,  0, 0, 0,
                                       5, 0, 0, 0, BOOT_FAILED, 71, 0, 0, 0};
    uint8_t bytes[sizeof expected];

    (void)state;
    bootstrap_done(&bootstrap, 3);
    bootstrap_failed(&bootstrap, 71);
    assert_int_equal(recv(launcher, bytes, sizeof bytes, MSG_WAITALL),
                     sizeof bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    close_both(&bootstrap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_launcher_a_node_is_alone),
        cmocka_unit_test(the_place_among_hosts_is_read),
        cmocka_unit_test(opening_hides_the_socket_from_children),
        cmocka_unit_test(wrong_variables_are_refused),
        cmocka_unit_test(an_exchange_gives_everybodys_cards),
        cmocka_unit_test(a_refusal_tells_a_mismatch_from_a_loss),
        cmocka_unit_test(a_malformed_answer_is_refused),
        cmocka_unit_test(a_launcher_that_is_gone_ends_every_wait),
        cmocka_unit_test(an_event_is_taken_when_it_is_whole),
        cmocka_unit_test(a_node_knows_whether_it_is_to_show_more),
        cmocka_unit_test(a_node_that_cannot_go_on_hears_of_its_end),
        cmocka_unit_test(a_newcomer_is_announced_with_the_key),
        cmocka_unit_test(a_last_word_carries_the_exit_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

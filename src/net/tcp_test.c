// SPDX-License-Identifier: BSD-3-Clause
//
// The wire between hosts among nodes: messages, members, ends. Strangers have a test
// of their own.
#include "net/tcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/harness.h"
#include "harness/tcp_harness.h"
#include "net/tcp_socket.h"

static struct end ends[ENDS_MAX];

// ---- messages ----

static uint32_t size_of(unsigned i)
{
    static const uint32_t sizes[] = {0, 1, 100, 4096, 65536, MESSAGE_BODY_MAX};

    return i % 37 == 0 ? sizes[i % 6] : (i * 7919u) % 5000u;
}

static void exchange(unsigned n_ends, unsigned n_messages)
{
    for (unsigned i = 0; i < n_messages; i++) {
        for (unsigned from = 0; from < n_ends; from++) {
            for (unsigned to = 0; to < n_ends; to++) {
                if (from != to) {
                    end_send(&ends[from], (node_id)to, i, size_of(i));
                }
            }
        }
        if (i % 8 == 0) {
            ends_progress(ends, n_ends, 0);
        }
    }
    for (unsigned at = 0; at < n_ends; at++) {
        for (unsigned from = 0; from < n_ends; from++) {
            if (from != at) {
                ends_wait(ends, n_ends, &ends[at].from[from].n_come,
                          n_messages);
            }
        }
    }
}

static void messages_of_all_sizes_arrive_in_order(void **unused)
{
    (void)unused;
    ends_open(ends, 3);
    exchange(3, 1000);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ends[i].inbox.counters.bad_frames, 0);
        assert_int_equal(ends[i].inbox.counters.messages_sent, 2000);
        assert_int_equal(ends[i].inbox.counters.messages_received, 2000);
    }
    ends_close(ends, 3);
}

static void plain_messages_arrive_too(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < 2; i++) {
        end_open_with(&ends[i],
                      &(struct net_config){.self = (node_id)i, .is_plain = 1},
                      harness_job_key);
    }
    ends_add(ends, 0, 1);
    exchange(2, 300);
    ends_close(ends, 2);
}

static void what_is_sent_before_the_connection_goes_when_it_is_there(
    void **unused)
{
    (void)unused;
    end_open(&ends[0], 0);
    end_open(&ends[1], 1);
    ends_add(ends, 0, 1);
    exchange(2, 40);
    ends_close(ends, 2);
}

static void answer_thrice(struct end *end, node_id from)
{
    unsigned n = end->from[from].n_come - 1;

    for (unsigned i = 0; i < 3; i++) {
        end_send(end, from, 3 * n + i, 4096);
    }
}

static void answers_from_receive_go_out(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    ends[1].receive = answer_thrice;
    for (unsigned i = 0; i < 100; i++) {
        end_send(&ends[0], 1, i, 10);
        ends_wait(ends, 2, &ends[0].from[1].n_come, 3 * (i + 1));
    }
    ends_close(ends, 2);
}

// ---- members ----

static void nodes_are_added_while_others_talk(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    exchange(2, 10);
    end_open(&ends[2], 2);
    ends_add(ends, 2, 0);
    ends_add(ends, 2, 1);
    for (unsigned i = 0; i < 2; i++) {
        end_send(&ends[i], 2, 0, 300); // at once
        end_send(&ends[2], (node_id)i, 0, 300);
    }
    for (unsigned i = 0; i < 2; i++) {
        ends_wait(ends, 3, &ends[2].from[i].n_come, 1);
        ends_wait(ends, 3, &ends[i].from[2].n_come, 1);
        assert_int_equal(ends[i].from[2].n_up, 1);
    }
    ends_close(ends, 3);
}

static void one_that_comes_before_it_is_added_waits(void **unused)
{
    (void)unused;
    end_open(&ends[0], 0);
    end_open(&ends[1], 1);
    assert_int_equal(
        tcp_add(ends[0].tcp, 1, ends[1].address, ends[1].address_size, 0),
        TM_OK);
    ends_progress(ends, 2, 100);
    assert_int_equal(ends[0].from[1].n_up, 0);
    assert_int_equal(end_n_refused(&ends[1]), 0);
    assert_int_equal(tcp_add(ends[1].tcp, 0, NULL, 0, 1), TM_OK);
    exchange(2, 3);
    ends_close(ends, 2);
}

// It has its answer: for it the connection is made.
static void one_that_confirms_late_is_let_in(void **unused)
{
    const struct hello hello = {.from = 1, .to = 2, .epoch = 0};
    struct answer answer;
    struct hand slow;
    uint8_t bytes[200];

    (void)unused;
    end_open(&ends[2], 2);
    assert_int_equal(tcp_add(ends[2].tcp, 1, NULL, 0, 1), TM_OK);
    hand_connect(&slow, &ends[2]);
    assert_true(hand_greet(&slow, &ends[2], &hello, &answer));
    for (unsigned i = 0; i < 2; i++) { // longer than strangers have
        ends_progress(ends, 3, 3500);
    }
    hand_write(&slow, bytes, hand_frame(&slow, 2, 0, bytes));
    ends_wait(ends, 3, &ends[2].from[1].n_up, 1);
    assert_int_equal(end_n_refused(&ends[2]), 0);
    hand_close(&slow);
    ends_close(ends, 3);
}

static void a_removed_node_is_refused_and_told(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    exchange(2, 5);
    tcp_set_epoch(ends[0].tcp, 3);
    tcp_remove(ends[0].tcp, 1);
    end_send(&ends[0], 1, 99, 0); // is dropped
    end_send(&ends[1], 0, 5, 100);
    ends_wait(ends, 2, &ends[1].from[0].n_fenced, 1);
    ends_progress(ends, 2, 50);
    assert_int_equal(ends[0].from[1].n_come, 5);
    assert_int_equal(ends[0].inbox.counters.bad_frames, 1);
    assert_int_equal(ends[1].from[0].n_come, 5);
    end_close(&ends[1]);
    ends_progress(ends, 1, 50);
    assert_int_equal(ends[0].from[1].n_lost, 0); // that is no news
    ends_close(ends, 2);
}

/** One that takes nothing meanwhile: a frozen one. */
static void a_frozen_node_reads_that_it_was_removed(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    for (unsigned i = 0; i < 100; i++) { // more than there is room for
        end_send(&ends[0], 1, i, MESSAGE_BODY_MAX);
    }
    tcp_set_epoch(ends[0].tcp, 1);
    tcp_remove(ends[0].tcp, 1);
    ends_progress(ends, 1, 50);
    ends_wait(ends, 2, &ends[1].from[0].n_fenced, 1);
    assert_true(ends[1].from[0].n_come < 100);
    assert_int_equal(ends[1].inbox.counters.bad_frames, 0);
    ends_close(ends, 2);
}

static void a_number_can_be_added_again(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    exchange(2, 2);
    end_close(&ends[1]);
    ends_progress(ends, 1, 50);
    tcp_set_epoch(ends[0].tcp, 5);
    tcp_remove(ends[0].tcp, 1);
    ends[0].from[1].n_come = 0;
    end_open(&ends[1], 1);
    tcp_set_epoch(ends[1].tcp, 6);
    tcp_set_epoch(ends[0].tcp, 6);
    ends_add(ends, 0, 1);
    exchange(2, 4);
    ends_close(ends, 2);
}

// ---- ends ----

/** As if the process of a node that others connect to had ended. */
static void cut_off(const struct end *end)
{
    struct tcp_place own;

    assert_int_equal(tcp_place_decode(end->address, end->address_size, &own),
                     TM_OK);
    for (int fd = 3; fd < 200; fd++) {
        struct sockaddr_in peer;
        struct sockaddr_in here = {0};
        socklen_t size = sizeof peer;

        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
            getsockname(fd, (struct sockaddr *)&here, &size) == 0 &&
            here.sin_port == own.name.v4.sin_port) {
            shutdown(fd, SHUT_RDWR);
        }
    }
}

static void a_lost_connection_is_told_after_all_that_came(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    for (unsigned i = 0; i < 50; i++) {
        end_send(&ends[1], 0, i, 3000);
    }
    cut_off(&ends[1]);
    ends_wait(ends, 1, &ends[0].from[1].n_lost, 1);
    assert_int_equal(ends[0].from[1].n_come, 50);
    end_send(&ends[0], 1, 0, 100); // is dropped
    ends_progress(ends, 1, 20);
    assert_int_equal(ends[0].from[1].n_lost, 1);
    ends_close(ends, 2);
}

static void an_end_in_order_is_no_loss_and_all_arrives(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    for (unsigned i = 0; i < 50; i++) {
        end_send(&ends[1], 0, i, 4000);
    }
    end_close(&ends[1]);
    ends_wait(ends, 1, &ends[0].from[1].n_come, 50);
    ends_progress(ends, 1, 50);
    assert_int_equal(ends[0].from[1].n_lost, 0);
    ends_close(ends, 2);
}

// To one that does not read yet. @return messages
static unsigned send_mib(struct end *end, node_id to, unsigned mib)
{
    unsigned n = 0;

    while (n < mib * (1048576 / MESSAGE_BODY_MAX)) {
        end_send(end, to, n++, MESSAGE_BODY_MAX);
    }
    return n;
}

// More than any socket takes.
static unsigned send_too_much(struct end *end, node_id to)
{
    return send_mib(end, to, 80);
}

static void one_that_takes_nothing_is_lost_in_the_end(void **unused)
{
    unsigned n;

    (void)unused;
    ends_open(ends, 2);
    n = send_too_much(&ends[0], 1);
    ends_progress(ends, 1, 1500);
    end_send(&ends[0], 1, n++, 0);
    ends_progress(ends, 1, 1);
    assert_int_equal(ends[0].from[1].n_lost, 0); // not so soon
    ends_progress(ends, 1, 2000);
    end_send(&ends[0], 1, n++, 0);
    ends_wait(ends, 1, &ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "takes nothing"));
    ends_close(ends, 2);
}

static void one_that_takes_nothing_is_lost_if_no_more_is_sent(void **unused)
{
    (void)unused;
    ends_open(ends, 2);
    send_too_much(&ends[0], 1);
    ends_progress(ends, 1, 1500);
    assert_int_equal(ends[0].from[1].n_lost, 0); // not so soon
    assert_non_null(ends[0].pool.used);
    ends_wait(ends, 1, &ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "takes nothing"));
    assert_null(ends[0].pool.used); // nothing is kept for it
    ends_close(ends, 2);
}

static void answer_at_length(struct end *end, node_id from)
{
    end_send(end, from, end->from[from].n_come - 1, MESSAGE_BODY_MAX);
}

static void one_that_asks_and_takes_no_answer_is_lost(void **unused)
{
    unsigned n = 0;

    (void)unused;
    ends_open(ends, 2);
    ends[0].receive = answer_at_length;
    while (n < 400) { // 100 MiB of answers
        // It goes, and nothing is read.
        end_send(&ends[1], 0, n++, 10);
    }
    ends_wait(ends, 1, &ends[0].from[1].n_come, n);
    ends_wait(ends, 1, &ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "takes nothing"));
    assert_null(ends[0].pool.used);
    ends_close(ends, 2);
}

static void one_that_was_stopped_blames_nobody(void **unused)
{
    unsigned n;

    (void)unused;
    ends_open(ends, 2);
    n = send_too_much(&ends[0], 1);
    ends_progress(ends, 1, 10);
    usleep(4000000); // the first end is stopped, and so is the other
    ends_wait(ends, 2, &ends[1].from[0].n_come, n);
    assert_int_equal(ends[0].from[1].n_lost, 0);
    ends_close(ends, 2);
}

static void one_that_is_slow_gets_all(void **unused)
{
    unsigned n;

    (void)unused;
    ends_open(ends, 2);
    n = send_too_much(&ends[0], 1);
    ends_wait(ends, 2, &ends[1].from[0].n_come, n);
    end_send(&ends[0], 1, n++, 0);
    ends_wait(ends, 2, &ends[1].from[0].n_come, n);
    ends_close(ends, 2);
}

static void one_that_takes_little_is_not_lost(void **unused)
{
    unsigned n;

    (void)unused;
    ends_open(ends, 2);
    n = send_too_much(&ends[0], 1);
    for (unsigned i = 0; i < 8; i++) { // 4 s
        ends_progress(ends, 1, 500);
        tcp_progress(ends[1].tcp);
    }
    assert_true(ends[1].from[0].n_come < n / 2);
    ends_wait(ends, 2, &ends[1].from[0].n_come, n);
    assert_int_equal(ends[0].from[1].n_lost, 0);
    ends_close(ends, 2);
}

// The first end has memory for so much that waits.
static void open_with_memory(unsigned n_ends, unsigned mib)
{
    end_open_with(&ends[0],
                  &(struct net_config){.timeout_s = 60,
                                       .most_waiting = (uint64_t)mib << 20},
                  harness_job_key);
    for (unsigned i = 1; i < n_ends; i++) {
        end_open(&ends[i], (node_id)i);
    }
    ends_connect(ends, n_ends);
}

static void one_that_takes_too_little_is_lost_when_memory_ends(void **unused)
{
    unsigned n;

    (void)unused;
    open_with_memory(2, 100);
    n = send_too_much(&ends[0], 1);
    while (n < 1000 && ends[0].from[1].n_lost == 0) {
        tcp_progress(ends[1].tcp); // takes a frame or two
        for (unsigned i = 0; i < 4; i++) {
            end_send(&ends[0], 1, n++, MESSAGE_BODY_MAX);
        }
        tcp_progress(ends[0].tcp);
    }
    assert_true(ends[1].from[0].n_come > 0);
    assert_true(n - ends[1].from[0].n_come > 390); // not before 100 MiB wait
    assert_int_equal(ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "takes too little"));
    assert_null(ends[0].pool.used); // nothing is kept for it
    ends_close(ends, 2);
}

static void a_node_with_little_memory_keeps_little(void **unused)
{
    (void)unused;
    open_with_memory(2, 20);
    for (unsigned i = 0; i < 160; i++) { // 40 MiB, and a socket takes some
        end_send(&ends[0], 1, i, MESSAGE_BODY_MAX);
    }
    ends_wait(ends, 1, &ends[0].from[1].n_lost, 1);
    assert_null(ends[0].pool.used);
    ends_close(ends, 2);
}

// Of two sockets that nobody reads from, one may take some MiB more.
static void the_one_for_which_most_waits_is_lost(void **unused)
{
    unsigned n;

    (void)unused;
    open_with_memory(3, 150);
    send_mib(&ends[0], 2, 100);
    n = send_mib(&ends[0], 1, 80);
    ends_wait(ends, 1, &ends[0].from[2].n_lost, 1);
    assert_int_equal(ends[0].from[1].n_lost, 0);
    ends_wait(ends, 2, &ends[1].from[0].n_come, n);
    assert_int_equal(ends[0].from[1].n_lost, 0);
    ends_close(ends, 3);
}

// ---- listening ----

static void nobody_listens_when_all_are_there(void **unused)
{
    struct hand hand;
    struct tcp_place place;
    char why[256];
    int fd;

    (void)unused;
    ends_open(ends, 2);
    hand_connect(&hand, &ends[1]);
    ends_progress(ends, 2, 10);
    assert_int_equal(tcp_meet(ends[1].tcp, why, sizeof why), TM_OK);
    ends_progress(ends, 2, 1);
    assert_int_equal(ends[1].inbox.counters.refused[NET_TOO_LATE], 1);
    assert_true(hand_is_closed(&hand, &ends[1]));
    assert_int_equal(
        tcp_place_decode(ends[1].address, ends[1].address_size, &place), TM_OK);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, &place.name.any, place.size), -1);
    close(fd);
    assert_int_equal(tcp_add(ends[1].tcp, 3, NULL, 0, 1), TM_ESTATE);
    exchange(2, 3);
    hand_close(&hand);
    ends_close(ends, 2);
}

static void a_port_in_use_is_refused_and_the_next_one_taken(void **unused)
{
    struct tcp_place place;
    struct tcp_place other;
    struct tcp_ports ports;
    int fd;
    int second;

    (void)unused;
    ports = (struct tcp_ports){.first = 0};
    assert_int_equal(tcp_listen("lo", &ports, &place, &fd), TM_OK);
    ports.first = ports.last = ntohs(place.name.v4.sin_port);
    assert_int_equal(tcp_listen("lo", &ports, &other, &second), TM_EBUSY);
    if (ports.last < UINT16_MAX - 20) {
        ports.last += 20;
        assert_int_equal(tcp_listen("lo", &ports, &other, &second), TM_OK);
        assert_true(ntohs(other.name.v4.sin_port) > ports.first);
        close(second);
    }
    close(fd);
    assert_int_equal(tcp_listen("no-such-card", &ports, &place, &fd),
                     TM_ESYSTEM);
}

static void places_are_encoded_and_malformed_ones_refused(void **unused)
{
    static const uint8_t v4[] = {4, 0x34, 0x12, 10, 0, 0, 1};
    uint8_t bytes[TCP_PLACE_MAX] = {6, 0x34, 0x12, 0xfd};
    struct tcp_place place;
    char text[TCP_PLACE_TEXT];

    (void)unused;
    for (size_t size = 0; size < sizeof v4; size++) {
        assert_int_equal(tcp_place_decode(v4, size, &place), TM_EWIRE);
    }
    assert_int_equal(tcp_place_decode(v4, sizeof v4, &place), TM_OK);
    tcp_place_text(&place, text);
    assert_string_equal(text, "10.0.0.1:4660");
    assert_int_equal(tcp_place_decode(bytes, 18, &place), TM_EWIRE);
    assert_int_equal(tcp_place_decode(bytes, 19, &place), TM_OK);
    tcp_place_text(&place, text);
    assert_string_equal(text, "[fd00::]:4660");
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(tcp_place_encode(&place, bytes), 19);
    assert_int_equal(bytes[0], 6);
    assert_int_equal(bytes[3], 0xfd);
    bytes[0] = 5;
    assert_int_equal(tcp_place_decode(bytes, 19, &place), TM_EWIRE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes_arrive_in_order),
        cmocka_unit_test(plain_messages_arrive_too),
        cmocka_unit_test(
            what_is_sent_before_the_connection_goes_when_it_is_there),
        cmocka_unit_test(answers_from_receive_go_out),
        cmocka_unit_test(nodes_are_added_while_others_talk),
        cmocka_unit_test(one_that_comes_before_it_is_added_waits),
        cmocka_unit_test(one_that_confirms_late_is_let_in),
        cmocka_unit_test(a_removed_node_is_refused_and_told),
        cmocka_unit_test(a_frozen_node_reads_that_it_was_removed),
        cmocka_unit_test(a_number_can_be_added_again),
        cmocka_unit_test(a_lost_connection_is_told_after_all_that_came),
        cmocka_unit_test(an_end_in_order_is_no_loss_and_all_arrives),
        cmocka_unit_test(one_that_takes_nothing_is_lost_in_the_end),
        cmocka_unit_test(one_that_takes_nothing_is_lost_if_no_more_is_sent),
        cmocka_unit_test(one_that_asks_and_takes_no_answer_is_lost),
        cmocka_unit_test(one_that_was_stopped_blames_nobody),
        cmocka_unit_test(one_that_is_slow_gets_all),
        cmocka_unit_test(one_that_takes_little_is_not_lost),
        cmocka_unit_test(one_that_takes_too_little_is_lost_when_memory_ends),
        cmocka_unit_test(a_node_with_little_memory_keeps_little),
        cmocka_unit_test(the_one_for_which_most_waits_is_lost),
        cmocka_unit_test(nobody_listens_when_all_are_there),
        cmocka_unit_test(a_port_in_use_is_refused_and_the_next_one_taken),
        cmocka_unit_test(places_are_encoded_and_malformed_ones_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

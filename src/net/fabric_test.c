// SPDX-License-Identifier: BSD-3-Clause
//
// UCX between hosts: several ends in one process, over UCX's TCP on the loopback
// interface, and frames that are made by hand. Processes: transport_ucx_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/clock.h"
#include "harness/harness.h"
#include "net/fabric_priv.h"

#define N 3u

static struct end {
    struct fabric *fabric; ///< NULL: closed
    struct inbox inbox;
    struct frame_pool pool;
    uint8_t address[BETWEEN_PLACE_MAX];
    size_t address_size;
    struct {
        unsigned n_come; ///< each the one that follows, by its round
        unsigned n_up;
        unsigned n_lost;
        unsigned n_fenced;
        char why[256]; ///< of the last that was lost
    } from[N];
} ends[N];

static void receive(void *owner, node_id from, const struct message *message)
{
    struct end *end = owner;

    assert_int_equal(message->type, MESSAGE_thread_stack);
    assert_int_equal(message->u.thread_stack.thread, end->from[from].n_come);
    end->from[from].n_come++;
}

static void note_event(void *owner, enum net_event event, node_id node,
                       const char *why)
{
    struct end *end = owner;

    end->from[node].n_up += event == NET_PEER_UP;
    end->from[node].n_lost += event == NET_PEER_LOST;
    end->from[node].n_fenced += event == NET_FENCED;
    snprintf(end->from[node].why, sizeof end->from[node].why, "%s", why);
}

static void end_open_with(node_id self, uint64_t most_waiting)
{
    struct end *end = &ends[self];
    const struct net_config config = {
        .self = self,
        .n_nodes = N,
        .device = "lo",
        .most_waiting = most_waiting,
        .event = note_event,
        .owner = end,
    };
    void *opened = NULL;

    memset(end, 0, sizeof *end);
    frame_pool_init(&end->pool);
    inbox_init(&end->inbox, self, receive, end);
    assert_int_equal(
        between_ucx.open(&opened, &config, &end->inbox, &end->pool), TM_OK);
    end->fabric = opened;
    assert_int_equal(between_ucx.take_key(opened, harness_job_key), TM_OK);
    end->address_size = between_ucx.address(opened, end->address);
}

static void end_open(node_id self)
{
    end_open_with(self, 0);
}

static void end_close(node_id self)
{
    struct end *end = &ends[self];

    if (end->fabric != NULL) {
        between_ucx.close(end->fabric, clock_now_ns() + 100000000u);
        frame_pool_release(&end->pool);
        end->fabric = NULL;
    }
}

static int close_all(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < N; i++) {
        end_close((node_id)i);
    }
    return 0;
}

static void progress_all(void)
{
    for (unsigned i = 0; i < N; i++) {
        if (ends[i].fabric != NULL) {
            between_ucx.progress(ends[i].fabric);
        }
    }
}

static void wait_for(const unsigned *counter, unsigned value)
{
    uint64_t deadline = harness_deadline_ns(20000);

    while (*(const volatile unsigned *)counter < value) {
        assert_true(clock_now_ns() < deadline);
        progress_all();
    }
}

static void progress_for(unsigned ms)
{
    uint64_t end_ns = clock_now_ns() + ms * UINT64_C(1000000);

    while (clock_now_ns() < end_ns) {
        progress_all();
    }
}

/** `from` connects to `to`. */
static void add(node_id from, node_id to)
{
    assert_int_equal(between_ucx.add(ends[to].fabric, from, NULL, 0, 1), TM_OK);
    assert_int_equal(between_ucx.add(ends[from].fabric, to, ends[to].address,
                                     ends[to].address_size, 0),
                     TM_OK);
}

static void connect_ends(node_id from, node_id to)
{
    add(from, to);
    wait_for(&ends[from].from[to].n_up, 1);
    wait_for(&ends[to].from[from].n_up, 1);
}

static void open_two(void)
{
    end_open(0);
    end_open(1);
    connect_ends(0, 1);
}

static void send_one(node_id from, node_id to, unsigned round, uint32_t size)
{
    static uint8_t body[MESSAGE_BODY_MAX];
    const struct message message = {.type = MESSAGE_thread_stack,
                                    .u.thread_stack.thread = round,
                                    .body = body,
                                    .body_size = size};

    between_ucx.send(ends[from].fabric, to, &message);
}

// ---- frames by hand ----

struct hand {
    uint32_t run;
    uint64_t number;
    uint32_t epoch;
    node_id from;
    uint8_t kind;
    unsigned round; ///< of the message
};

/** As if it came to end 0. */
static void come(const struct hand *hand)
{
    const ucp_am_recv_param_t param = {0};
    const struct message message = {.type = MESSAGE_thread_stack,
                                    .u.thread_stack.thread = hand->round};
    struct frame *frame = frame_encode(&ends[0].pool, FABRIC_HEAD, 0, &message);
    struct wire_writer head = {frame->bytes, frame->bytes + FABRIC_HEAD, 0};

    wire_put_u32(&head, hand->run);
    wire_put_u64(&head, hand->number);
    wire_put_u32(&head, hand->epoch);
    wire_put_u16(&head, hand->from);
    wire_put_u8(&head, hand->kind);
    fabric_frame_has_come(&ends[0].fabric->wire, NULL, 0, frame->bytes,
                          frame->size, &param);
    frame_put(frame);
}

/** The next message of node 1, if nothing is changed about it. */
static struct hand next_frame(void)
{
    const struct path *path = &ends[0].fabric->paths[1];

    return (struct hand){
        .run = ends[0].fabric->run,
        .number = path->order.next,
        .epoch = ends[0].fabric->epoch,
        .from = 1,
        .kind = FABRIC_MESSAGE,
        .round = ends[0].from[1].n_come,
    };
}

static void assert_refused(const struct hand *hand)
{
    unsigned n_come = ends[0].from[1].n_come;
    uint64_t n_bad = ends[0].inbox.counters.bad_frames;

    come(hand);
    assert_int_equal(ends[0].from[1].n_come, n_come);
    assert_int_equal(ends[0].inbox.counters.bad_frames, n_bad + 1);
}

static void early_frames_wait_for_those_before(void **unused)
{
    struct hand hand;

    (void)unused;
    open_two();
    hand = next_frame();
    for (unsigned i = 5; i > 0; i--) {
        struct hand early = hand;

        early.number += i;
        early.round += i;
        come(&early);
        assert_int_equal(ends[0].from[1].n_come, 0);
    }
    come(&hand);
    assert_int_equal(ends[0].from[1].n_come, 6);
    assert_refused(&hand); // it was here before
}

static void frames_of_another_run_are_refused(void **unused)
{
    struct hand hand;

    (void)unused;
    open_two();
    hand = next_frame();
    hand.run ^= 1;
    assert_refused(&hand);
    hand = next_frame();
    come(&hand);
    assert_int_equal(ends[0].from[1].n_come, 1);
}

static void frames_of_an_epoch_before_its_senders_are_refused(void **unused)
{
    struct hand hand;

    (void)unused;
    end_open(0);
    end_open(1);
    between_ucx.set_epoch(ends[0].fabric, 7);
    connect_ends(0, 1);
    hand = next_frame();
    hand.epoch = 6;
    assert_refused(&hand);
    hand = next_frame();
    come(&hand);
    assert_int_equal(ends[0].from[1].n_come, 1);
}

static void frames_of_no_member_are_refused(void **unused)
{
    struct hand hand;

    (void)unused;
    open_two();
    hand = next_frame();
    for (unsigned from = 0; from < 5; from++) {
        hand.from = (node_id)from;
        if (from != 1) {
            assert_refused(&hand);
        }
    }
    hand = next_frame();
    hand.kind = 9;
    assert_refused(&hand);
    hand = next_frame();
    hand.kind = FABRIC_HELLO;
    assert_refused(&hand);
}

static void nothing_comes_before_the_hello(void **unused)
{
    struct hand hand;

    (void)unused;
    end_open(0);
    end_open(1);
    add(0, 1);
    hand = next_frame();
    assert_refused(&hand); // it has number 0
    hand.number = 1;
    come(&hand);
    assert_int_equal(ends[0].from[1].n_come, 0);
    wait_for(&ends[0].from[1].n_come, 1);
    assert_int_equal(ends[0].from[1].n_up, 1);
}

// ---- members ----

static void nodes_are_added_while_others_talk(void **unused)
{
    (void)unused;
    open_two();
    send_one(0, 1, 0, 100);
    end_open(2);
    add(0, 2);
    add(1, 2);
    for (unsigned i = 0; i < 2; i++) {
        send_one((node_id)i, 2, 0, 300); // at once
        wait_for(&ends[2].from[i].n_come, 1);
        wait_for(&ends[i].from[2].n_up, 1);
        send_one(2, (node_id)i, 0, 300);
        wait_for(&ends[i].from[2].n_come, 1);
    }
    wait_for(&ends[1].from[0].n_come, 1);
}

static void a_removed_node_is_refused_and_told(void **unused)
{
    (void)unused;
    open_two();
    between_ucx.set_epoch(ends[0].fabric, 3);
    between_ucx.remove(ends[0].fabric, 1);
    send_one(0, 1, 99, 0); // is dropped
    send_one(1, 0, 0, 100);
    wait_for(&ends[1].from[0].n_fenced, 1);
    progress_for(50);
    assert_int_equal(ends[0].from[1].n_come, 0);
    assert_int_equal(ends[0].inbox.counters.bad_frames, 1);
    assert_int_equal(ends[1].from[0].n_come, 0);
    end_close(1);
    progress_for(50);
    assert_int_equal(ends[0].from[1].n_lost, 0); // that is no news
}

static void a_number_can_be_added_again(void **unused)
{
    (void)unused;
    open_two();
    send_one(1, 0, 0, 10);
    wait_for(&ends[0].from[1].n_come, 1);
    end_close(1);
    progress_for(50);
    assert_int_equal(ends[0].from[1].n_lost, 0); // it has said goodbye
    between_ucx.set_epoch(ends[0].fabric, 5);
    between_ucx.remove(ends[0].fabric, 1);
    memset(&ends[0].from[1], 0, sizeof ends[0].from[1]);
    end_open(1);
    between_ucx.set_epoch(ends[1].fabric, 6);
    between_ucx.set_epoch(ends[0].fabric, 6);
    connect_ends(0, 1);
    send_one(1, 0, 0, 10);
    send_one(0, 1, 0, 10);
    wait_for(&ends[0].from[1].n_come, 1);
    wait_for(&ends[1].from[0].n_come, 1);
}

static void a_damaged_address_is_refused(void **unused)
{
    (void)unused;
    end_open(0);
    end_open(1);
    ends[1].address[20] ^= 1;
    assert_int_equal(between_ucx.add(ends[0].fabric, 1, ends[1].address,
                                     ends[1].address_size, 0),
                     TM_EWIRE);
    assert_int_equal(between_ucx.add(ends[0].fabric, 1, ends[1].address, 3, 0),
                     TM_EWIRE);
}

// ---- ends ----

/** As if the cable had been pulled, and TCP had noticed. */
static void cut_connections(void)
{
    for (int fd = 3; fd < 200; fd++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;

        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
            peer.ss_family == AF_INET) {
            shutdown(fd, SHUT_RDWR);
        }
    }
}

static void a_lost_connection_is_told_once_after_all_that_came(void **unused)
{
    (void)unused;
    open_two();
    for (unsigned i = 0; i < 10; i++) {
        send_one(1, 0, i, 3000);
    }
    while (between_ucx.n_unsent(ends[1].fabric) > 0) {
        between_ucx.progress(ends[1].fabric);
    }
    cut_connections();
    wait_for(&ends[0].from[1].n_lost, 1);
    wait_for(&ends[1].from[0].n_lost, 1);
    assert_int_equal(ends[0].from[1].n_come, 10);
    for (unsigned i = 0; i < 50; i++) {
        send_one(0, 1, i, 30000); // is dropped
    }
    progress_for(50);
    assert_int_equal(ends[0].from[1].n_lost, 1);
    assert_int_equal(between_ucx.n_unsent(ends[0].fabric), 0);
}

// Time is made to pass: that in which an end has polled counts.
static void let_time_pass(struct fabric *fabric, unsigned seconds)
{
    for (unsigned i = 0; i < 5 * seconds; i++) {
        fabric->polled_ns = 0; // long ago
        between_ucx.progress(fabric);
    }
}

static void who_does_not_answer_is_lost(void **unused)
{
    (void)unused;
    end_open(0);
    end_open(1);
    assert_int_equal(between_ucx.add(ends[0].fabric, 1, ends[1].address,
                                     ends[1].address_size, 0),
                     TM_OK);
    let_time_pass(ends[0].fabric, 9);
    assert_int_equal(ends[0].from[1].n_lost, 0);
    let_time_pass(ends[0].fabric, 2);
    assert_int_equal(ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "does not answer"));
}

static void one_that_takes_nothing_is_lost_when_much_waits(void **unused)
{
    (void)unused;
    open_two();
    for (unsigned i = 0; i < 200; i++) {
        send_one(0, 1, i, MESSAGE_BODY_MAX);
        if (i == 60) { // little waits
            let_time_pass(ends[0].fabric, 5);
            assert_int_equal(ends[0].from[1].n_lost, 0);
        }
    }
    let_time_pass(ends[0].fabric, 300); // UCX fills what there is to fill first
    assert_int_equal(ends[0].from[1].n_lost, 0);
    for (unsigned i = 200; i < 400; i++) {
        send_one(0, 1, i, MESSAGE_BODY_MAX);
    }
    let_time_pass(ends[0].fabric, 5);
    assert_int_equal(ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "takes nothing"));
    assert_int_equal(between_ucx.n_unsent(ends[0].fabric), 0);
}

static void one_is_lost_when_more_waits_than_there_is_memory_for(void **unused)
{
    (void)unused;
    end_open_with(0, 8 << 20);
    end_open(1);
    connect_ends(0, 1);
    for (unsigned i = 0; i < 60; i++) {
        send_one(0, 1, i, MESSAGE_BODY_MAX);
    }
    let_time_pass(ends[0].fabric, 1);
    assert_int_equal(ends[0].from[1].n_lost, 1);
    assert_non_null(strstr(ends[0].from[1].why, "no memory for more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(early_frames_wait_for_those_before,
                                  close_all),
        cmocka_unit_test_teardown(frames_of_another_run_are_refused, close_all),
        cmocka_unit_test_teardown(
            frames_of_an_epoch_before_its_senders_are_refused, close_all),
        cmocka_unit_test_teardown(frames_of_no_member_are_refused, close_all),
        cmocka_unit_test_teardown(nothing_comes_before_the_hello, close_all),
        cmocka_unit_test_teardown(nodes_are_added_while_others_talk, close_all),
        cmocka_unit_test_teardown(a_removed_node_is_refused_and_told,
                                  close_all),
        cmocka_unit_test_teardown(a_number_can_be_added_again, close_all),
        cmocka_unit_test_teardown(a_damaged_address_is_refused, close_all),
        cmocka_unit_test_teardown(
            a_lost_connection_is_told_once_after_all_that_came, close_all),
        cmocka_unit_test_teardown(who_does_not_answer_is_lost, close_all),
        cmocka_unit_test_teardown(
            one_that_takes_nothing_is_lost_when_much_waits, close_all),
        cmocka_unit_test_teardown(
            one_is_lost_when_more_waits_than_there_is_memory_for, close_all),
    };

    setenv("UCX_MODULES", "none", 1); // no drivers of cards: they take time
    setenv("UCX_TLS", "tcp", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

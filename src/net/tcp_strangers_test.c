// SPDX-License-Identifier: BSD-3-Clause
//
// Strangers at the wire between hosts. Node 0 has a connection to node 2 throughout,
// and awaits node 1; whatever comes, nothing happens to either.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "harness/harness.h"
#include "harness/tcp_harness.h"
#include "os/descriptor.h"

#define KIND_MESSAGE 1u
#define KIND_CONFIRM 2u
#define FRAME_ROOM 200u

/** More than there are places for, by a hundred. */
#define N_STRANGERS (TM_MAX_NODES + 194u)

/** Node 2 is ends[1] here: the lower connects to the higher. */
static struct end ends[ENDS_MAX];
static struct end *const victim = &ends[2];
static unsigned n_exchanged;

static const struct hello as_node_1 = {.from = 1, .to = 2, .epoch = 0};

static int open_victim(void **unused)
{
    (void)unused;
    n_exchanged = 0;
    end_open(&ends[0], 0);
    end_open(victim, 2);
    ends_add(ends, 0, 2);
    assert_int_equal(tcp_add(victim->tcp, 1, NULL, 0, 1), TM_OK);
    ends_wait(ends, 3, &ends[0].from[2].n_up, 1);
    ends_wait(ends, 3, &victim->from[0].n_up, 1);
    return 0;
}

static void expect_all_is_well(void)
{
    for (unsigned i = 0; i < 3; i++) {
        end_send(&ends[0], 2, n_exchanged, 5000);
        end_send(victim, 0, n_exchanged, 5000);
        n_exchanged++;
    }
    ends_wait(ends, 3, &victim->from[0].n_come, n_exchanged);
    ends_wait(ends, 3, &ends[0].from[2].n_come, n_exchanged);
    assert_int_equal(victim->from[0].n_lost, 0);
    assert_int_equal(victim->from[1].n_up, 0);
    assert_int_equal(victim->from[1].n_come, 0);
}

static int close_victim(void **unused)
{
    (void)unused;
    expect_all_is_well();
    end_open(&ends[1], 1); // and the one that is awaited can still come
    assert_int_equal(
        tcp_add(ends[1].tcp, 2, victim->address, victim->address_size, 0),
        TM_OK);
    ends_wait(ends, 3, &victim->from[1].n_up, 1);
    ends_close(ends, 3);
    return 0;
}

static void expect_refusal(struct hand *hand, enum net_refusal why)
{
    uint64_t before = victim->inbox.counters.refused[why];
    uint64_t deadline_ns = harness_deadline_ns(10000);

    while (victim->inbox.counters.refused[why] == before) {
        tcp_progress(victim->tcp);
        if (clock_now_ns() > deadline_ns) {
            fail_msg("nothing is refused because %s", net_refusal_texts[why]);
        }
    }
    assert_int_equal(victim->inbox.counters.refused[why], before + 1);
    assert_true(hand_is_closed(hand, victim));
}

/** Send bytes and close one's end. */
static void say_and_stop(const void *bytes, size_t size, enum net_refusal why)
{
    struct hand hand;

    hand_connect(&hand, victim);
    hand_write(&hand, bytes, size);
    shutdown(hand.fd, SHUT_WR);
    expect_refusal(&hand, why);
    hand_close(&hand);
}

// ---- before a good hello ----

static void noise_and_other_protocols_are_refused(void **unused)
{
    static const uint8_t ucx[] = {0x78, 0x56, 0x34, 0x12, // what its
                                  0xbe, 0xba, 0xfe, 0xca, // connections begin
                                  1,    2,    3,    4};
    static const char http[] = "GET / HTTP/1.0\r\n\r\n";
    uint8_t noise[1000];

    (void)unused;
    srand(1);
    say_and_stop(ucx, sizeof ucx, NET_NO_HELLO);
    say_and_stop(http, sizeof http, NET_NO_HELLO);
    for (unsigned i = 0; i < 200; i++) {
        size_t size = 1 + (size_t)rand() % sizeof noise;

        for (size_t at = 0; at < size; at++) {
            noise[at] = (uint8_t)rand();
        }
        noise[0] |= 0x80; // no hello, not even its first byte
        say_and_stop(noise, size, NET_NO_HELLO);
    }
}

static void a_hello_that_is_cut_anywhere_is_refused(void **unused)
{
    struct hand maker;

    (void)unused;
    hand_connect(&maker, victim);
    handshake_hello(maker.seals, &as_node_1, &maker.handshake);
    for (size_t size = 0; size < HELLO_SIZE; size++) {
        say_and_stop(maker.handshake.said, size, NET_CUT_SHORT);
    }
    hand_close(&maker);
}

static void hellos_of_another_run_or_for_another_node_are_refused(void **unused)
{
    static const uint8_t other_key[SEAL_KEY_SIZE] = "of another run";
    static const struct {
        struct hello hello;
        enum net_refusal why;
    } wrong[] = {
        {{.from = 1, .to = 3}, NET_WRONG_NODE},
        {{.from = 2, .to = 2}, NET_WRONG_NODE},
        {{.from = ENDS_MAX, .to = 2}, NET_WRONG_NODE},
        {{.from = 0, .to = 2}, NET_NOT_AWAITED},
    };
    struct handshake handshake;
    struct seals *seals;

    (void)unused;
    assert_int_equal(seals_new(&seals, other_key, 0), TM_OK);
    handshake_hello(seals, &as_node_1, &handshake);
    say_and_stop(handshake.said, HELLO_SIZE, NET_WRONG_KEY);
    seals_free(seals);
    assert_int_equal(seals_new(&seals, harness_job_key, 0), TM_OK);
    for (unsigned i = 0; i < 4; i++) {
        handshake_hello(seals, &wrong[i].hello, &handshake);
        say_and_stop(handshake.said, HELLO_SIZE, wrong[i].why);
    }
    for (unsigned at = 0; at < HELLO_SIZE; at++) {
        handshake_hello(seals, &as_node_1, &handshake);
        handshake.said[at] ^= 1;
        say_and_stop(handshake.said, HELLO_SIZE,
                     at < 4 ? NET_NO_HELLO : NET_WRONG_KEY);
    }
    seals_free(seals);
}

static void who_says_nothing_or_little_is_sent_away(void **unused)
{
    struct hand silent;
    struct hand slow;
    unsigned n_steps = 0;

    (void)unused;
    hand_connect(&silent, victim);
    hand_connect(&slow, victim);
    handshake_hello(slow.seals, &as_node_1, &slow.handshake);
    while (end_n_refused(victim) < 2 && n_steps < HELLO_SIZE) {
        hand_write(&slow, slow.handshake.said + n_steps++, 1);
        ends_progress(ends, 3, 150);
    }
    assert_int_equal(victim->inbox.counters.refused[NET_TOO_SLOW], 2);
    assert_true(n_steps < HELLO_SIZE);
    hand_close(&silent);
    hand_close(&slow);
}

static void all_nodes_that_there_may_be_can_come_at_once(void **unused)
{
    static struct hand hands[TM_MAX_NODES - 1];
    struct hand maker;

    (void)unused;
    hand_connect(&maker, victim);
    handshake_hello(maker.seals, &as_node_1, &maker.handshake);
    for (unsigned i = 0; i < TM_MAX_NODES - 1; i++) {
        hand_connect(&hands[i], victim);
        hand_write(&hands[i], maker.handshake.said, HELLO_SIZE / 2); // slowly
        tcp_progress(victim->tcp);
    }
    ends_progress(ends, 3, 20);
    assert_int_equal(victim->inbox.counters.refused[NET_TOO_MANY], 0);
    for (unsigned i = 0; i < TM_MAX_NODES - 1; i++) {
        hand_close(&hands[i]);
    }
    hand_close(&maker);
}

static void many_strangers_do_not_keep_nodes_away(void **unused)
{
    static struct hand hands[N_STRANGERS];
    struct hand maker;

    (void)unused;
    hand_connect(&maker, victim);
    handshake_hello(maker.seals, &as_node_1, &maker.handshake);
    for (unsigned i = 0; i < N_STRANGERS; i++) {
        hand_connect(&hands[i], victim);
        hand_write(&hands[i], maker.handshake.said, i % HELLO_SIZE);
        tcp_progress(victim->tcp);
    }
    ends_progress(ends, 3, 20);
    assert_true(victim->inbox.counters.refused[NET_TOO_MANY] > 100);
    expect_all_is_well();
    close_victim(NULL); // a node comes
    for (unsigned i = 0; i < N_STRANGERS; i++) {
        hand_close(&hands[i]);
    }
    hand_close(&maker);
    open_victim(NULL);
}

// ---- after a good hello: somebody has recorded it, or has the key ----

static void greet(struct hand *hand, const struct hello *hello)
{
    struct answer answer;

    hand_connect(hand, victim);
    assert_true(hand_greet(hand, victim, hello, &answer));
    assert_false(answer.is_fenced);
}

static void a_confirm_that_is_cut_anywhere_is_refused(void **unused)
{
    uint8_t frame[FRAME_ROOM];
    size_t size = 1;

    (void)unused;
    for (size_t cut = 0; cut < size; cut++) {
        struct hand hand;

        greet(&hand, &as_node_1);
        size = hand_frame(&hand, KIND_CONFIRM, 0, frame);
        hand_write(&hand, frame, cut);
        shutdown(hand.fd, SHUT_WR);
        expect_refusal(&hand, NET_CUT_SHORT);
        hand_close(&hand);
    }
}

static void a_changed_confirm_is_refused(void **unused)
{
    uint8_t frame[FRAME_ROOM];
    size_t size = 1;

    (void)unused;
    for (size_t at = 0; at < size; at++) {
        struct hand hand;

        greet(&hand, &as_node_1);
        size = hand_frame(&hand, KIND_CONFIRM, 0, frame);
        frame[at] ^= 1;
        hand_write(&hand, frame, size);
        expect_refusal(&hand, NET_NO_CONFIRM);
        hand_close(&hand);
    }
}

/** All that node 1 says on a connection. */
struct recording {
    uint8_t bytes[HELLO_SIZE + 10 * FRAME_ROOM];
    size_t size;
};

static void add(struct hand *hand, struct recording *recording,
                const void *bytes, size_t size)
{
    memcpy(recording->bytes + recording->size, bytes, size);
    recording->size += size;
    hand_write(hand, bytes, size);
}

static void record(struct recording *recording)
{
    struct hand hand;
    uint8_t frame[FRAME_ROOM];

    recording->size = 0;
    greet(&hand, &as_node_1);
    memcpy(recording->bytes, hand.handshake.said, HELLO_SIZE);
    recording->size = HELLO_SIZE;
    add(&hand, recording, frame, hand_frame(&hand, KIND_CONFIRM, 0, frame));
    for (unsigned i = 0; i < 5; i++) {
        add(&hand, recording, frame, hand_frame(&hand, KIND_MESSAGE, 0, frame));
    }
    ends_wait(ends, 3, &victim->from[1].n_come, 5);
    hand_close(&hand);
    ends_wait(ends, 3, &victim->from[1].n_lost, 1);
}

/** Node 1 is awaited as if it had never been there. */
static void await_again(void)
{
    memset(&victim->from[1], 0, sizeof victim->from[1]);
    assert_int_equal(tcp_add(victim->tcp, 1, NULL, 0, 1), TM_OK);
}

static void a_recorded_connection_is_refused(void **unused)
{
    struct recording recording;
    struct hand hand;

    (void)unused;
    record(&recording);
    // Now: the node is lost. Then: it is awaited again.
    say_and_stop(recording.bytes, recording.size, NET_NOT_AWAITED);
    await_again();
    say_and_stop(recording.bytes, recording.size, NET_NO_CONFIRM);
    hand_connect(&hand, victim); // the hello alone gets an answer, and no more
    hand_write(&hand, recording.bytes, HELLO_SIZE);
    ends_progress(ends, 3, 50);
    expect_all_is_well();
    hand_write(&hand, recording.bytes + HELLO_SIZE,
               recording.size - HELLO_SIZE);
    expect_refusal(&hand, NET_NO_CONFIRM);
    hand_close(&hand);
}

// ---- on a connection that is a node's: somebody is in the way ----

/** A hand that is node 1 and has sent two messages. */
static void be_node_1(struct hand *hand)
{
    uint8_t frame[FRAME_ROOM];

    await_again();
    greet(hand, &as_node_1);
    hand_write(hand, frame, hand_frame(hand, KIND_CONFIRM, 0, frame));
    for (unsigned i = 0; i < 2; i++) {
        hand_write(hand, frame, hand_frame(hand, KIND_MESSAGE, 0, frame));
    }
    ends_wait(ends, 3, &victim->from[1].n_come, 2);
}

/** The connection ends, nothing of it is delivered, and it is counted. */
static void expect_end(struct hand *hand, unsigned n_bad)
{
    uint64_t before = victim->inbox.counters.bad_frames;

    ends_wait(ends, 3, &victim->from[1].n_lost, 1);
    assert_int_equal(victim->from[1].n_come, 2);
    assert_int_equal(victim->inbox.counters.bad_frames, before + n_bad);
    assert_true(hand_is_closed(hand, victim));
    hand_close(hand);
    await_again();
}

static void frames_out_of_their_place_end_the_connection(void **unused)
{
    uint8_t first[FRAME_ROOM];
    uint8_t second[FRAME_ROOM];
    size_t size;
    struct hand hand;

    (void)unused;
    be_node_1(&hand); // reordered
    size = hand_frame(&hand, KIND_MESSAGE, 0, first);
    (void)hand_frame(&hand, KIND_MESSAGE, 0, second);
    hand_write(&hand, second, size);
    expect_end(&hand, 1);
    be_node_1(&hand); // repeated
    size = hand_frame(&hand, KIND_MESSAGE, 0, first);
    hand_write(&hand, first, size);
    ends_wait(ends, 3, &victim->from[1].n_come, 3);
    victim->from[1].n_come = 2;
    hand_write(&hand, first, size);
    expect_end(&hand, 1);
}

static void frames_behind_one_that_ends_the_connection_are_not_looked_at(
    void **unused)
{
    uint8_t frames[3 * FRAME_ROOM];
    size_t size = 0;
    struct hand hand;

    (void)unused;
    be_node_1(&hand);
    for (unsigned i = 0; i < 3; i++) { // in one write
        size += hand_frame(&hand, KIND_MESSAGE, 0, frames + size);
    }
    frames[4] ^= 1; // behind the length
    hand_write(&hand, frames, size);
    expect_end(&hand, 1);
}

static void a_change_of_any_byte_ends_the_connection(void **unused)
{
    uint8_t frame[FRAME_ROOM];
    size_t size = 4;
    struct hand hand;

    (void)unused;
    for (size_t at = 4; at < size; at++) { // behind the length
        be_node_1(&hand);
        size = hand_frame(&hand, KIND_MESSAGE, 0, frame);
        frame[at] ^= 1;
        hand_write(&hand, frame, size);
        expect_end(&hand, 1);
    }
}

static void wrong_lengths_end_the_connection(void **unused)
{
    static const uint32_t lengths[] = {0, 15, 1u << 20, UINT32_MAX - 5,
                                       UINT32_MAX};
    uint8_t frame[FRAME_ROOM];
    struct hand hand;

    (void)unused;
    for (unsigned i = 0; i < 5; i++) {
        be_node_1(&hand);
        (void)hand_frame(&hand, KIND_MESSAGE, 0, frame);
        memcpy(frame, &lengths[i], 4);
        hand_write(&hand, frame, 9);
        expect_end(&hand, 1);
    }
}

static void a_frame_that_is_cut_anywhere_is_not_delivered(void **unused)
{
    uint8_t frame[FRAME_ROOM];
    size_t size = 1;
    struct hand hand;

    (void)unused;
    for (size_t cut = 0; cut < size; cut++) {
        be_node_1(&hand);
        size = hand_frame(&hand, KIND_MESSAGE, 0, frame);
        hand_write(&hand, frame, cut);
        ends_progress(ends, 3, 1);
        shutdown(hand.fd, SHUT_WR);
        expect_end(&hand, 0);
    }
}

static void a_frame_may_come_byte_by_byte(void **unused)
{
    uint8_t frame[FRAME_ROOM];
    size_t size;
    struct hand hand;

    (void)unused;
    be_node_1(&hand);
    for (unsigned i = 0; i < 3; i++) {
        size = hand_frame(&hand, KIND_MESSAGE, 0, frame);
        for (size_t at = 0; at < size; at++) {
            hand_write(&hand, frame + at, 1);
            tcp_progress(victim->tcp);
        }
    }
    ends_wait(ends, 3, &victim->from[1].n_come, 5);
    hand_close(&hand);
    ends_wait(ends, 3, &victim->from[1].n_lost, 1);
    await_again();
}

// ---- epochs ----

static void an_older_epoch_than_the_last_change_is_fenced(void **unused)
{
    struct hello hello = as_node_1;
    struct answer answer = {0};
    struct hand hand;
    uint8_t frame[FRAME_ROOM];

    (void)unused;
    tcp_set_epoch(victim->tcp, 4);
    await_again();
    hand_connect(&hand, victim);
    hello.epoch = 3;
    assert_true(hand_greet(&hand, victim, &hello, &answer));
    assert_true(answer.is_fenced);
    assert_int_equal(answer.epoch, 4);
    assert_int_equal(victim->inbox.counters.refused[NET_REMOVED], 1);
    hand_close(&hand);
    hello.epoch = 4;
    greet(&hand, &hello);
    hand_write(&hand, frame, hand_frame(&hand, KIND_CONFIRM, 4, frame));
    hand_write(&hand, frame, hand_frame(&hand, KIND_MESSAGE, 4, frame));
    ends_wait(ends, 3, &victim->from[1].n_come, 1);
    hand_write(&hand, frame, hand_frame(&hand, KIND_MESSAGE, 3, frame));
    ends_progress(ends, 3, 50);
    assert_int_equal(victim->from[1].n_come, 1);
    assert_int_equal(victim->inbox.counters.bad_frames, 1);
    hand_close(&hand);
    ends_wait(ends, 3, &victim->from[1].n_lost, 1);
    end_close(victim); // who comes next knows of no epoch
    end_close(&ends[0]);
    open_victim(NULL);
}

#define STRANGER_TEST(name)                                                    \
    cmocka_unit_test_setup_teardown(name, open_victim, close_victim)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STRANGER_TEST(noise_and_other_protocols_are_refused),
        STRANGER_TEST(a_hello_that_is_cut_anywhere_is_refused),
        STRANGER_TEST(hellos_of_another_run_or_for_another_node_are_refused),
        STRANGER_TEST(who_says_nothing_or_little_is_sent_away),
        STRANGER_TEST(all_nodes_that_there_may_be_can_come_at_once),
        STRANGER_TEST(many_strangers_do_not_keep_nodes_away),
        STRANGER_TEST(a_confirm_that_is_cut_anywhere_is_refused),
        STRANGER_TEST(a_changed_confirm_is_refused),
        STRANGER_TEST(a_recorded_connection_is_refused),
        STRANGER_TEST(frames_out_of_their_place_end_the_connection),
        STRANGER_TEST(
            frames_behind_one_that_ends_the_connection_are_not_looked_at),
        STRANGER_TEST(a_change_of_any_byte_ends_the_connection),
        STRANGER_TEST(wrong_lengths_end_the_connection),
        STRANGER_TEST(a_frame_that_is_cut_anywhere_is_not_delivered),
        STRANGER_TEST(a_frame_may_come_byte_by_byte),
        STRANGER_TEST(an_older_epoch_than_the_last_change_is_fenced),
    };

    descriptor_make_room(4 * TM_MAX_NODES);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

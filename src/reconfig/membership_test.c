// SPDX-License-Identifier: BSD-3-Clause
//
// The root's rounds of questions, answer by answer: the test plays all nodes, the root's
// own part among them, and a node comes. For rules that whole runs meet too seldom.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "reconfig/membership_priv.h"

enum { COMER = 2, N_ASKED = 3 };

#define SECOND_NS UINT64_C(1000000000)

static struct world {
    struct port port;
    struct membership *membership;
    uint64_t now_ns;
    unsigned n_sent;
    struct message_change_step asked; // the last one
    unsigned n_told;
    enum membership_report report;
    const char *why;
    const char *why_not_yet;
} world;

static void keep_step(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    assert_int_equal(message->type, MESSAGE_change_step);
    assert_true(to < N_ASKED);
    world.n_sent++;
    world.asked = message->u.change_step;
}

static uint64_t tell_time(void *owner)
{
    (void)owner;
    return world.now_ns;
}

static const char *why_not_yet(void *owner)
{
    (void)owner;
    return world.why_not_yet;
}

static void keep_report(void *owner, node_id node, int comes,
                        enum membership_report report, const char *why)
{
    (void)owner;
    assert_int_equal(node, COMER);
    assert_true(comes);
    world.n_told++;
    world.report = report;
    world.why = why;
}

static int open_root(void **state)
{
    const struct membership_ops ops = {.why_not_yet = why_not_yet,
                                       .tell = keep_report};

    (void)state;
    memset(&world, 0, sizeof world);
    world.now_ns = SECOND_NS;
    world.port = (struct port){.send = keep_step, .now_ns = tell_time};
    roster_init(&world.port.roster, 2);
    world.membership = membership_new(&world.port, NULL, NULL, &ops);
    assert_non_null(world.membership);
    membership_add(world.membership, COMER);
    membership_tick(world.membership);
    assert_int_equal(world.asked.step, FREEZE);
    assert_int_equal(world.n_sent, N_ASKED);
    return 0;
}

static int close_root(void **state)
{
    (void)state;
    membership_free(world.membership);
    return 0;
}

static void answer(node_id from, uint32_t round, uint64_t sent,
                   uint64_t received)
{
    const struct message message = {.type = MESSAGE_change_state,
                                    .u.change_state = {.step = world.asked.step,
                                                       .round = round,
                                                       .is_still = 1,
                                                       .sent = sent,
                                                       .received = received}};

    assert_int_equal(membership_receive(world.membership, from, &message),
                     TM_OK);
}

// All answer the question that is out; node 0 has sent so much, node 1 received.
static void all_answer(uint64_t sent, uint64_t received)
{
    const uint32_t round = world.asked.round;

    answer(0, round, sent, 0);
    answer(1, round, 0, received);
    answer(COMER, round, 0, 0);
}

static void a_step_is_over_when_two_rounds_agree(void **state)
{
    (void)state;
    all_answer(5, 5);
    assert_int_equal(world.asked.step, FREEZE);
    assert_int_equal(world.asked.round, 2);
    all_answer(6, 6); // there was something on its way
    assert_int_equal(world.asked.step, FREEZE);
    all_answer(6, 6);
    assert_int_equal(world.asked.step, SWITCH);
}

static void what_is_on_its_way_holds_a_step_up(void **state)
{
    (void)state;
    for (uint32_t round = 1; round < 5; round++) {
        all_answer(6, 5);
        assert_int_equal(world.asked.step, FREEZE);
        assert_int_equal(world.asked.round, round); // at the next tick
        membership_tick(world.membership);
        assert_int_equal(world.asked.round, round + 1);
    }
}

static void answers_of_another_round_do_not_count(void **state)
{
    (void)state;
    all_answer(5, 5);
    answer(0, 1, 5, 5); // late, and the same as all of them together
    answer(1, 2, 0, 0);
    answer(COMER, 2, 0, 0);
    assert_int_equal(world.asked.step, FREEZE);
    assert_int_equal(world.asked.round, 2);
    answer(0, 2, 5, 5);
    assert_int_equal(world.asked.step, SWITCH);
}

static void a_newcomer_that_is_silent_is_given_up(void **state)
{
    (void)state;
    answer(0, 1, 0, 0);
    answer(1, 1, 0, 0);
    world.now_ns += 5 * SECOND_NS;
    membership_tick(world.membership);
    assert_int_equal(world.n_told, 0);
    world.now_ns += 1;
    membership_tick(world.membership);
    assert_int_equal(world.n_told, 1);
    assert_int_equal(world.report, MEMBERSHIP_REFUSED);
    assert_string_equal(world.why, "it is silent");
    assert_int_equal(world.asked.step, GO); // without the change
    assert_false(membership_is_busy(world.membership));
}

static void who_cannot_begin_says_why_once(void **state)
{
    a_newcomer_that_is_silent_is_given_up(state);
    world.why_not_yet = "a checkpoint is being written";
    membership_add(world.membership, COMER);
    membership_tick(world.membership);
    world.now_ns += 3 * SECOND_NS - 1;
    membership_tick(world.membership);
    assert_int_equal(world.n_told, 1);
    world.now_ns += 1;
    membership_tick(world.membership);
    membership_tick(world.membership);
    assert_int_equal(world.n_told, 2);
    assert_int_equal(world.report, MEMBERSHIP_WAITS);
    assert_string_equal(world.why, world.why_not_yet);
    assert_int_equal(world.asked.step, GO); // of the one before
    world.why_not_yet = NULL;
    membership_tick(world.membership);
    assert_int_equal(world.asked.step, FREEZE);
}

static void members_have_longer_to_come_to_rest(void **state)
{
    (void)state;
    answer(0, 1, 0, 0);
    answer(COMER, 1, 0, 0);
    world.now_ns += 10 * SECOND_NS;
    membership_tick(world.membership);
    assert_int_equal(world.n_told, 0);
    world.now_ns += 1;
    membership_tick(world.membership);
    assert_int_equal(world.n_told, 1);
    assert_string_equal(world.why, "the nodes did not come to a standstill");
}

// N4: from SWITCH on the root waits.
static void a_change_that_has_begun_is_not_given_up(void **state)
{
    (void)state;
    all_answer(5, 5);
    all_answer(5, 5);
    assert_int_equal(world.asked.step, SWITCH);
    world.now_ns += 100 * SECOND_NS;
    membership_tick(world.membership);
    assert_int_equal(world.asked.step, SWITCH);
    assert_int_equal(world.n_told, 0);
}

// N2: nobody spreads before all have switched.
static void all_have_switched_before_anybody_spreads(void **state)
{
    uint32_t round;

    (void)state;
    all_answer(5, 5);
    all_answer(5, 5);
    round = world.asked.round;
    answer(0, round, 5, 0);
    answer(1, round, 0, 5);
    assert_int_equal(world.asked.step, SWITCH);
    assert_int_equal(world.asked.round, round);
    answer(COMER, round, 0, 0);
    all_answer(5, 5);
    assert_int_equal(world.asked.step, SPREAD);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_root, close_root)
    const struct CMUnitTest tests[] = {
        TEST(a_step_is_over_when_two_rounds_agree),
        TEST(what_is_on_its_way_holds_a_step_up),
        TEST(answers_of_another_round_do_not_count),
        TEST(a_newcomer_that_is_silent_is_given_up),
        TEST(who_cannot_begin_says_why_once),
        TEST(a_change_that_has_begun_is_not_given_up),
        TEST(all_have_switched_before_anybody_spreads),
        TEST(members_have_longer_to_come_to_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "net/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t job_key[SEAL_KEY_SIZE] = "a key of the test, not random..";
static const uint8_t other_key[SEAL_KEY_SIZE] =
    "a key of some other run.......";
static const struct hello greeting = {
    .from = 3, .to = 258, .epoch = 0x01020304};
static const struct answer yes = {.epoch = 7};

static struct seals *seals;
static struct seals *others;

static int make_seals(void **unused)
{
    (void)unused;
    return seals_new(&seals, job_key, 0) == TM_OK &&
                   seals_new(&others, other_key, 0) == TM_OK
               ? 0
               : -1;
}

static int free_seals(void **unused)
{
    (void)unused;
    seals_free(seals);
    seals_free(others);
    return 0;
}

/** Both ends of a connection. */
struct meeting {
    struct handshake first;
    struct handshake second;
    struct seal_lanes first_lanes;
    struct seal_lanes second_lanes;
};

/** The hello arrives at the second, whose answer arrives at the first. */
static void meet(struct meeting *meeting, const struct answer *answer)
{
    struct hello hello;

    memset(meeting, 0, sizeof *meeting);
    handshake_hello(seals, &greeting, &meeting->first);
    assert_int_equal(handshake_read_hello(seals, meeting->first.said, &hello),
                     TM_OK);
    assert_int_equal(handshake_answer(seals, meeting->first.said, answer,
                                      &meeting->second, &meeting->second_lanes),
                     TM_OK);
    memcpy(meeting->first.said + HELLO_SIZE, meeting->second.said + HELLO_SIZE,
           ANSWER_SIZE);
}

static tm_status read_answer(struct meeting *meeting, struct answer *answer)
{
    return handshake_read_answer(seals, &meeting->first, answer,
                                 &meeting->first_lanes);
}

static int is_same_lane(const struct seal_lane *a, const struct seal_lane *b)
{
    return memcmp(a->key, b->key, SEAL_KEY_SIZE) == 0 &&
           a->sequence == b->sequence;
}

static void ends_learn_who_they_are_and_get_the_same_keys(void **unused)
{
    struct meeting meeting;
    struct hello hello;
    struct answer answer;

    (void)unused;
    meet(&meeting, &yes);
    assert_int_equal(handshake_read_hello(seals, meeting.first.said, &hello),
                     TM_OK);
    assert_int_equal(hello.from, 3);
    assert_int_equal(hello.to, 258);
    assert_int_equal(hello.epoch, 0x01020304);
    assert_int_equal(read_answer(&meeting, &answer), TM_OK);
    assert_int_equal(answer.epoch, 7);
    assert_false(answer.is_fenced);
    assert_true(
        is_same_lane(&meeting.first_lanes.out, &meeting.second_lanes.in));
    assert_true(
        is_same_lane(&meeting.first_lanes.in, &meeting.second_lanes.out));
    assert_false(
        is_same_lane(&meeting.first_lanes.in, &meeting.first_lanes.out));
}

static void keys_are_new_for_each_connection(void **unused)
{
    struct meeting one;
    struct meeting other;

    (void)unused;
    meet(&one, &yes);
    meet(&other, &yes);
    assert_false(is_same_lane(&one.second_lanes.in, &other.second_lanes.in));
    assert_false(is_same_lane(&one.second_lanes.out, &other.second_lanes.out));
}

static void fenced_is_told(void **unused)
{
    static const struct answer no = {.is_fenced = 1, .epoch = 9};
    struct meeting meeting;
    struct answer answer;

    (void)unused;
    meet(&meeting, &no);
    assert_int_equal(read_answer(&meeting, &answer), TM_OK);
    assert_true(answer.is_fenced);
    assert_int_equal(answer.epoch, 9);
}

static void a_change_of_any_bit_of_a_hello_is_refused(void **unused)
{
    struct handshake handshake;
    struct hello hello;

    (void)unused;
    handshake_hello(seals, &greeting, &handshake);
    for (unsigned bit = 0; bit < 8 * HELLO_SIZE; bit++) {
        handshake.said[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(handshake_read_hello(seals, handshake.said, &hello),
                         TM_EWIRE);
        handshake.said[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(handshake_read_hello(others, handshake.said, &hello),
                     TM_EWIRE);
}

static void a_change_of_any_bit_of_an_answer_is_refused(void **unused)
{
    struct meeting meeting;
    struct answer answer;

    (void)unused;
    meet(&meeting, &yes);
    for (unsigned bit = 0; bit < 8 * ANSWER_SIZE; bit++) {
        uint8_t *byte = &meeting.first.said[HELLO_SIZE + bit / 8];

        *byte ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(read_answer(&meeting, &answer), TM_EWIRE);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(handshake_read_answer(others, &meeting.first, &answer,
                                           &meeting.first_lanes),
                     TM_EWIRE);
    assert_int_equal(read_answer(&meeting, &answer), TM_OK);
}

static void an_answer_to_another_hello_is_refused(void **unused)
{
    struct meeting meeting;
    struct meeting recorded;
    struct answer answer;

    (void)unused;
    meet(&recorded, &yes);
    meet(&meeting, &yes);
    memcpy(meeting.first.said + HELLO_SIZE, recorded.second.said + HELLO_SIZE,
           ANSWER_SIZE);
    assert_int_equal(read_answer(&meeting, &answer), TM_EWIRE);
    // Its own hello, sent back.
    memcpy(meeting.first.said + HELLO_SIZE, meeting.first.said, ANSWER_SIZE);
    assert_int_equal(read_answer(&meeting, &answer), TM_EWIRE);
}

static void a_hello_is_known_by_its_first_bytes(void **unused)
{
    struct handshake handshake;

    (void)unused;
    handshake_hello(seals, &greeting, &handshake);
    for (size_t size = 1; size <= HELLO_SIZE; size++) {
        assert_true(handshake_is_hello(handshake.said, size));
    }
    for (unsigned at = 0; at < 4; at++) {
        handshake.said[at] ^= 1;
        assert_false(handshake_is_hello(handshake.said, at + 1));
        handshake.said[at] ^= 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_learn_who_they_are_and_get_the_same_keys),
        cmocka_unit_test(keys_are_new_for_each_connection),
        cmocka_unit_test(fenced_is_told),
        cmocka_unit_test(a_change_of_any_bit_of_a_hello_is_refused),
        cmocka_unit_test(a_change_of_any_bit_of_an_answer_is_refused),
        cmocka_unit_test(an_answer_to_another_hello_is_refused),
        cmocka_unit_test(a_hello_is_known_by_its_first_bytes),
    };

    return cmocka_run_group_tests(tests, make_seals, free_seals);
}

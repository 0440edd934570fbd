// SPDX-License-Identifier: BSD-3-Clause
// Time is a number here, and the other nodes are what the test says of them.
#include "cluster/failure_detector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_NODES 3u
#define MS UINT64_C(1000000)
#define POLL_MS 20

static uint64_t now_ns;
static unsigned n_beats[TM_MAX_NODES];

static uint64_t read_clock(void *owner)
{
    (void)owner;
    return now_ns;
}

static void count_beats(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    assert_int_equal(message->type, MESSAGE_beat);
    assert_true(to < TM_MAX_NODES && to != 1);
    n_beats[to]++;
}

static uint16_t host_of[TM_MAX_NODES];

static struct port port = {
    .self = 1, .send = count_beats, .now_ns = read_clock};

static struct failure_detector open_pulse(unsigned n_nodes, unsigned n_hosts,
                                          double timeout_s)
{
    struct failure_detector detector;

    now_ns = 1000000 * MS;
    memset(n_beats, 0, sizeof n_beats);
    for (unsigned i = 0; i < n_nodes; i++) {
        host_of[i] = (uint16_t)(i % n_hosts);
    }
    roster_init(&port.roster, n_nodes);
    detector_init(&detector, &port, host_of, timeout_s);
    return detector;
}

static struct failure_detector new_pulse(double timeout_s)
{
    return open_pulse(N_NODES, N_NODES, timeout_s);
}

// On four hosts.
static struct failure_detector new_crowd(void)
{
    return open_pulse(256, 4, 5);
}

/** Time passes, node 0 is heard, node 2 only if it is not silent.
 * @return the event, if any; the time has stopped there */
static enum detector_event let_pass(struct failure_detector *detector,
                                    unsigned ms, int is_silent)
{
    for (unsigned at = 0; at < ms; at += POLL_MS) {
        enum detector_event event;
        node_id node = NODE_NONE;

        now_ns += POLL_MS * MS;
        detector_hear(detector, 0);
        if (!is_silent) {
            detector_hear(detector, 2);
        }
        event = detector_poll(detector, &node);
        if (event != DETECTOR_NOTHING) {
            assert_int_equal(node, 2);
            return event;
        }
    }
    return DETECTOR_NOTHING;
}

static void a_beat_of_the_launcher_is_news_once(void **unused)
{
    struct failure_detector detector = new_pulse(5);

    (void)unused;
    assert_true(detector_hear_launcher(&detector, 5));
    assert_false(detector_hear_launcher(&detector, 5));
    assert_false(detector_hear_launcher(&detector, 4));
    assert_true(detector_hear_launcher(&detector, 6));
}

static void each_of_few_hosts_gets_a_beat_a_second(void **unused)
{
    struct failure_detector detector = new_pulse(5);

    (void)unused;
    assert_int_equal(let_pass(&detector, 10000, 0), DETECTOR_NOTHING);
    assert_in_range(n_beats[0], 9, 11);
    assert_int_equal(n_beats[2], n_beats[0]);
    assert_int_equal(n_beats[1], 0);
}

static void a_silent_node_is_suspect_then_lost(void **unused)
{
    struct failure_detector detector = new_pulse(5);
    uint64_t start_ns;

    (void)unused;
    let_pass(&detector, 2000, 0);
    start_ns = now_ns;
    assert_int_equal(let_pass(&detector, 10000, 1), DETECTOR_SUSPECT);
    assert_in_range(now_ns - start_ns, 2900 * MS, 3100 * MS);
    assert_int_equal(let_pass(&detector, 10000, 1), DETECTOR_LOST);
    assert_in_range(now_ns - start_ns, 4900 * MS, 5100 * MS);
    assert_int_equal(let_pass(&detector, 100, 1), DETECTOR_LOST);
}

/** Of node 2, while all others are heard. */
static enum detector_event let_pass_in_crowd(struct failure_detector *detector,
                                             unsigned ms, int is_silent)
{
    for (unsigned at = 0; at < ms; at += POLL_MS) {
        enum detector_event event;
        node_id node = NODE_NONE;

        now_ns += POLL_MS * MS;
        for (unsigned i = 0; i < port.roster.n_live; i++) {
            if (i != 2 || !is_silent) {
                detector_hear(detector, (node_id)i);
            }
        }
        event = detector_poll(detector, &node);
        if (event != DETECTOR_NOTHING) {
            assert_int_equal(node, 2);
            return event;
        }
    }
    return DETECTOR_NOTHING;
}

static void one_of_a_crowd_that_has_not_begun_has_longer(void **unused)
{
    struct failure_detector detector = new_crowd();
    uint64_t start_ns = now_ns;

    (void)unused;
    assert_int_equal(let_pass_in_crowd(&detector, 60000, 1), DETECTOR_SUSPECT);
    assert_in_range(now_ns - start_ns, 41900 * MS, 42100 * MS);
    assert_int_equal(let_pass_in_crowd(&detector, 60000, 1), DETECTOR_LOST);
    assert_in_range(now_ns - start_ns, 49900 * MS, 50100 * MS);
    assert_int_equal(detector_silent_s(&detector, 2), 50);
    detector = new_crowd();
    detector_expect(&detector, 2); // that one has joined
    assert_int_equal(let_pass_in_crowd(&detector, 13000, 1), DETECTOR_SUSPECT);
    assert_int_equal(detector_silent_s(&detector, 2), 12);
}

static void in_a_crowd_on_few_hosts_all_takes_longer(void **unused)
{
    struct failure_detector detector = new_crowd();
    uint64_t start_ns;

    (void)unused;
    let_pass_in_crowd(&detector, 20000, 0);
    assert_in_range(n_beats[2], 19, 21);
    start_ns = now_ns;
    assert_int_equal(let_pass_in_crowd(&detector, 60000, 1), DETECTOR_SUSPECT);
    assert_in_range(now_ns - start_ns, 11900 * MS, 12100 * MS);
    assert_int_equal(let_pass_in_crowd(&detector, 60000, 1), DETECTOR_LOST);
    assert_in_range(now_ns - start_ns, 19900 * MS, 20100 * MS);
}

static void in_a_crowd_on_many_hosts_it_does_not(void **unused)
{
    struct failure_detector detector = open_pulse(256, 64, 5);
    uint64_t start_ns;

    (void)unused;
    detector_sent(&detector, 2); // which is behind this one, not in front
    let_pass_in_crowd(&detector, 5000, 0);
    start_ns = now_ns;
    detector_sent(&detector, 2);
    assert_int_equal(let_pass_in_crowd(&detector, 60000, 1), DETECTOR_SUSPECT);
    assert_in_range(now_ns - start_ns, 2900 * MS, 3100 * MS);
    assert_int_equal(let_pass_in_crowd(&detector, 60000, 1), DETECTOR_LOST);
    assert_in_range(now_ns - start_ns, 4900 * MS, 5100 * MS);
}

static void a_suspect_that_is_heard_again_is_told_once(void **unused)
{
    struct failure_detector detector = new_pulse(5);

    (void)unused;
    let_pass(&detector, 100, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(let_pass(&detector, 4500, 1), DETECTOR_SUSPECT);
        assert_int_equal(let_pass(&detector, 100, 0), DETECTOR_BACK);
        assert_int_equal(let_pass(&detector, 10000, 0), DETECTOR_NOTHING);
    }
}

static void nobody_is_lost_while_this_node_was_stopped(void **unused)
{
    struct failure_detector detector = new_pulse(5);

    (void)unused;
    let_pass(&detector, 1000, 0);
    for (unsigned i = 0; i < 10; i++) {
        now_ns += 60000 * MS;
        assert_int_equal(let_pass(&detector, 2000, 1), DETECTOR_NOTHING);
        assert_int_equal(let_pass(&detector, 100, 0), DETECTOR_NOTHING);
    }
    assert_int_equal(let_pass(&detector, 10000, 1), DETECTOR_SUSPECT);
    assert_int_equal(let_pass(&detector, 10000, 1), DETECTOR_LOST);
}

/** Polls that go on for so long, then a pause.
 * @return milliseconds from the last sign of life until it is lost */
static uint64_t lost_after_ms(unsigned polls_ms, unsigned pause_ms)
{
    struct failure_detector detector = new_pulse(5);
    uint64_t start_ns;

    let_pass(&detector, 1000, 0);
    start_ns = now_ns;
    while (let_pass(&detector, polls_ms, 1) != DETECTOR_LOST) {
        assert_true(now_ns - start_ns < 60000 * MS);
        now_ns += pause_ms * MS;
    }
    return (now_ns - start_ns) / MS;
}

static void own_pauses_do_not_begin_silences_anew(void **unused)
{
    (void)unused;
    assert_in_range(lost_after_ms(10000, 0), 4900, 5100);
    // One that pages, or is starved: 0.7 s every 3 s.
    assert_in_range(lost_after_ms(3000, 700), 5000, 6000);
    assert_in_range(lost_after_ms(1000, 700), 5000, 9000);
    assert_in_range(lost_after_ms(POLL_MS, 600), 5000, 9000);
}

static void who_is_heard_behind_a_pause_is_alive(void **unused)
{
    struct failure_detector detector = new_pulse(5);

    (void)unused;
    let_pass(&detector, 1000, 0);
    assert_int_equal(let_pass(&detector, 4800, 1), DETECTOR_SUSPECT);
    assert_int_equal(let_pass(&detector, 1800, 1), DETECTOR_NOTHING);
    now_ns += 700 * MS; // meanwhile it says something; more than the rest
    assert_int_equal(let_pass(&detector, POLL_MS, 1), DETECTOR_NOTHING);
    assert_int_equal(let_pass(&detector, POLL_MS, 0), DETECTOR_BACK);
    assert_int_equal(let_pass(&detector, 1000, 0), DETECTOR_NOTHING);
}

static void silence_is_known_before_and_without_a_loss(void **unused)
{
    struct failure_detector detector;

    (void)unused;
    for (unsigned timeout_s = 0; timeout_s < 10; timeout_s += 5) {
        detector = new_pulse(timeout_s);
        let_pass(&detector, 1500, 1);
        let_pass(&detector, 400, 1);
        assert_false(detector_is_silent(&detector, 2));
        let_pass(&detector, 200, 1);
        assert_true(detector_is_silent(&detector, 2));
        assert_false(detector_is_silent(&detector, 0));
        let_pass(&detector, 100, 0);
        assert_false(detector_is_silent(&detector, 2));
    }
    detector = new_pulse(2); // the least that there is
    while (let_pass(&detector, 1000, 1) != DETECTOR_LOST) {
    }
    assert_true(detector_is_silent(&detector, 2));
}

static void one_that_was_stopped_knows_for_how_long(void **unused)
{
    struct failure_detector detector = new_pulse(5);

    (void)unused;
    let_pass(&detector, 1000, 0);
    now_ns += 8000 * MS;
    assert_in_range(detector_away_ns(&detector), 8000 * MS,
                    8000 * MS + POLL_MS * MS);
    let_pass(&detector, POLL_MS, 0);
    assert_true(detector_away_ns(&detector) > 7000 * MS);
    let_pass(&detector, POLL_MS, 0);
    assert_int_equal(detector_away_ns(&detector), 0);
    assert_false(detector_is_silent(&detector, 2));
}

static void without_a_time_nobody_is_lost(void **unused)
{
    struct failure_detector detector = new_pulse(0);

    (void)unused;
    assert_int_equal(let_pass(&detector, 100000, 1), DETECTOR_NOTHING);
    assert_true(n_beats[2] > 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_beat_of_the_launcher_is_news_once),
        cmocka_unit_test(each_of_few_hosts_gets_a_beat_a_second),
        cmocka_unit_test(a_silent_node_is_suspect_then_lost),
        cmocka_unit_test(one_of_a_crowd_that_has_not_begun_has_longer),
        cmocka_unit_test(in_a_crowd_on_few_hosts_all_takes_longer),
        cmocka_unit_test(in_a_crowd_on_many_hosts_it_does_not),
        cmocka_unit_test(a_suspect_that_is_heard_again_is_told_once),
        cmocka_unit_test(nobody_is_lost_while_this_node_was_stopped),
        cmocka_unit_test(own_pauses_do_not_begin_silences_anew),
        cmocka_unit_test(who_is_heard_behind_a_pause_is_alive),
        cmocka_unit_test(silence_is_known_before_and_without_a_loss),
        cmocka_unit_test(one_that_was_stopped_knows_for_how_long),
        cmocka_unit_test(without_a_time_nobody_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

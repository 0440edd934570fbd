// SPDX-License-Identifier: BSD-3-Clause
// What launcher and agent tell each other, and when one is lost to the other.
#include "mux.h"
#include "remote_start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "beat.h"

#define S UINT64_C(1000000000)

static char *arguments[] = {"program", "", "-n 3", NULL};
static char *variables[] = {"TEAMSTER_STATS=1", "UCX_TLS=", NULL};
static struct remote_node_start nodes[] = {
    {3,
     {.workers = 2,
      .memory = 1 << 20,
      .speed = 0.5,
      .share = 1,
      .label = "quick"}},
    {4, {.workers = 1, .share = 0.25}},
};

static void put_start(struct buffer *body)
{
    remote_start_put(
        &(struct remote_start){
            .n_nodes = 5,
            .n_before = 3,
            .joins = 4,
            .folder = "/some/where",
            .address = "10.0.0.1",
            .argv = arguments,
            .variables = variables,
            .n_here = 2,
            .nodes = nodes,
        },
        body);
}

static void a_start_arrives_as_it_was_sent(void **unused)
{
    struct buffer body = {0};
    struct remote_start start;

    (void)unused;
    put_start(&body);
    assert_int_equal(remote_start_get(buffer_front(&body), body.used, &start),
                     TM_OK);
    assert_int_equal(start.n_nodes, 5);
    assert_int_equal(start.n_before, 3);
    assert_int_equal(start.joins, 4);
    assert_string_equal(start.folder, "/some/where");
    assert_string_equal(start.address, "10.0.0.1");
    assert_string_equal(start.argv[0], "program");
    assert_string_equal(start.argv[1], "");
    assert_string_equal(start.argv[2], "-n 3");
    assert_null(start.argv[3]);
    assert_string_equal(start.variables[1], "UCX_TLS=");
    assert_null(start.variables[2]);
    assert_int_equal(start.n_here, 2);
    assert_int_equal(start.nodes[0].node, 3);
    assert_int_equal(start.nodes[0].host.memory, 1 << 20);
    assert_true(start.nodes[0].host.speed > 0.49);
    assert_string_equal(start.nodes[0].host.label, "quick");
    assert_int_equal(start.nodes[1].node, 4);
    assert_string_equal(start.nodes[1].host.label, "");
    assert_true(start.nodes[1].host.share < 0.26);
    remote_start_release(&start);
    buffer_release(&body);
}

static void a_start_that_is_cut_or_changed_is_refused_or_harmless(void **unused)
{
    struct buffer body = {0};
    struct remote_start start;
    char *bytes;

    (void)unused;
    put_start(&body);
    bytes = malloc(body.used);
    assert_non_null(bytes);
    for (size_t size = 0; size < body.used; size++) {
        memcpy(bytes, buffer_front(&body), size);
        assert_int_equal(remote_start_get(bytes, size, &start), TM_EWIRE);
    }
    for (size_t at = 0; at < body.used; at++) {
        for (int value = 0; value < 256; value += 51) {
            memcpy(bytes, buffer_front(&body), body.used);
            bytes[at] = (char)value;
            if (remote_start_get(bytes, body.used, &start) == TM_OK) {
                remote_start_release(&start);
            }
        }
    }
    free(bytes);
    buffer_release(&body);
}

static void a_greeting_is_whole_or_refused(void **unused)
{
    uint8_t body[64];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};
    struct wire_agent_hello hello = {"1.2", "10.0.0.7"};
    size_t whole;

    (void)unused;
    wire_put_agent_hello(&writer, &hello);
    whole = (size_t)(writer.at - body);
    for (size_t size = 0; size <= whole; size++) {
        struct wire_reader reader = wire_read(body, size);

        hello = wire_get_agent_hello(&reader);
        assert_int_equal(reader.failed, size < whole);
    }
    assert_string_equal(hello.version, "1.2");
    assert_string_equal(hello.launcher, "10.0.0.7");
}

static void the_card_of_an_address_is_found(void **unused)
{
    char device[32];

    (void)unused;
    assert_true(find_device("127.0.0.1", device, sizeof device));
    assert_string_equal(device, "lo");
    assert_false(find_device("127.0.0.1", device, 2)); // no room
    assert_false(find_device("203.0.113.9", device, sizeof device));
    assert_false(find_device("", device, sizeof device));
    assert_false(find_device("localhost", device, sizeof device));
}

/** Time passes for who listens. @return its clock */
static uint64_t let_pass(struct beat *beat, uint64_t seconds)
{
    uint64_t end_ns = beat->watch.polled_ns + seconds * S;

    while (beat->watch.polled_ns < end_ns) {
        beat_poll(beat, beat->watch.polled_ns + S / 4);
    }
    return end_ns;
}

static void who_is_silent_is_suspect_then_lost(void **unused)
{
    struct beat beat = {.slowdown = 1};
    struct beat_peer peer = {0};

    (void)unused;
    beat_expect(&beat, &peer);
    let_pass(&beat, 2);
    assert_int_equal(beat_of(&beat, &peer), BEAT_ALIVE);
    let_pass(&beat, 1);
    assert_int_equal(beat_of(&beat, &peer), BEAT_SUSPECT);
    assert_true(beat_is_cut(&beat, &peer));
    beat_hear(&beat, &peer, let_pass(&beat, 1));
    assert_int_equal(beat_of(&beat, &peer), BEAT_ALIVE);
    assert_false(beat_is_cut(&beat, &peer));
    let_pass(&beat, 5);
    assert_int_equal(beat_of(&beat, &peer), BEAT_SUSPECT); // two polls
    let_pass(&beat, 1);
    assert_int_equal(beat_of(&beat, &peer), BEAT_LOST);
    beat.slowdown = 2;
    beat_hear(&beat, &peer, let_pass(&beat, 1));
    let_pass(&beat, 5);
    assert_int_equal(beat_of(&beat, &peer), BEAT_ALIVE);
}

static void silence_while_one_was_stopped_oneself_does_not_count(void **unused)
{
    struct beat beat = {.slowdown = 1};
    struct beat_peer peer = {0};

    (void)unused;
    beat_expect(&beat, &peer);
    let_pass(&beat, 2);
    beat_poll(&beat, beat.watch.polled_ns + 26 * S);
    assert_int_equal(beat_of(&beat, &peer), BEAT_ALIVE);
    let_pass(&beat, 1); // but what came before does
    assert_int_equal(beat_of(&beat, &peer), BEAT_SUSPECT);
    let_pass(&beat, 2);
    beat_of(&beat, &peer);
    let_pass(&beat, 1);
    assert_int_equal(beat_of(&beat, &peer), BEAT_LOST);
    beat_expect(&beat, &peer);
    beat.is_paused = 1;
    let_pass(&beat, 10);
    assert_int_equal(beat_of(&beat, &peer), BEAT_ALIVE);
}

static void who_is_heard_by_nodes_is_alive(void **unused)
{
    struct beat beat = {.slowdown = 1};
    struct beat_peer peer = {0};

    (void)unused;
    beat_expect(&beat, &peer);
    for (unsigned i = 0; i < 30; i++) {
        let_pass(&beat, 1);
        beat_hear_by_nodes(&beat, &peer, S / 2);
        assert_int_equal(beat_of(&beat, &peer), BEAT_ALIVE);
    }
    assert_true(beat_is_cut(&beat, &peer));
    let_pass(&beat, 5); // then nodes hear nothing either
    beat_of(&beat, &peer);
    beat_hear_by_nodes(&beat, &peer, 6 * S);
    let_pass(&beat, 1);
    assert_int_equal(beat_of(&beat, &peer), BEAT_LOST);
}

static void a_beat_is_due_every_second(void **unused)
{
    struct beat beat = {.slowdown = 1};

    (void)unused;
    assert_true(beat_is_due(&beat, 100 * S));
    assert_false(beat_is_due(&beat, 100 * S + S / 2));
    assert_true(beat_is_due(&beat, 101 * S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_arrives_as_it_was_sent),
        cmocka_unit_test(a_start_that_is_cut_or_changed_is_refused_or_harmless),
        cmocka_unit_test(a_greeting_is_whole_or_refused),
        cmocka_unit_test(the_card_of_an_address_is_found),
        cmocka_unit_test(who_is_silent_is_suspect_then_lost),
        cmocka_unit_test(silence_while_one_was_stopped_oneself_does_not_count),
        cmocka_unit_test(who_is_heard_by_nodes_is_alive),
        cmocka_unit_test(a_beat_is_due_every_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

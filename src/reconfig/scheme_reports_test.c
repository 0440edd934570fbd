// SPDX-License-Identifier: BSD-3-Clause
// What the scheme takes from reports: where iterations end, and what it refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reconfig/scheme_test.h"

// The nodes' part: told where iterations end, or to report every barrier, or none.
static void pass_barrier(struct world *world, uint32_t place)
{
    world->n_barriers++;
    if (world->is_searching) {
        end_iteration(world, MARKED_NOT, place);
    } else if (world->period > 0 &&
               world->n_barriers % world->period == world->phase) {
        end_iteration(world, MARKED_BY_PERIOD, place);
    }
}

// Of a program that has not said where its iterations end.
static struct world *searching_world(const char *policy, const double *power)
{
    struct world *world = world_new(policy, power);

    world->is_searching = 1;
    return world;
}

// Rounds of n barriers.
static void pass_rounds(struct world *world, unsigned rounds, uint32_t n,
                        uint32_t first_place)
{
    for (unsigned i = 0; i < rounds * n; i++) {
        pass_barrier(world, first_place + i % n);
    }
}

static void pass_irregular(struct world *world, unsigned n)
{
    uint32_t draw = 7;

    for (unsigned i = 0; i < n; i++) {
        draw = draw * 1664525u + 1013904223u;
        pass_barrier(world, draw >> 16);
    }
}

static void the_period_of_barriers_is_found(void **state)
{
    struct world *world = searching_world("cpu-mem", unequal);

    (void)state;
    pass_rounds(world, 100, BARRIERS, 10);
    assert_int_equal(world->period, BARRIERS);
    assert_true(iteration_s(world) < 0.11);
    world_free(world);
}

static void a_program_that_goes_on_to_other_barriers_is_followed(void **state)
{
    struct world *world = searching_world("cpu-mem", unequal);

    (void)state;
    pass_rounds(world, 80, BARRIERS, 10);
    assert_int_equal(world->period, BARRIERS);
    assert_true(iteration_s(world) < 0.11);
    for (unsigned i = 0; i < 8; i++) {
        world->work_s[i] *= 3;
    }
    assert_true(iteration_s(world) > 0.25);
    pass_rounds(world, 80, 5, 50);
    assert_int_equal(world->period, 5);
    assert_true(iteration_s(world) < 0.17); // 0.15 at best
    assert_non_null(strstr(world->said, "barriers are others now"));
    assert_non_null(strstr(world->said, "found to be 5 barriers"));
    world_free(world);
}

static void periods_that_are_lost_each_time_are_given_up(void **state)
{
    struct world *world = searching_world("cpu-mem", unequal);

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        pass_rounds(world, 20, 3 + 2 * (i % 2), 10 * i);
    }
    assert_int_equal(world->is_searching, 0);
    assert_int_equal(world->period, 0);
    assert_non_null(strstr(world->said, "no regularity"));
    world_free(world);
}

static unsigned n_said(const struct world *world, const char *words)
{
    const char *at = world->said;
    unsigned n = 0;

    for (; (at = strstr(at, words)) != NULL; at++) {
        n++;
    }
    return n;
}

static void a_change_of_barriers_is_one_whatever_comes_first(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct world *world = searching_world("cpu-mem", unequal);

        world->draw = seed;
        world->is_shuffled = 1;
        pass_rounds(world, 80, BARRIERS, 10);
        assert_int_equal(n_said(world, "barriers are others now"), 0);
        pass_rounds(world, 120, 5, 50);
        assert_int_equal(n_said(world, "barriers are others now"), 1);
        assert_int_equal(n_said(world, "no regularity"), 0);
        assert_int_equal(world->period, 5);
        world_free(world);
    }
}

// A loop of n barriers, and one more now and then.
static void a_barrier_now_and_then_changes_nothing(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 4; n++) {
        for (unsigned every = 20; every <= 120; every += 9) {
            struct world *world = searching_world("cpu-mem", unequal);

            for (unsigned i = 1; i < 1000; i++) {
                pass_rounds(world, 1, n, 10);
                if (i % every == 0) {
                    pass_barrier(world, 99);
                }
            }
            assert_int_equal(n_said(world, "barriers are others now"), 0);
            assert_true(iteration_s(world) < 0.11);
            world_free(world);
        }
    }
}

// The thread that leads is in no report any more.
static void remove_first_thread(struct world *world)
{
    world->node_of[0] = world->target[0] = N_NODES;
}

static void a_leader_that_ends_is_followed_by_another(void **state)
{
    struct world *world = searching_world("initial", equal);

    (void)state;
    pass_rounds(world, 2, BARRIERS, 10);
    remove_first_thread(world);
    pass_rounds(world, 20, BARRIERS, 10);
    assert_int_equal(world->period, BARRIERS);
    world_free(world);

    world = searching_world("initial", equal);
    pass_rounds(world, 20, BARRIERS, 10);
    assert_int_equal(world->period, BARRIERS);
    remove_first_thread(world);
    pass_rounds(world, 80, 5, 50);
    assert_int_equal(world->period, 5);
    world_free(world);
}

static void a_vain_search_ends_though_leaders_end(void **state)
{
    struct world *world = searching_world("initial", equal);

    (void)state;
    pass_irregular(world, 100);
    remove_first_thread(world);
    pass_irregular(world, 500);
    assert_int_equal(n_said(world, "no regularity"), 1);
    assert_int_equal(world->is_searching, 0);
    world_free(world);
}

static void what_the_program_says_counts_after_a_vain_search(void **state)
{
    struct world *world = searching_world("cpu-mem", unequal);

    (void)state;
    pass_irregular(world, 600);
    assert_non_null(strstr(world->said, "no regularity"));
    iterate(world, 60);
    assert_true(iteration_s(world) < 0.11);
    world_free(world);
}

static void without_a_period_nothing_is_done(void **state)
{
    struct world *world = searching_world("cpu-mem", unequal);

    (void)state;
    world->period = 1;
    pass_irregular(world, 600);
    assert_int_equal(world->is_searching, 0);
    assert_int_equal(world->period, 0);
    assert_non_null(strstr(world->said, "no regularity"));
    world_free(world);
}

static void a_malformed_report_is_refused(void **state)
{
    struct world *world = world_new("cpu-mem", equal);
    uint8_t body[27] = {0};
    struct message message = {
        .type = MESSAGE_iteration,
        .u.iteration = {.marked = 1},
        .body = body,
        .body_size = sizeof body,
    };

    (void)state;
    assert_int_equal(scheme_receive(world->scheme, 0, &message, 1), TM_EWIRE);
    message.body_size = 0;
    assert_int_equal(scheme_receive(world->scheme, 0, &message, 1), TM_EWIRE);
    world_free(world);
}

static void a_report_of_a_thread_that_cannot_be_is_refused(void **state)
{
    static const uint64_t numbers[] = {0x80000000u, UINT32_MAX, 1u << 30};
    struct world *world = world_new("cpu-mem", equal);
    struct message message = {
        .type = MESSAGE_iteration,
        .u.iteration = {.marked = 1},
    };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint8_t body[28] = {0};
        struct wire_writer writer = {body, body + sizeof body, 0};

        wire_put_u64(&writer, numbers[i]);
        message.body = body;
        message.body_size = sizeof body;
        assert_int_equal(scheme_receive(world->scheme, 0, &message, 1),
                         TM_EWIRE);
    }
    world_free(world);
}

// @param size  of the body, of which the rows of n_peers are the first
static tm_status report_peers(uint16_t n_peers, uint16_t first, size_t size)
{
    struct world *world = world_new("cpu-mem", equal);
    uint8_t body[4 * 10 + 28] = {0};
    struct wire_writer writer = {body, body + sizeof body, 0};
    const struct message message = {
        .type = MESSAGE_iteration,
        .u.iteration = {.marked = 1, .n_peers = n_peers},
        .body = body,
        .body_size = (uint32_t)size,
    };
    tm_status status;

    wire_put_u16(&writer, first);
    wire_put_u64(&writer, 5);
    wire_put_u16(&writer, 2);
    status = scheme_receive(world->scheme, 1, &message, 1);
    world_free(world);
    return status;
}

static void peers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_int_equal(report_peers(2, 0, 48), TM_OK);
    assert_int_equal(report_peers(2, 3, 48), TM_OK);
    assert_int_equal(report_peers(2, 4, 48), TM_EWIRE); // of 0 to 3
    assert_int_equal(report_peers(2, 1, 48), TM_EWIRE); // itself
    assert_int_equal(report_peers(2, 0, 20), TM_EWIRE); // and no thread
    assert_int_equal(report_peers(2, 0, 47), TM_EWIRE);
    assert_int_equal(report_peers(4, 0, 68), TM_EWIRE); // more than others
    assert_int_equal(report_peers(UINT16_MAX, 0, 48), TM_EWIRE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_period_of_barriers_is_found),
        cmocka_unit_test(a_program_that_goes_on_to_other_barriers_is_followed),
        cmocka_unit_test(periods_that_are_lost_each_time_are_given_up),
        cmocka_unit_test(a_change_of_barriers_is_one_whatever_comes_first),
        cmocka_unit_test(a_barrier_now_and_then_changes_nothing),
        cmocka_unit_test(a_leader_that_ends_is_followed_by_another),
        cmocka_unit_test(a_vain_search_ends_though_leaders_end),
        cmocka_unit_test(what_the_program_says_counts_after_a_vain_search),
        cmocka_unit_test(without_a_period_nothing_is_done),
        cmocka_unit_test(a_malformed_report_is_refused),
        cmocka_unit_test(peers_that_cannot_be_are_refused),
        cmocka_unit_test(a_report_of_a_thread_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample_views_test.h"
#include "place/trigger.h"

static void begin(struct trigger *trigger)
{
    trigger_init(trigger, 0);
}

static enum trigger_advice feed(struct trigger *trigger, double max_s,
                                double mean_s, double cost_s)
{
    const struct trigger_sample sample = {
        .max_s = max_s, .mean_s = mean_s, .cost_s = cost_s};
    const enum trigger_advice advice = trigger_feed(trigger, &sample);

    assert_true(trigger->area_s >= 0); // I1
    assert_true(trigger->rest_left <= trigger->backoff ||
                trigger->state == TRIGGER_WATCHING); // I2
    assert_true(trigger->backoff <= TRIGGER_REST_MOST);
    return advice;
}

/** Feed the same until it advises something. @return iterations, limit if it
 * never does */
static unsigned feed_until(struct trigger *trigger, double max_s, double mean_s,
                           double cost_s, enum trigger_advice expected,
                           unsigned limit)
{
    for (unsigned k = 1; k < limit; k++) {
        const enum trigger_advice advice = feed(trigger, max_s, mean_s, cost_s);

        if (advice != TRIGGER_REST) {
            assert_int_equal(advice, expected);
            return k;
        }
    }
    return limit;
}

static void a_balanced_program_is_left_alone(void **state)
{
    struct trigger trigger;

    (void)state;
    begin(&trigger);
    for (unsigned k = 0; k < 20000; k++) {
        const double max_s = 1 + random_between(0, 0.06);

        assert_int_equal(feed(&trigger, max_s, max_s - 0.05, 0.01),
                         TRIGGER_REST);
    }
}

static void times_below_the_floor_earn_nothing(void **state)
{
    struct trigger trigger;

    (void)state;
    begin(&trigger);
    assert_int_equal(feed_until(&trigger, 1, 0.6, 0, TRIGGER_COLLECT, 100), 4);
    trigger_collected(&trigger);
    trigger_refused(&trigger); // at 1 s
    for (unsigned k = 0; k < 1000; k++) {
        assert_int_equal(feed(&trigger, 0.95, 0.6, 0), TRIGGER_REST);
    }
    // 0.05 s more than the floor
    assert_int_equal(
        feed_until(&trigger, 1.05, 0.6, 0.12, TRIGGER_COLLECT, 100), 3);
}

static void an_imbalance_is_answered_when_it_has_cost_as_much(void **state)
{
    struct trigger trigger;

    (void)state;
    // 0.4 s are lost in each iteration.
    begin(&trigger);
    assert_int_equal(feed_until(&trigger, 1, 0.6, 0, TRIGGER_COLLECT, 100), 4);
    begin(&trigger);
    assert_int_equal(feed_until(&trigger, 1, 0.6, 10.1, TRIGGER_COLLECT, 100),
                     26);
    // 0.15 s
    begin(&trigger);
    assert_int_equal(feed_until(&trigger, 1, 0.85, 10.1, TRIGGER_COLLECT, 100),
                     68);
}

static void what_is_attainable_counts_not_the_mean(void **state)
{
    struct trigger trigger;
    struct trigger_sample sample = {
        .max_s = 1, .mean_s = 0.5, .attainable_s = 0.99, .cost_s = 1};
    unsigned n = 1;

    (void)state;
    begin(&trigger);
    while (trigger_feed(&trigger, &sample) == TRIGGER_REST) {
        n++;
    }
    assert_in_range(n, 100, 102);
}

static void one_slow_iteration_is_forgotten(void **state)
{
    struct trigger trigger;

    (void)state;
    begin(&trigger);
    for (unsigned k = 0; k < 1000; k++) {
        const double max_s = k % 40 == 20 ? 3 : 1;

        assert_int_equal(feed(&trigger, max_s, 0.97, 1), TRIGGER_REST);
    }
}

static void a_change_for_the_better_is_kept(void **state)
{
    struct trigger trigger;

    (void)state;
    begin(&trigger);
    feed_until(&trigger, 1, 0.6, 1, TRIGGER_COLLECT, 100);
    assert_int_equal(feed(&trigger, 1.5, 1, 1), TRIGGER_REST); // tracked
    trigger_collected(&trigger);
    assert_int_equal(feed(&trigger, 1, 0.6, 1), TRIGGER_REMAP);
    trigger_changed(&trigger, 1);
    assert_int_equal(feed(&trigger, 4, 2, 1), TRIGGER_REST); // pages come
    for (unsigned k = 0; k < 1000; k++) {
        assert_int_equal(feed(&trigger, 0.7, 0.65, 1), TRIGGER_REST);
    }
    assert_int_equal(trigger.state, TRIGGER_RESTING);
}

static void a_change_for_the_worse_is_undone(void **state)
{
    struct trigger trigger;
    unsigned n[2];

    (void)state;
    begin(&trigger);
    for (unsigned round = 0; round < 2; round++) {
        n[round] = feed_until(&trigger, 1, 0.6, 1, TRIGGER_COLLECT, 10000);
        trigger_collected(&trigger);
        assert_int_equal(feed(&trigger, 1, 0.6, 1), TRIGGER_REMAP);
        trigger_changed(&trigger, 1);
        assert_int_equal(feed_until(&trigger, 1.1, 0.6, 1, TRIGGER_UNDO, 100),
                         1 + TRIGGER_WATCHED);
        assert_int_equal(feed(&trigger, 1.1, 0.6, 1), TRIGGER_UNDO);
        trigger_undone(&trigger);
    }
    assert_int_equal(n[0], 4);
    assert_in_range(n[1], 32, 40); // back where it was; another may do better
    assert_int_equal(trigger.backoff, 64);
}

static void a_loss_that_may_be_chance_is_watched_for_longer(void **state)
{
    const struct trigger_sample unsure = {
        .max_s = 1.1, .mean_s = 0.6, .cost_s = 1, .error_s = 0.06};
    struct trigger trigger;
    unsigned n = 0;

    (void)state;
    begin(&trigger);
    feed_until(&trigger, 1, 0.6, 1, TRIGGER_COLLECT, 100);
    trigger_collected(&trigger);
    trigger_changed(&trigger, 1);
    while (trigger.state == TRIGGER_WATCHING && n < 100) {
        assert_int_equal(trigger_feed(&trigger, &unsure), TRIGGER_REST);
        n++;
    }
    assert_int_equal(n, 1 + 2 * TRIGGER_WATCHED); // and then it is kept
}

static void samples_of_seconds_need_not_be_many(void **state)
{
    struct trigger_sample sample = {
        .max_s = 10, .mean_s = 6, .cost_s = 1, .length_s = 10};
    struct trigger trigger;

    (void)state;
    assert_int_equal(trigger_enough(9, 0), 9);
    assert_int_equal(trigger_enough(9, 0.2), 9);
    assert_int_equal(trigger_enough(9, 0.5), 4);
    assert_int_equal(trigger_enough(9, 60), 3);
    assert_int_equal(trigger_enough(4, 60), 2);
    begin(&trigger);
    assert_int_equal(trigger_feed(&trigger, &sample), TRIGGER_REST);
    assert_int_equal(trigger_feed(&trigger, &sample), TRIGGER_COLLECT);
    trigger_collected(&trigger);
    trigger_changed(&trigger, 5);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(trigger_feed(&trigger, &sample), TRIGGER_REST);
    }
    assert_int_equal(trigger_feed(&trigger, &sample), TRIGGER_UNDO);
}

static void what_a_sample_loses_counts_for_all_its_iterations(void **state)
{
    const struct trigger_sample sample = {
        .n_iterations = 10, .max_s = 1, .mean_s = 0.6, .cost_s = 40.1};
    struct trigger trigger;
    unsigned n = 1;

    (void)state;
    begin(&trigger);
    while (trigger_feed(&trigger, &sample) == TRIGGER_REST) {
        n++;
    }
    assert_in_range(n, 10, 11); // 4 s are lost in each
}

static void refusals_come_ever_more_rarely(void **state)
{
    struct trigger trigger;

    (void)state;
    begin(&trigger);
    feed_until(&trigger, 1, 0.6, 0.5, TRIGGER_COLLECT, 100);
    for (uint32_t expected = 8; expected < 5000; expected *= 2) {
        trigger_collected(&trigger);
        assert_int_equal(feed(&trigger, 1, 0.6, 0.5), TRIGGER_REMAP);
        trigger_refused(&trigger);
        assert_int_equal(trigger.backoff, expected < 1024 ? expected : 1024);
        trigger.floor_s = 0; // as if there were something to be had
        assert_in_range(
            feed_until(&trigger, 1, 0.6, 0.5, TRIGGER_COLLECT, 10000),
            trigger.backoff + 4, trigger.backoff + 6);
    }
    trigger_refused(&trigger);
    assert_int_equal(feed_until(&trigger, 1, 0.6, 0.5, TRIGGER_COLLECT, 10000),
                     10000);
}

static void other_conditions_end_a_rest(void **state)
{
    struct trigger trigger;

    (void)state;
    begin(&trigger);
    feed_until(&trigger, 1, 0.6, 0.5, TRIGGER_COLLECT, 100);
    for (unsigned k = 0; k < 8; k++) {
        trigger_refused(&trigger);
    }
    assert_int_equal(trigger.rest_left, 1024);
    // Another job takes half a processor of the slowest node.
    assert_in_range(feed_until(&trigger, 2, 0.8, 0.5, TRIGGER_COLLECT, 100), 4,
                    10);
    trigger_collected(&trigger);
    trigger_changed(&trigger, 2);
    feed_until(&trigger, 1.3, 1.25, 0.5, TRIGGER_COLLECT, 20);
    assert_int_equal(trigger.state, TRIGGER_RESTING);
    // It ends: that node is now the first to be done.
    assert_in_range(feed_until(&trigger, 1.3, 1.05, 0.5, TRIGGER_COLLECT, 100),
                    4, 10);
}

static void a_change_must_pay(void **state)
{
    (void)state;
    assert_true(trigger_accepts(
        &(struct profile_acceptance){1, 0.9, 100, 1e9, 1e9, 1}));
    assert_false(
        trigger_accepts(&(struct profile_acceptance){1, 0.9, 19, 1e9, 1e9, 1}));
    assert_false(trigger_accepts(
        &(struct profile_acceptance){1, 1, 1000000, 0, 1e9, 0}));
    assert_false(trigger_accepts(
        &(struct profile_acceptance){1, 1.1, 1000000, 0, 1e9, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_balanced_program_is_left_alone),
        cmocka_unit_test(times_below_the_floor_earn_nothing),
        cmocka_unit_test(an_imbalance_is_answered_when_it_has_cost_as_much),
        cmocka_unit_test(what_is_attainable_counts_not_the_mean),
        cmocka_unit_test(one_slow_iteration_is_forgotten),
        cmocka_unit_test(a_change_for_the_better_is_kept),
        cmocka_unit_test(a_change_for_the_worse_is_undone),
        cmocka_unit_test(a_loss_that_may_be_chance_is_watched_for_longer),
        cmocka_unit_test(samples_of_seconds_need_not_be_many),
        cmocka_unit_test(what_a_sample_loses_counts_for_all_its_iterations),
        cmocka_unit_test(refusals_come_ever_more_rarely),
        cmocka_unit_test(other_conditions_end_a_rest),
        cmocka_unit_test(a_change_must_pay),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

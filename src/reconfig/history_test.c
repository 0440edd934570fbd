// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reconfig/history.h"

#define EPSILON 1e-12
#define MS 1000000u
#define LONG (20 * MS) // an iteration that is a sample

static const double power[] = {1.0, 0.5};

static uint64_t iteration; // what is reported next

static unsigned report(struct history *history, node_id node, double busy_s,
                       uint32_t n, const struct history_arrival *arrivals,
                       uint64_t now_ns)
{
    const struct history_report report = {
        .node = node,
        .iteration = iteration,
        .done = {.busy_s = busy_s, .comp_s = busy_s / 2},
        .n_arrivals = n,
        .arrivals = arrivals,
    };

    return history_take(history, &report, now_ns);
}

static const struct history_arrival first_two[] = {{1, 0.1}, {2, 0.2}};
static const struct history_arrival third[] = {{3, 0.4}};

// Iterations of threads 1 and 2 on node 0 and 3 on node 1, 10 ms each.
static void iterate(struct history *history, unsigned n, uint64_t *now_ns)
{
    for (unsigned i = 0; i < n; i++) {
        iteration++;
        *now_ns += 4 * MS;
        report(history, 0, 0.3, 2, first_two, *now_ns);
        *now_ns += 6 * MS;
        report(history, 1, 0.4, 1, third, *now_ns);
    }
}

static void an_iteration_closes_when_all_have_reported(void **state)
{
    struct history *history = history_new(2, power);
    uint64_t now_ns = 1;
    struct history_node usual;
    uint32_t n;

    (void)state;
    // Who takes part is not known before somebody reports again.
    assert_int_equal(report(history, 0, 0.3, 2, first_two, 1 * MS), 0);
    assert_int_equal(report(history, 1, 0.4, 1, third, 2 * MS), 0);
    iteration++;
    assert_int_equal(report(history, 0, 0.3, 2, first_two, 3 * MS), 1);
    assert_int_equal(report(history, 1, 0.4, 1, third, 13 * MS), 1);
    now_ns = 13 * MS;
    history_restart(history);
    iterate(history, 5, &now_ns);
    assert_int_equal(history_n_closed(history), 7);
    assert_int_equal(history_n_since_restart(history), 5);
    assert_true(history_iteration_s(history) > 0.01 - EPSILON &&
                history_iteration_s(history) < 0.01 + EPSILON);
    history_node(history, 1, &usual);
    assert_true(usual.busy_s > 0.4 - EPSILON && usual.busy_s < 0.4 + EPSILON);
    assert_true(usual.comp_s > 0.2 - EPSILON && usual.comp_s < 0.2 + EPSILON);
    history_threads(history, &n);
    assert_int_equal(n, 3);
    assert_int_equal(history_n_ragged(history), 0);
    history_free(history);
}

static void work_is_time_at_power_one(void **state)
{
    struct history *history = history_new(2, power);
    const struct history_thread *threads;
    uint64_t now_ns = 0;
    uint32_t n;

    (void)state;
    iterate(history, 3, &now_ns);
    threads = history_threads(history, &n);
    for (uint32_t i = 0; i < n; i++) {
        static const double works_s[] = {0.1, 0.2, 0.2};
        double error_s = history_work_s(history, &threads[i]) -
                         works_s[threads[i].number - 1];

        assert_true(error_s > -EPSILON && error_s < EPSILON);
    }
    history_free(history);
}

static void an_iteration_that_is_disturbed_does_not_count(void **state)
{
    static const struct history_arrival slow[] = {{1, 0.9}, {2, 0.2}};
    struct history *history = history_new(2, power);
    const struct history_thread *threads;
    struct history_node usual;
    uint64_t now_ns = 0;
    uint32_t n;

    (void)state;
    iterate(history, 5, &now_ns);
    iteration++;
    report(history, 0, 1.1, 2, slow, now_ns += 4 * MS);
    report(history, 1, 0.4, 1, third, now_ns += 600 * MS);
    iterate(history, 2, &now_ns);
    history_node(history, 0, &usual);
    assert_true(fabs(usual.busy_s - 0.3) < EPSILON);
    assert_true(fabs(history_iteration_s(history) - 0.01) < EPSILON);
    threads = history_threads(history, &n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(threads[i].number != 1 ||
                    fabs(history_work_s(history, &threads[i]) - 0.1) < EPSILON);
        assert_true(history_noise_s(history, &threads[i]) < EPSILON);
    }
    history_free(history);
}

static void a_thread_that_is_missing_no_longer_takes_part(void **state)
{
    struct history *history = history_new(2, power);
    uint64_t now_ns = 0;
    uint32_t n;

    (void)state;
    iterate(history, 3, &now_ns);
    iteration++;
    assert_int_equal(report(history, 0, 0.3, 2, first_two, now_ns += LONG), 0);
    iteration++;
    // Thread 3 has ended: the next iteration of the others tells.
    assert_int_equal(report(history, 0, 0.3, 2, first_two, now_ns += LONG), 2);
    history_threads(history, &n);
    assert_int_equal(n, 2);
    assert_int_equal(history_n_ragged(history), 1);
    iteration++;
    assert_int_equal(report(history, 0, 0.3, 2, first_two, now_ns += LONG), 1);
    history_free(history);
}

static void a_thread_that_comes_back_takes_part_again(void **state)
{
    struct history *history = history_new(2, power);
    uint64_t now_ns = 0;
    uint32_t n;

    (void)state;
    iterate(history, 3, &now_ns);
    for (unsigned i = 0; i < 2; i++) { // without thread 3
        iteration++;
        report(history, 0, 0.3, 2, first_two, now_ns += LONG);
    }
    iterate(history, 3, &now_ns);
    history_threads(history, &n);
    assert_int_equal(n, 3);
    history_free(history);
}

static void a_thread_counts_once_an_iteration(void **state)
{
    struct history *history = history_new(2, power);
    uint64_t now_ns = 0;

    (void)state;
    iterate(history, 3, &now_ns);
    iteration++;
    for (unsigned i = 0; i < 3; i++) { // thread 1
        assert_int_equal(report(history, 0, 0.3, 1, first_two, now_ns += LONG),
                         0);
    }
    assert_int_equal(report(history, 0, 0.3, 1, first_two + 1, now_ns += LONG),
                     0);
    assert_int_equal(report(history, 1, 0.4, 1, third, now_ns += LONG), 1);
    history_free(history);
}

static void a_thread_that_has_moved_is_where_it_reports_from(void **state)
{
    static const struct history_arrival all[] = {{2, 0.4}, {3, 0.4}};
    struct history *history = history_new(2, power);
    const struct history_thread *threads;
    uint64_t now_ns = 0;
    uint32_t n;

    (void)state;
    iterate(history, 3, &now_ns);
    iteration++;
    report(history, 0, 0.3, 1, first_two, now_ns += LONG);
    assert_int_equal(report(history, 1, 0.8, 2, all, now_ns += LONG), 1);
    threads = history_threads(history, &n);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(threads[i].node, threads[i].number > 1);
    }
    history_free(history);
}

// The threads of node 1 used the processor for 0.4 s of the 0.5 s that they ran.
static void who_shares_processors_computes_as_long_as_it_has_one(void **state)
{
    const uint32_t crowds[] = {1, 1};
    const uint32_t n_workers[] = {1, 1};
    struct history *history = history_new(2, power);
    uint64_t now_ns = 1;
    struct history_node usual;

    (void)state;
    history_set_crowds(history, crowds, n_workers);
    for (unsigned i = 0; i < 5; i++) {
        iteration++;
        report(history, 0, 0.6, 2, first_two,
               now_ns += LONG); // 0.3 by the clock
        report(history, 1, 1.0, 1, third, now_ns += LONG);
    }
    history_node(history, 1, &usual);
    assert_true(fabs(usual.comp_s - 0.4) < EPSILON);
    assert_true(fabs(usual.busy_s - 0.85) < EPSILON); // 0.3 and 0.6 of waiting
    history_node(history, 0, &usual);
    assert_true(fabs(usual.comp_s - 0.3) < EPSILON);
    assert_true(fabs(usual.busy_s - 0.75) < EPSILON);
    history_free(history);
}

// Nodes learn at different times which barriers end an iteration.
static void threads_that_come_late_join_the_next_iteration(void **state)
{
    struct history *history = history_new(2, power);
    uint64_t now_ns = 0;
    uint32_t n;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        iteration++;
        report(history, 0, 0.3, 2, first_two, now_ns += LONG);
    }
    assert_int_equal(report(history, 1, 0.4, 1, third, now_ns += LONG), 0);
    iteration++;
    assert_int_equal(report(history, 0, 0.3, 2, first_two, now_ns += LONG), 0);
    assert_int_equal(report(history, 1, 0.4, 1, third, now_ns += LONG), 1);
    iteration++;
    assert_int_equal(report(history, 1, 0.4, 1, third, now_ns += LONG), 0);
    assert_int_equal(report(history, 0, 0.3, 2, first_two, now_ns += LONG), 1);
    history_threads(history, &n);
    assert_int_equal(n, 3);
    assert_int_equal(history_n_ragged(history), 0);
    history_free(history);
}

static void who_shares_processors_shares_the_waiting(void **state)
{
    const uint32_t crowds[] = {1, 1};
    const uint32_t n_workers[] = {1, 1};
    struct history *history = history_new(2, power);
    uint64_t now_ns = 1;
    struct history_node usual;

    (void)state;
    history_set_crowds(history, crowds, n_workers);
    iterate(history, 5, &now_ns); // 0.15 and 0.2 s besides computation
    history_node(history, 0, &usual);
    assert_true(fabs(usual.comp_s - 0.15) < EPSILON);
    assert_true(fabs(usual.busy_s - 0.325) < EPSILON);
    assert_true(fabs(history_busy_s(history, 1, 1) - 0.375) < EPSILON);
    history_free(history);
}

// Ten of them take as long as a sample is to last; every third is disturbed.
static void short_iterations_are_taken_together(void **state)
{
    struct history *history = history_new(2, power);
    const struct history_thread *threads;
    uint64_t now_ns = 1;
    unsigned n_samples = 0;
    struct history_node usual;
    uint32_t n;

    (void)state;
    for (unsigned i = 0; i < 500; i++) {
        const struct history_arrival own[] = {{1, i % 3 == 0 ? 0.4 : 0.1}};

        iteration++;
        n_samples += report(history, 0, i % 3 == 0 ? 0.9 : 0.3, 1, own,
                            now_ns += MS / 4);
        n_samples += report(history, 1, 0.4, 1, third, now_ns += MS - MS / 4);
    }
    assert_int_equal(history_n_closed(history), 500);
    assert_int_equal(history_n_samples(history), n_samples);
    assert_int_equal(history_n_together(history),
                     16); // 1, 2, 4, 8, 16, 16, ...
    assert_in_range(n_samples, 4 + 460 / 16, 5 + 500 / 16);
    history_node(history, 0, &usual);
    assert_true(fabs(usual.busy_s - 0.5) < 0.05); // means, one like the other
    assert_true(fabs(history_iteration_s(history) - 0.001) < EPSILON);
    threads = history_threads(history, &n);
    assert_int_equal(n, 2);
    assert_true(fabs(history_work_s(history, &threads[0]) - 0.2) < 0.03);
    history_free(history);
}

// A node that takes 10 % more or less each time; then both do, together.
static void errors_say_what_a_median_is_worth(void **state)
{
    static const double factors[] = {1, 1.1, 0.9, 1.05, 0.95};
    struct history *history = history_new(2, power);
    struct history_node usual;
    uint64_t now_ns = 0;

    (void)state;
    assert_true(history_node_error_s(history, 0) == 0);
    iterate(history, 2, &now_ns); // by two, what is usual
    history_node(history, 0, &usual);
    assert_true(
        history_node_error_s(history, 0) > HISTORY_SPREAD * usual.busy_s / 2 &&
        history_node_error_s(history, 0) < HISTORY_SPREAD * usual.busy_s);
    history_restart_at(history, 1); // by one, nothing
    assert_true(fabs(history_node_error_s(history, 0) - usual.busy_s) <
                EPSILON);
    for (unsigned both = 0; both < 2; both++) {
        history_restart(history);
        for (unsigned i = 0; i < HISTORY_WINDOW; i++) {
            double factor = factors[i % 5];

            iteration++;
            report(history, 0, both ? 0.3 * factor : 0.3, 2, first_two,
                   now_ns += LONG);
            report(history, 1, 0.4 * factor, 1, third, now_ns += LONG);
        }
        // The median is off by 0.05 * 0.4: 1.858 / 4 of that is the error.
        assert_true(fabs(history_slowest_error_s(history, HISTORY_WINDOW) -
                         0.0093) < 0.0005);
        if (both) {
            assert_true(history_node_error_s(history, 1) < EPSILON);
        } else {
            assert_in_range(history_node_error_s(history, 1) * 1e6, 3000, 6000);
        }
    }
    history_free(history);
}

// Node 1 takes factors[i] times 0.4 s, node 0 what it always does.
static void report_times(struct history *history, const double *factors,
                         unsigned n, uint64_t *now_ns)
{
    for (unsigned i = 0; i < n; i++) {
        iteration++;
        report(history, 0, 0.3, 2, first_two, *now_ns += LONG);
        report(history, 1, 0.4 * factors[i], 1, third, *now_ns += LONG);
    }
}

static void times_that_shift_are_seen(void **state)
{
    static const double steady[] = {1, 1, 1.02, 0.98, 1, 1.01};
    static const double twice[] = {2, 2.1};
    static const double half[] = {0.5, 0.5};
    static const double once[] = {3, 1, 1};
    static const double both_ways[] = {2, 0.5};
    struct history *history = history_new(2, power);
    uint64_t now_ns = 0;
    int is_rough;

    (void)state;
    report_times(history, steady, 6, &now_ns);
    assert_false(history_has_shifted(history, 2, &is_rough));
    assert_false(is_rough);
    report_times(history, twice, 1, &now_ns);
    assert_false(history_has_shifted(history, 2, &is_rough)); // one is chance
    report_times(history, twice + 1, 1, &now_ns);
    assert_true(history_has_shifted(history, 2, &is_rough));
    assert_false(is_rough);

    history_restart_at(history, 2);
    assert_int_equal(history_n_since_restart(history), 2);
    report_times(history, twice, 2, &now_ns);
    assert_false(history_has_shifted(history, 2, &is_rough)); // too few before
    report_times(history, half, 2, &now_ns);
    assert_true(history_has_shifted(history, 2, &is_rough)); // less is one, too

    history_restart(history);
    report_times(history, steady, 6, &now_ns);
    report_times(history, once, 3, &now_ns);
    assert_false(history_has_shifted(history, 2, &is_rough));
    assert_true(is_rough);
    report_times(history, both_ways, 2, &now_ns);
    assert_false(history_has_shifted(history, 2, &is_rough));
    history_free(history);
}

static void bursts_make_samples_longer_and_calm_shorter(void **state)
{
    static const double bursts[] = {1, 5, 1, 1, 5, 5, 5, 1, 1, 5, 1, 5};
    struct history *history = history_new(2, power);
    uint64_t now_ns = 0;

    (void)state;
    report_times(history, bursts, 4, &now_ns);
    history_follow_bursts(history);
    assert_int_equal(history_n_since_restart(history), 4); // too few
    report_times(history, bursts + 4, 8, &now_ns);
    history_follow_bursts(history);
    assert_int_equal(history_n_since_restart(history), 0); // they begin anew
    assert_int_equal(history_n_together(history), 1);
    report_times(history, bursts, 4, &now_ns);
    assert_true(history_n_together(history) >= 2);
    for (unsigned i = 0; i < 1000; i++) {
        report_times(history, (double[]){1}, 1, &now_ns);
        history_follow_bursts(history);
    }
    assert_int_equal(history_n_together(history), 1);
    history_free(history);
}

static void samples_that_are_skipped_count_for_nothing(void **state)
{
    static const double slow[] = {9, 9};
    static const double steady[] = {1, 1, 1, 1};
    struct history *history = history_new(2, power);
    struct history_node usual;
    uint64_t now_ns = 0;
    uint64_t n_samples;

    (void)state;
    report_times(history, steady, 4, &now_ns);
    n_samples = history_n_samples(history);
    history_skip(history, 2);
    report_times(history, slow, 2, &now_ns);
    assert_int_equal(history_n_samples(history), n_samples);
    assert_int_equal(history_n_closed(history), 6);
    report_times(history, steady, 1, &now_ns);
    assert_int_equal(history_n_samples(history), n_samples + 1);
    history_node(history, 1, &usual);
    assert_true(fabs(usual.busy_s - 0.4) < EPSILON);
    history_free(history);
}

static void what_is_sent_is_counted_since_the_restart(void **state)
{
    const struct history_peer peers[] = {{1, 300}};
    struct history *history = history_new(2, power);
    struct history_report told = {
        .node = 0,
        .done = {.busy_s = 1, .pages_in = 5, .pages_out = 7},
        .free_bytes = 1000,
        .n_peers = 1,
        .peers = peers,
        .n_arrivals = 2,
        .arrivals = first_two};
    struct history_node usual;

    (void)state;
    assert_true(history_sent_bytes(history, 0, 1) == 0);
    for (uint64_t i = 1; i <= 12; i++) {
        if (i == 9) {
            history_restart(history);
            assert_true(history_sent_bytes(history, 0, 1) == 0);
            history_node(history, 0, &usual);
            assert_true(usual.pages_in == 0);
            history_node_lately(history, 0, &usual);
            assert_true(usual.pages_in == 5 && usual.pages_out == 7);
            told.free_bytes = 900;
            told.done.pages_in = 6;
        }
        told.iteration = i;
        told.n_peers = i % 2; // in each second iteration
        history_take(history, &told, i * LONG);
    }
    assert_true(fabs(history_sent_bytes(history, 0, 1) - 150) < 40);
    assert_true(history_sent_bytes(history, 1, 0) == 0);
    assert_int_equal(history_free_bytes(history, 0), 900);
    assert_int_equal(history_free_bytes(history, 1), 0);
    history_node(history, 0, &usual);
    assert_true(usual.pages_in == 6 && usual.pages_out == 7);
    history_node_lately(history, 0, &usual);
    assert_true(usual.pages_in == 6 && usual.pages_out == 7);
    history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_iterations_are_taken_together),
        cmocka_unit_test(what_is_sent_is_counted_since_the_restart),
        cmocka_unit_test(errors_say_what_a_median_is_worth),
        cmocka_unit_test(times_that_shift_are_seen),
        cmocka_unit_test(samples_that_are_skipped_count_for_nothing),
        cmocka_unit_test(bursts_make_samples_longer_and_calm_shorter),
        cmocka_unit_test(who_shares_processors_shares_the_waiting),
        cmocka_unit_test(who_shares_processors_computes_as_long_as_it_has_one),
        cmocka_unit_test(an_iteration_closes_when_all_have_reported),
        cmocka_unit_test(work_is_time_at_power_one),
        cmocka_unit_test(an_iteration_that_is_disturbed_does_not_count),
        cmocka_unit_test(a_thread_that_is_missing_no_longer_takes_part),
        cmocka_unit_test(a_thread_that_comes_back_takes_part_again),
        cmocka_unit_test(a_thread_counts_once_an_iteration),
        cmocka_unit_test(threads_that_come_late_join_the_next_iteration),
        cmocka_unit_test(a_thread_that_has_moved_is_where_it_reports_from),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NODE(number, more)                                                     \
    "{\"name\": \"n" #number "\"" more ", \"number\": " #number "}"
#define LINE(seconds, iterations, nodes)                                       \
    "{\"seconds\": " #seconds ", \"program\": \"it\", \"running\": true, "     \
    "\"iterations\": " #iterations ", \"nodes\": [" nodes "]}"

static void take(struct top *top, const char *line)
{
    assert_int_equal(top_take(top, line), 1);
}

static void expect_about(double found, double expected)
{
    assert_true(found > expected - 1e-9 && found < expected + 1e-9);
}

static void shares_are_of_the_threads_time(void **state)
{
    struct top top = {0};
    struct top_rates rates;

    (void)state;
    take(&top, LINE(1.0, 0,
                    NODE(0, ", \"threads\": 4, \"compute_s\": 1.0, "
                            "\"wait_s\": 0.5, \"page_ins\": 10")));
    rates = top_rates(&top, 0);
    expect_about(rates.compute, 0); // nothing is known of the time before
    take(&top, LINE(3.0, 0,
                    NODE(0, ", \"threads\": 4, \"compute_s\": 5.0, "
                            "\"wait_s\": 2.5, \"sync_s\": 1.0, "
                            "\"page_ins\": 30, \"sent\": 600")));
    rates = top_rates(&top, 0);
    expect_about(rates.compute, 0.5); // 4 s of 2 s of 4 threads
    expect_about(rates.wait, 0.25);
    expect_about(rates.sync, 0.125);
    expect_about(rates.swap, 0);
    expect_about(rates.page_ins, 10);
    expect_about(rates.sent, 300);
    top_release(&top);
}

static void iterations_have_a_history(void **state)
{
    struct top top = {0};

    (void)state;
    take(&top, LINE(1.0, 10, ""));
    expect_about(top_iteration_s(&top), 0);
    take(&top, LINE(2.0, 30, ""));
    expect_about(top_iteration_s(&top), 0.05);
    take(&top, LINE(3.0, 30, "")); // none has ended
    expect_about(top_iteration_s(&top), 0.05);
    assert_int_equal(top.n_history, 1);
    for (unsigned i = 0; i < 100; i++) {
        char line[200];

        snprintf(line, sizeof line,
                 "{\"seconds\": %u, \"iterations\": %u, \"nodes\": []}", 4 + i,
                 40 + 10 * i);
        take(&top, line);
    }
    assert_int_equal(top.n_history, TOP_HISTORY);
    expect_about(top_iteration_s(&top), 0.1);
    top_release(&top);
}

static void expect_event(const struct top *top, unsigned i, const char *text)
{
    assert_true(i < top->n_events);
    assert_non_null(strstr(top->events[i], text));
}

static void what_happens_is_told_once(void **state)
{
    struct top top = {0};

    (void)state;
    take(&top, LINE(1.0, 0, NODE(0, ", \"moved_in\": 2") ", " NODE(1, "")));
    assert_int_equal(top.n_events, 0);
    take(&top, LINE(2.0, 0,
                    NODE(0, ", \"moved_in\": 3") ", " NODE(
                        2, ", \"tracking\": true")));
    assert_int_equal(top.n_events, 3);
    expect_event(&top, 0, "n1 is not there any more");
    expect_event(&top, 1, "n2 has joined");
    expect_event(&top, 2, "1 thread has moved to n0");
    take(&top, LINE(3.0, 0,
                    NODE(0, ", \"moved_in\": 5, \"tracking\": true") ", " NODE(
                        2, ", \"tracking\": true")));
    assert_int_equal(top.n_events, 5);
    expect_event(&top, 0, "n0 finds out which thread uses which page");
    expect_event(&top, 1, "2 threads have moved to n0");
    for (unsigned i = 0; i < 20; i++) {
        take(&top, i % 2 == 0 ? LINE(4.0, 0, "") : LINE(5.0, 0, NODE(7, "")));
    }
    assert_int_equal(top.n_events, TOP_EVENTS);
    top_release(&top);
}

static void a_run_that_goes_back_is_told_and_its_numbers_begin_anew(
    void **state)
{
    struct top top = {0};

    (void)state;
    take(&top, LINE(1.0, 40, NODE(0, ", \"moved_in\": 7, \"sent\": 9000")));
    take(&top, LINE(2.0, 43, NODE(0, ", \"moved_in\": 7, \"sent\": 9900")));
    take(&top,
         LINE(3.0, 40,
              NODE(0, ", \"moved_in\": 0, \"sent\": 100") "], \"went_back\": "
                                                          "1, \"more\": ["));
    assert_int_equal(top.n_events, 1);
    expect_event(&top, 0, "a node was lost: back to iteration 41");
    assert_int_equal(top_n_moved(&top), 0);
    expect_about(top_rates(&top, 0).sent, 0);
    take(&top,
         LINE(4.0, 41,
              NODE(0, ", \"moved_in\": 1, \"sent\": 600") "], \"went_back\": "
                                                          "1, \"more\": ["));
    expect_about(top_rates(&top, 0).sent, 500);
    expect_event(&top, 0, "1 thread has moved to n0");
    top_release(&top);
}

static void what_is_no_line_changes_nothing(void **state)
{
    static const char *const lines[] = {"",
                                        "{",
                                        "[]",
                                        "= 0 the job has ended",
                                        "{\"seconds\": 1}",
                                        "{\"seconds\": 0, \"nodes\": []}",
                                        "{\"seconds\": 1, \"nodes\": 3}"};
    struct top top = {0};

    (void)state;
    take(&top, LINE(1.0, 7, NODE(3, ", \"threads\": \"x\", \"sent\": -1")));
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(top_take(&top, lines[i]), 0);
    }
    assert_int_equal(top.now.n_iterations, 7);
    assert_int_equal(top.now.n_nodes, 1);
    assert_int_equal(top.now.nodes[0].n_threads, 0);
    assert_int_equal(top.now.nodes[0].sent, 0);
    top_release(&top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_the_threads_time),
        cmocka_unit_test(iterations_have_a_history),
        cmocka_unit_test(what_happens_is_told_once),
        cmocka_unit_test(
            a_run_that_goes_back_is_told_and_its_numbers_begin_anew),
        cmocka_unit_test(what_is_no_line_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

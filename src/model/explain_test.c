// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/explain.h"
#include "model/sample_views_test.h"

static struct node_prediction nodes[2] = {
    {.n_threads = 3,
     .comp_s = 0.03,
     .comm_s = 0.001,
     .sum_s = 0.031,
     .overlapped_s = 0.03,
     .time_s = 0.031,
     .demand_pages = 512,
     .packets = 7},
    {.n_threads = 1,
     .comp_s = 0.01,
     .sum_s = 0.01,
     .overlapped_s = 0.01,
     .time_s = 0.01,
     .demand_pages = 256},
};
static const struct prediction result = {0.031, 0, nodes};

static void a_table_has_all_terms_that_are_not_zero(void **state)
{
    struct cluster_view view;
    struct node_measurement at[2] = {{.time_s = 0.033}, {.time_s = 0.009}};
    const struct measurement measured = {0.034, at};
    char text[2000];

    (void)state;
    view_make(&view, 2, 4);
    view.nodes[0].memory_pages = view.nodes[1].memory_pages = 768;
    explain_prediction(&view, &result, &measured, text, sizeof text);
    assert_non_null(strstr(text, "comp ms"));
    assert_null(strstr(text, " mem ms")); // nobody lacks memory
    assert_null(strstr(text, "fetched"));
    assert_non_null(strstr(text, "30.000"));
    assert_non_null(strstr(text, "packets"));
    assert_non_null(strstr(text, "33.000")); // measured
    assert_non_null(strstr(text,
                           "iteration: 31.000 ms predicted, n0 is the slowest; "
                           "34.000 ms measured, -8.8 %\n"));
    cluster_view_release(&view);
}

static void a_short_buffer_is_filled_and_the_length_told(void **state)
{
    struct cluster_view view;
    char whole[2000];
    char part[2000];
    size_t length;

    (void)state;
    view_make(&view, 2, 4);
    length = explain_change(&view, &result, &result, whole, sizeof whole);
    assert_int_equal(length, strlen(whole));
    assert_int_equal(explain_change(&view, &result, &result, NULL, 0), length);
    for (size_t size = 1; size <= length + 1; size += 7) {
        memset(part, 'x', sizeof part);
        assert_int_equal(explain_change(&view, &result, &result, part, size),
                         length);
        assert_int_equal(strlen(part), size - 1);
        assert_memory_equal(part, whole, size - 1);
        assert_int_equal(part[size], 'x');
    }
    cluster_view_release(&view);
}

static void moves_are_told_by_pair_of_nodes(void **state)
{
    struct cluster_view view;
    const uint32_t from[] = {0, 0, 0, 0, 1, 1, 1};
    const uint32_t to[] = {0, 1, 1, 1, 1, 0, 1};
    const uint64_t numbers[] = {1, 2, 3, 9, 10, 0x100000004, 12};
    const uint32_t other[] = {1, 0, 1, 0, 1, 1, 1};
    char text[200];

    (void)state;
    view_make(&view, 2, 7);
    explain_moves(&view, NULL, from, to, text, sizeof text);
    assert_string_equal(text, "n0 -> n1: threads 1-3\nn1 -> n0: threads 5\n");
    explain_moves(&view, numbers, from, to, text, sizeof text);
    assert_string_equal(
        text, "n0 -> n1: threads 2-3 9\nn1 -> n0: threads 4294967300\n");
    explain_moves(&view, NULL, from, other, text, sizeof text);
    assert_string_equal(text, "n0 -> n1: threads 0 2\n");
    assert_int_equal(explain_moves(&view, NULL, from, from, text, sizeof text),
                     0);
    assert_string_equal(text, "");
    cluster_view_release(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_all_terms_that_are_not_zero),
        cmocka_unit_test(a_short_buffer_is_filled_and_the_length_told),
        cmocka_unit_test(moves_are_told_by_pair_of_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

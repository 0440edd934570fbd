// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/fault_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void who_waits_longest_comes_first(void **state)
{
    struct fault_lines *lines = fault_lines_new();
    struct fault_line sorted[8];

    (void)state;
    assert_non_null(lines);
    for (unsigned i = 0; i < 9; i++) {
        fault_lines_note(lines, 0x1000, 0);
    }
    fault_line_waited(fault_lines_note(lines, 0x2000, 1), 500);
    fault_line_waited(fault_lines_note(lines, 0x3000, 0), 700);
    fault_line_waited(fault_lines_note(lines, 0x3000, 1), 100);
    assert_int_equal(fault_lines_sorted(lines, sorted, 8), 3);
    assert_int_equal(sorted[0].pc, 0x3000);
    assert_int_equal(sorted[0].reads, 1);
    assert_int_equal(sorted[0].writes, 1);
    assert_int_equal(sorted[0].wait_ns, 800);
    assert_int_equal(sorted[1].pc, 0x2000);
    assert_int_equal(sorted[2].reads, 9);
    fault_lines_free(lines);
}

static void what_has_no_room_is_counted_as_one(void **state)
{
    enum { N = 3 * FAULT_LINES_MAX };
    struct fault_lines *lines = fault_lines_new();
    struct fault_lines *sum = fault_lines_new();
    struct fault_line sorted[FAULT_LINES_TOLD];
    uint64_t n = 0;

    (void)state;
    assert_non_null(lines);
    assert_non_null(sum);
    for (unsigned i = 1; i <= N; i++) {
        fault_line_waited(fault_lines_note(lines, 16u * i, 0), 2);
    }
    assert_int_equal(fault_lines_sorted(lines, sorted, FAULT_LINES_TOLD),
                     FAULT_LINES_TOLD);
    assert_int_equal(sorted[FAULT_LINES_TOLD - 1].pc, 0);
    for (unsigned i = 0; i < FAULT_LINES_TOLD; i++) {
        n += sorted[i].reads;
        assert_int_equal(sorted[i].wait_ns, 2 * sorted[i].reads);
        fault_lines_add(sum, &sorted[i]);
    }
    assert_int_equal(n, N);
    fault_lines_add(sum, &sorted[0]); // of another node
    assert_int_equal(fault_lines_sorted(sum, sorted, FAULT_LINES_TOLD),
                     FAULT_LINES_TOLD);
    assert_int_equal(sorted[0].reads, 2);
    assert_int_equal(sorted[FAULT_LINES_TOLD - 1].pc, 0);
    fault_lines_free(lines);
    fault_lines_free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_longest_comes_first),
        cmocka_unit_test(what_has_no_room_is_counted_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// No time is asserted.
#include "observe/swap_cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static _Atomic int stop;

static void expect_order(const struct quartiles *quartiles)
{
    assert_true(quartiles->low > 0);
    assert_true(quartiles->low <= quartiles->median);
    assert_true(quartiles->median <= quartiles->high);
}

static void a_page_out_and_in_has_a_cost(void **state)
{
    struct swap_cost cost;
    char reason[256];

    (void)state;
    stop = 0;
    assert_int_equal(
        swap_cost_measure(".", 0, &stop, &cost, reason, sizeof reason), TM_OK);
    print_message("kind %d; out %.1f us (%u), in %.1f us (%u)\n",
                  (int)cost.kind, (double)cost.out_ns.median / 1e3, cost.n_out,
                  (double)cost.in_ns.median / 1e3, cost.n_in);
    assert_int_not_equal(cost.kind, SWAP_UNKNOWN);
    assert_in_range(cost.n_out, 3, 16);
    assert_in_range(cost.n_in, 3, 16);
    expect_order(&cost.out_ns);
    expect_order(&cost.in_ns);
}

static void it_ends_when_it_is_told_to(void **state)
{
    struct swap_cost cost;
    char reason[256];

    (void)state;
    stop = 1;
    assert_int_equal(
        swap_cost_measure(".", 0, &stop, &cost, reason, sizeof reason), TM_OK);
    assert_int_equal(cost.n_out, 1);
    assert_int_equal(cost.n_in, 1);
}

static void memory_is_no_place_for_a_swap_file(void **state)
{
    struct swap_cost cost;
    char reason[256];

    (void)state;
    stop = 0;
    if (swap_cost_measure("/dev/shm", 0, &stop, &cost, reason, sizeof reason) !=
        TM_OK) {
        skip();
    }
    assert_int_equal(cost.kind, SWAP_IN_MEMORY);
}

static void a_folder_that_takes_no_file_is_told(void **state)
{
    struct swap_cost cost = {.n_in = 77};
    char reason[256] = "";

    (void)state;
    assert_int_equal(
        swap_cost_measure("/not/there", 0, &stop, &cost, reason, sizeof reason),
        TM_ESYSTEM);
    assert_non_null(strstr(reason, "/not/there"));
    assert_int_equal(cost.n_in, 77);
}

static void the_option_goes_before_TMPDIR_and_that_before_tmp(void **state)
{
    (void)state;
    unsetenv("TMPDIR");
    assert_string_equal(swap_folder("auto"), "/tmp");
    setenv("TMPDIR", "/var/tmp", 1);
    assert_string_equal(swap_folder("auto"), "/var/tmp");
    assert_string_equal(swap_folder("/scratch"), "/scratch");
    setenv("TMPDIR", "relative", 1);
    assert_string_equal(swap_folder("auto"), "/tmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_out_and_in_has_a_cost),
        cmocka_unit_test(it_ends_when_it_is_told_to),
        cmocka_unit_test(memory_is_no_place_for_a_swap_file),
        cmocka_unit_test(a_folder_that_takes_no_file_is_told),
        cmocka_unit_test(the_option_goes_before_TMPDIR_and_that_before_tmp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

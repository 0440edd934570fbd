// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reconfig/period.h"

// @return after how many places a period is found, 0 if never; *found is it
static uint32_t feed(const uint32_t *places, uint32_t n, uint32_t *found)
{
    struct period period = {0};

    for (uint32_t i = 0; i < n; i++) {
        *found = period_feed(&period, places[i]);
        if (*found != 0) {
            return i + 1;
        }
    }
    return 0;
}

static void each_period_is_found_within_three_repeats(void **state)
{
    uint32_t places[4 * PERIOD_LONGEST];

    (void)state;
    for (uint32_t p = 1; p <= PERIOD_LONGEST; p++) {
        uint32_t found = 0;
        uint32_t after;

        for (uint32_t i = 0; i < 4 * PERIOD_LONGEST; i++) {
            places[i] = 1000 + i % p;
        }
        after = feed(places, 4 * PERIOD_LONGEST, &found);
        assert_int_equal(found, p);
        assert_int_equal(after, 3 * p > 16 ? 3 * p : 16);
    }
}

static void a_beginning_of_another_kind_is_skipped(void **state)
{
    uint32_t places[60];
    uint32_t found = 0;

    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        places[i] = i < 7 ? 5000 + i : i % 3;
    }
    assert_int_equal(feed(places, 60, &found), 7 + 16);
    assert_int_equal(found, 3);
}

static void a_short_inner_loop_is_not_the_period(void **state)
{
    uint32_t places[120];
    uint32_t found = 0;

    (void)state;
    for (uint32_t i = 0; i < 120; i++) {
        places[i] = i % 12 == 11; // 11 equal barriers, then another
    }
    assert_int_equal(feed(places, 120, &found), 36);
    assert_int_equal(found, 12);
}

static void places_without_a_period_have_none(void **state)
{
    struct period period = {0};
    uint32_t draw = 1;

    (void)state;
    while (period.n < 512) {
        draw = draw * 1664525u + 1013904223u;
        assert_int_equal(period_feed(&period, draw >> 24), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_period_is_found_within_three_repeats),
        cmocka_unit_test(a_beginning_of_another_kind_is_skipped),
        cmocka_unit_test(a_short_inner_loop_is_not_the_period),
        cmocka_unit_test(places_without_a_period_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

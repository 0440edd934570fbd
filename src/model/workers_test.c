// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample_views_test.h"
#include "model/workers.h"

static double makespan(const double *time_s, uint32_t n, uint32_t p)
{
    return workers_makespan(time_s, n, p);
}

static void equal_threads_take_as_many_rounds_as_they_need(void **state)
{
    double time_s[20];

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        time_s[i] = 0.5;
    }
    for (uint32_t n = 0; n <= 20; n++) {
        for (uint32_t p = 1; p <= 7; p++) {
            assert_true(makespan(time_s, n, p) == (n + p - 1) / p * 0.5);
        }
    }
}

static void the_longest_threads_are_dealt_out_first(void **state)
{
    const double time_s[] = {2, 2, 3, 3, 4, 4, 6};

    (void)state;
    assert_true(makespan(time_s, 7, 3) == 9); // 8 would be possible
}

static void a_makespan_is_between_its_bounds(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        double time_s[40];
        const uint32_t n = 1 + random_below(40);
        const uint32_t p = 1 + random_below(9);
        double sum = 0;
        double longest = 0;
        double bound;
        double result;

        for (uint32_t i = 0; i < n; i++) {
            time_s[i] = random_between(0, 1);
            sum += time_s[i];
            longest = time_s[i] > longest ? time_s[i] : longest;
        }
        bound = sum / p > longest ? sum / p : longest;
        result = makespan(time_s, n, p);
        assert_true(result >= bound * 0.999999);
        assert_true(result <= sum / p + longest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_threads_take_as_many_rounds_as_they_need),
        cmocka_unit_test(the_longest_threads_are_dealt_out_first),
        cmocka_unit_test(a_makespan_is_between_its_bounds),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

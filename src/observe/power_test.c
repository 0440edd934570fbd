// SPDX-License-Identifier: BSD-3-Clause
// No time is asserted: the machine may be slow, or busy.
#include "observe/power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/clock.h"
#include "observe/median.h"

static void quartiles_are_of_the_sorted_values(void **state)
{
    uint64_t one[] = {7};
    uint64_t five[] = {50, 10, 40, 20, 30};
    struct quartiles quartiles = quartiles_of(one, 1);

    (void)state;
    assert_int_equal(quartiles.low, 7);
    assert_int_equal(quartiles.median, 7);
    assert_int_equal(quartiles.high, 7);
    quartiles = quartiles_of(five, 5);
    assert_int_equal(quartiles.least, 10);
    assert_int_equal(quartiles.low, 20);
    assert_int_equal(quartiles.median, 30);
    assert_int_equal(quartiles.high, 40);
    assert_int_equal(five[0], 10);
}

static void a_processor_has_a_power(void **state)
{
    struct power power = {0};

    (void)state;
    assert_int_equal(power_measure(&power), TM_OK);
    print_message("%.0f Mflop/s, spread %.3f, %u runs, %.2f ms\n", power.mflops,
                  power.spread, power.n_runs, (double)power.cpu_ns * 1e-6);
    assert_true(power.mflops > 1);
    assert_true(power.spread >= 0);
    assert_true(power.n_runs >= 3);
}

static void *measure(void *power)
{
    assert_int_equal(power_measure(power), TM_OK);
    return NULL;
}

// More kernel threads than processors: each is timed by its own clock, so that
// waiting for a processor does not make it slower.
static void several_may_measure_at_once(void **state)
{
    enum { N = 4 };
    pthread_t threads[N];
    struct power power[N] = {0};

    (void)state;
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, measure, &power[i]),
                         0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        print_message("%.0f Mflop/s\n", power[i].mflops);
        assert_true(power[i].mflops > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles_are_of_the_sorted_values),
        cmocka_unit_test(a_processor_has_a_power),
        cmocka_unit_test(several_may_measure_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

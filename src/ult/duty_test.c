// SPDX-License-Identifier: BSD-3-Clause
#include "ult/duty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS 1000000

// A clock that moves when the test says so, and a sleep that is too long.
static struct {
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t slept_ns;
    uint64_t oversleep_ns;
    unsigned n_sleeps;
} fake;

static uint64_t fake_wall_ns(void)
{
    return fake.wall_ns;
}

static uint64_t fake_cpu_ns(void)
{
    return fake.cpu_ns;
}

static void fake_sleep_until(uint64_t wall_ns)
{
    assert_true(wall_ns > fake.wall_ns);
    wall_ns += fake.oversleep_ns;
    fake.slept_ns += wall_ns - fake.wall_ns;
    fake.wall_ns = wall_ns;
    fake.n_sleeps++;
}

static const struct duty_clock fake_clock = {fake_wall_ns, fake_cpu_ns,
                                             fake_sleep_until};

static struct duty duty_of(double share)
{
    struct duty duty;

    fake.wall_ns = 5000 * (uint64_t)MS;
    fake.cpu_ns = 70 * MS;
    fake.slept_ns = 0;
    fake.oversleep_ns = 0;
    fake.n_sleeps = 0;
    duty_init(&duty, share, 0, &fake_clock);
    return duty;
}

static void compute(uint64_t cpu_ns)
{
    fake.cpu_ns += cpu_ns;
    fake.wall_ns += cpu_ns;
}

static void wait_for(uint64_t wall_ns)
{
    fake.wall_ns += wall_ns;
}

static void a_whole_processor_is_not_slowed(void **state)
{
    struct duty duty = duty_of(1);

    (void)state;
    assert_false(duty_is_on(&duty));
    assert_int_equal(duty_scale(&duty, 123), 123);
}

static void who_is_slow_by_the_kernel_sleeps_no_more(void **state)
{
    struct duty duty;

    (void)state;
    duty_init(&duty, 0.25, 1, &fake_clock);
    assert_false(duty_is_on(&duty));
    assert_int_equal(duty_scale(&duty, 123), 4 * 123);
}

static void half_a_processor_sleeps_as_long_as_it_computes(void **state)
{
    struct duty duty = duty_of(0.5);

    (void)state;
    assert_true(duty_is_on(&duty));
    duty_begin(&duty);
    compute(30 * MS);
    duty_pay(&duty);
    assert_int_equal(fake.slept_ns, 30 * MS);
    assert_int_equal(duty.debt_ns, 0);
    assert_int_equal(duty_scale(&duty, 30 * MS), 60 * MS);
}

static void what_the_kernel_took_away_counts_as_sleep(void **state)
{
    struct duty duty = duty_of(0.25);

    (void)state;
    duty_begin(&duty);
    compute(10 * MS);
    wait_for(12 * MS);
    duty_pay(&duty);
    assert_int_equal(fake.slept_ns, 18 * MS);
}

static void time_between_threads_counts_for_nothing(void **state)
{
    struct duty duty = duty_of(0.5);

    (void)state;
    duty_begin(&duty);
    compute(40 * 1000);
    duty_end(&duty);
    wait_for(1000 * (uint64_t)MS);
    duty_begin(&duty);
    compute(70 * 1000);
    duty_pay(&duty);
    assert_int_equal(fake.slept_ns, 110 * 1000); // of both runs
}

static void a_debt_too_small_to_sleep_is_kept(void **state)
{
    struct duty duty = duty_of(0.5);

    (void)state;
    duty_begin(&duty);
    compute(DUTY_LEAST_NS - 1);
    duty_pay(&duty);
    assert_int_equal(fake.n_sleeps, 0);
    compute(1);
    duty_pay(&duty);
    assert_int_equal(fake.n_sleeps, 1);
    assert_int_equal(fake.slept_ns, DUTY_LEAST_NS);
}

static void a_sleep_that_was_too_long_shortens_the_next(void **state)
{
    struct duty duty = duty_of(0.5);

    (void)state;
    fake.oversleep_ns = 60 * 1000;
    duty_begin(&duty);
    for (int i = 0; i < 100; i++) {
        compute(1 * MS);
        duty_pay(&duty);
    }
    assert_int_equal(fake.n_sleeps, 100);
    assert_int_equal(fake.slept_ns, 100 * MS + 60 * 1000);
    assert_int_equal(duty.debt_ns, -60 * 1000);
}

static void waiting_long_earns_little_credit(void **state)
{
    struct duty duty = duty_of(0.5);

    (void)state;
    duty_begin(&duty);
    wait_for(3000 * (uint64_t)MS);
    duty_pay(&duty);
    assert_int_equal(duty.debt_ns, -DUTY_CREDIT_NS);
    compute(50 * MS);
    duty_pay(&duty);
    assert_int_equal(fake.slept_ns, 50 * MS - DUTY_CREDIT_NS);
}

// Whatever the run looks like, wall time in it is processor time over share.
static void wall_time_is_processor_time_over_share(void **state)
{
    static const double shares[] = {0.9, 0.5, 0.3, 0.01};

    (void)state;
    srand(1);
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct duty duty = duty_of(shares[i]);
        const uint64_t wall_ns = fake.wall_ns;
        const uint64_t cpu_ns = fake.cpu_ns;
        double off_ns;

        duty_begin(&duty);
        for (int k = 0; k < 10000; k++) {
            fake.oversleep_ns = (uint64_t)rand() % 200000;
            compute((uint64_t)rand() % 3000000);
            wait_for((uint64_t)rand() % 1000);
            duty_pay(&duty);
        }
        off_ns = (double)(fake.wall_ns - wall_ns) -
                 (double)(fake.cpu_ns - cpu_ns) / shares[i];
        assert_true(off_ns > -DUTY_LEAST_NS - 20000);
        assert_true(off_ns < DUTY_CREDIT_NS + 20000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_processor_is_not_slowed),
        cmocka_unit_test(who_is_slow_by_the_kernel_sleeps_no_more),
        cmocka_unit_test(half_a_processor_sleeps_as_long_as_it_computes),
        cmocka_unit_test(what_the_kernel_took_away_counts_as_sleep),
        cmocka_unit_test(time_between_threads_counts_for_nothing),
        cmocka_unit_test(a_debt_too_small_to_sleep_is_kept),
        cmocka_unit_test(a_sleep_that_was_too_long_shortens_the_next),
        cmocka_unit_test(waiting_long_earns_little_credit),
        cmocka_unit_test(wall_time_is_processor_time_over_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

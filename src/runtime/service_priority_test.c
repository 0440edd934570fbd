// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/service_priority.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS_NS (1000 * 1000u)
#define SECOND_MS 1000u

// A processor at which real-time threads come first, and a thread that has that priority and would
// always run; the time passes by milliseconds.
struct bench {
    struct service_priority priority;
    uint64_t now_ns;
    uint64_t used_ns;
};

static struct bench make_bench(unsigned n_here, unsigned n_workers,
                               unsigned n_processors)
{
    struct bench bench = {.now_ns = 12345};

    service_priority_init(&bench.priority, n_here, n_workers, n_processors);
    return bench;
}

// @return how many of so many milliseconds it had real-time priority
static unsigned run_for(struct bench *bench, unsigned n_ms,
                        unsigned used_of_ten)
{
    unsigned n_hasty = 0;

    for (unsigned i = 0; i < n_ms; i++) {
        n_hasty += service_priority_note(&bench->priority, bench->now_ns,
                                         bench->used_ns) != 0;
        bench->now_ns += MS_NS;
        bench->used_ns += MS_NS / 10 * used_of_ten;
    }
    return n_hasty;
}

static void eight_nodes_on_two_processors_leave_half_to_workers(void **unused)
{
    struct bench bench = make_bench(8, 1, 2);
    unsigned n_hasty = run_for(&bench, SECOND_MS, 10);

    (void)unused;
    assert_in_range(8 * n_hasty, SECOND_MS * 9 / 10, SECOND_MS * 11 / 10);
}

static void the_throttle_is_not_met_by_one(void **unused)
{
    struct bench bench = make_bench(1, 1, 64);

    (void)unused;
    assert_in_range(run_for(&bench, SECOND_MS, 10), SECOND_MS / 2,
                    SECOND_MS * 9 / 10);
}

static void two_workers_a_processor_are_not_kept_from_it(void **unused)
{
    struct bench bench = make_bench(2, 2, 2);

    (void)unused;
    assert_in_range(run_for(&bench, SECOND_MS, 10), SECOND_MS * 4 / 10,
                    SECOND_MS * 6 / 10);
}

static void who_uses_little_keeps_it(void **unused)
{
    struct bench bench = make_bench(4, 1, 2);

    (void)unused;
    assert_int_equal(run_for(&bench, SECOND_MS, 2), SECOND_MS);
}

static void it_comes_back_with_the_next_period(void **unused)
{
    struct bench bench = make_bench(8, 1, 2);

    (void)unused;
    assert_true(run_for(&bench, 90, 10) < 90);
    assert_false(
        service_priority_note(&bench.priority, bench.now_ns, bench.used_ns));
    bench.now_ns += SECOND_MS * (uint64_t)MS_NS; // asleep
    assert_true(
        service_priority_note(&bench.priority, bench.now_ns, bench.used_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_nodes_on_two_processors_leave_half_to_workers),
        cmocka_unit_test(the_throttle_is_not_met_by_one),
        cmocka_unit_test(two_workers_a_processor_are_not_kept_from_it),
        cmocka_unit_test(who_uses_little_keeps_it),
        cmocka_unit_test(it_comes_back_with_the_next_period),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

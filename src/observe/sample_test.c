// SPDX-License-Identifier: BSD-3-Clause
#include "observe/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "observe/own_capacity.h"
#include "os/processor.h"

static void a_sample_says_what_the_system_says(void **state)
{
    struct node_sample sample = {0};
    struct memory_watch watch;
    struct memory_state memory;
    uint64_t begun_ns = clock_now_ns();

    (void)state;
    assert_int_equal(memory_open(&watch, ""), TM_OK);
    assert_int_equal(sample_get(&sample.n_samples), 0);
    sample_take(&sample, &watch);
    sample_take(&sample, &watch);
    memory_read(&watch, &memory);
    assert_int_equal(sample_get(&sample.n_samples), 2);
    assert_true(sample_get(&sample.taken_ns) >= begun_ns);
    assert_true(sample_get(&sample.taken_ns) <= clock_now_ns());
    assert_int_equal(sample_get(&sample.total), memory.total.bytes);
    assert_true(sample_get(&sample.available) > 0);
    assert_true(sample_get(&sample.available) <= memory.total.bytes);
}

static void capacities_are_those_of_this_machine(void **state)
{
    struct declared declared = {
        .n_workers = 3, .speed = 500, .share = 0.25, .memory = 1 << 20};
    struct node_capacity capacity;
    struct node_capacity other;
    struct memory_watch watch;

    (void)state;
    assert_int_equal(memory_open(&watch, ""), TM_OK);
    capacity_measure(&capacity, &declared, &watch);
    assert_true(capacity.host[0] != '\0');
    assert_true(capacity.mflops > 0);
    assert_true(capacity.declared_speed == 500);
    assert_true(capacity.n_processors >= 1);
    assert_int_equal(capacity.n_workers, 3);
    assert_int_equal(capacity.processor_pool, processor_pool(capacity.machine));
    assert_int_not_equal(capacity.processor_pool,
                         processor_pool(capacity.machine + 1));
    assert_int_equal(capacity.memory_declared, 1 << 20);
    assert_true(capacity.memory_free > 0);
    assert_true(capacity.memory_free <= capacity.memory_total);
    declared.share = 1;
    capacity_measure(&other, &declared, &watch);
    assert_int_equal(capacity.machine, other.machine);
    assert_int_equal(capacity.memory_pool, other.memory_pool);
    // A quarter of a processor, up to what runs differ.
    assert_true(capacity.mflops < other.mflops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_says_what_the_system_says),
        cmocka_unit_test(capacities_are_those_of_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

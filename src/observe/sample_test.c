// SPDX-License-Identifier: BSD-3-Clause
#include "observe/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "observe/statics.h"

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

static void statics_are_those_of_this_machine(void **state)
{
    struct declared declared = {
        .n_workers = 3, .speed = 500, .share = 0.25, .memory = 1 << 20};
    struct node_statics statics;
    struct node_statics other;
    struct memory_watch watch;

    (void)state;
    assert_int_equal(memory_open(&watch, ""), TM_OK);
    statics_measure(&statics, &declared, &watch);
    assert_true(statics.host[0] != '\0');
    assert_true(statics.mflops > 0);
    assert_true(statics.declared_speed == 500);
    assert_true(statics.n_processors >= 1);
    assert_int_equal(statics.n_workers, 3);
    assert_int_equal(statics.memory_declared, 1 << 20);
    assert_true(statics.memory_free > 0);
    assert_true(statics.memory_free <= statics.memory_total);
    declared.share = 1;
    statics_measure(&other, &declared, &watch);
    assert_int_equal(statics.machine, other.machine);
    assert_int_equal(statics.memory_pool, other.memory_pool);
    // A quarter of a processor, up to what runs differ.
    assert_true(statics.mflops < other.mflops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_says_what_the_system_says),
        cmocka_unit_test(statics_are_those_of_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

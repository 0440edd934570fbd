// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "runtime/node.h"
#include "runtime/threads.h"

enum { N_FAULTS = 400, SHORT_NS = 10 * 1000, LONG_NS = 200 * 1000 };

static struct node *new_node(void)
{
    struct node *node = calloc(1, sizeof *node);

    assert_non_null(node);
    node->options.share = 1;
    return node;
}

/** @return what it has taken */
static uint64_t compute(uint64_t ns)
{
    const uint64_t began_ns = clock_thread_cpu_ns();
    uint64_t taken_ns;

    do {
        taken_ns = clock_thread_cpu_ns() - began_ns;
    } while (taken_ns < ns);
    return taken_ns;
}

/** A fault for memory that is short. @return what it has taken */
static uint64_t handle_paging(struct node *node, struct thread *thread,
                              uint64_t ns)
{
    const struct fault_paging paging = {.waited_ns = 1};
    const struct fault_clock clock = meter_begin(node, thread);
    const uint64_t taken_ns = compute(ns);

    meter_end(node, thread, &clock, &paging);
    return taken_ns;
}

static void expect_near(uint64_t found, uint64_t expected)
{
    if (found < expected - expected / 4 || found > expected + expected / 4) {
        fail_msg("%llu ns were noted, %llu taken", (unsigned long long)found,
                 (unsigned long long)expected);
    }
}

// One in 61 is short, the first among them.
static void faults_that_page_are_all_measured(void **state)
{
    static struct thread thread;
    struct node *node = new_node();
    uint64_t taken_ns = 0;

    (void)state;
    for (unsigned i = 0; i < N_FAULTS; i++) {
        taken_ns += handle_paging(node, &thread,
                                  i % 61 == 0 || i < 64 ? SHORT_NS : LONG_NS);
    }
    expect_near(thread.handling_ns, taken_ns);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_that_page_are_all_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

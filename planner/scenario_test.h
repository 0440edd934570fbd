// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_SCENARIO_TEST_H
#define PLANNER_SCENARIO_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "model/correct.h"
#include "model/sample_views_test.h"
#include "planner/scenario.h"

/** Pages of a MiB. */
#define PAGES_MIB 256u

/** A profile whose arrays are in this struct or are the view's. */
struct example {
    struct profile profile;
    uint32_t node_of[64];
    struct correction corrections[8];
    struct node_measurement measured[8];
};

/**
 * n1 to n4 of power 1, 0.8, 0.8, 0.6 (speed 500 is power 1) with 45 MiB each,
 * threads in blocks. Thread i has 2 MiB of its own, shares a page with each
 * neighbour, and reads 3 MiB that all read.
 */
static inline void example_make(struct example *example, uint32_t n_threads)
{
    static const double powers[] = {1, 0.8, 0.8, 0.6};
    struct cluster_view *view = &example->profile.view;
    struct page_lists lists;

    *example = (struct example){.profile.unit_speed = 500};
    view_make(view, 4, n_threads);
    for (uint32_t x = 0; x < 4; x++) {
        struct node_view *node = &view->nodes[x];

        snprintf(node->name, sizeof node->name, "n%u", x + 1);
        node->power = powers[x];
        node->memory_pages = node->free_pages = 45 * PAGES_MIB;
        node->total_pages = 64 * PAGES_MIB;
        node->swap_in_s = 0.001 * (x + 1);
        node->swap_out_s = 0.002;
        node->fetch_s = 0.0005;
        node->packet_s = 0.0001;
        example->corrections[x] = (struct correction){1 + x, 1, 1, 1, 0, 0};
        example->measured[x].time_s = 1 + x;
    }
    lists_init(&lists, n_threads);
    for (uint32_t i = 0; i < n_threads; i++) {
        lists_add(&lists, i, 10000 + 1000 * i, 2 * PAGES_MIB, 3, 0);
        lists_add(&lists, i, i, 1, USE_READ | USE_WRITE, 100);
        lists_add(&lists, i, i + 1, 1, USE_READ, 0);
        lists_add(&lists, i, 9000, 3 * PAGES_MIB, USE_READ, 0);
    }
    lists_build(&lists, view);
    lists_release(&lists);
    mapping_in_blocks(view, example->node_of);
    example->profile.node_of = example->node_of;
    example->profile.measured = (struct measurement){4, example->measured};
}

static inline void example_release(struct example *example)
{
    cluster_view_release(&example->profile.view);
}

/** A scenario of that profile. */
static inline struct scenario scenario_of(const struct example *example)
{
    struct scenario scenario;

    scenario_init(&scenario, &example->profile);
    return scenario;
}

/** Whole after changes, ready for policies. */
static inline void expect_whole(struct scenario *scenario)
{
    char reason[256];

    scenario_settle(scenario);
    if (!cluster_view_check(&scenario->view, reason, sizeof reason)) {
        fail_msg("%s", reason);
    }
    assert_true(mapping_is_valid(&scenario->view, scenario->node_of));
}

static inline void expect_near(double a, double b)
{
    if (fabs(a - b) > 1e-12 * (fabs(a) + fabs(b))) {
        fail_msg("%.17g is not %.17g", a, b);
    }
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_RANDOM_CLUSTERS_TEST_H
#define PLACE_RANDOM_CLUSTERS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample_views_test.h"
#include "place/policies.h"

/* Policies asked about random clusters. */

#define MAX_NODES 8
#define MAX_THREADS 80

static const struct cost_model measured = {.kind = COST_MEASURED};

/** The predicted seconds of a policy's answer, which is in order.
 * @param effort  as in struct place_request */
static inline double ask_with(const struct policy *policy,
                              const struct cluster_view *view,
                              const uint32_t *current, uint32_t effort,
                              struct mapping *mapping)
{
    const struct place_request request = {.view = view,
                                          .model = &measured,
                                          .current = current,
                                          .effort = effort,
                                          .seed = 5};

    assert_int_equal(policy_place(policy, &request, mapping), TM_OK);
    assert_true(mapping_is_valid(view, mapping->node_of));
    return mapping->after_s;
}

/** With the effort that is usual. */
static inline double ask(const struct policy *policy,
                         const struct cluster_view *view,
                         const uint32_t *current, struct mapping *mapping)
{
    return ask_with(policy, view, current, 0, mapping);
}

/** A random cluster; all ways of sharing take turns. @param max_nodes, max_threads
 * 2 or more */
static inline void draw_view(struct cluster_view *view, unsigned round,
                             uint32_t max_nodes, uint32_t max_threads)
{
    const struct view_plan plan = {2 + random_below(max_nodes - 1),
                                   2 + random_below(max_threads - 1),
                                   round / N_SHARINGS % 2,
                                   1 + random_below(round % 3 * 2 + 1),
                                   (enum sharing)(round % N_SHARINGS),
                                   random_between(0, 1.8)};

    view_draw(view, &plan);
}

#endif

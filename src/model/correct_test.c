// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/correct.h"
#include "model/sample_views_test.h"

#define N 4
#define K 24

/** What runs: predicted with other numbers, taken as measured. */
static void run_iteration(const struct cluster_view *truth,
                          const struct cost_model *model,
                          const uint32_t *node_of, struct measurement *measured)
{
    struct node_prediction nodes[N] = {{0}};
    struct prediction result = {.nodes = nodes};

    assert_int_equal(predict(truth, model, node_of, &result), TM_OK);
    measured->iteration_s = result.iteration_s;
    for (uint32_t x = 0; x < N; x++) {
        measured->nodes[x] = (struct node_measurement){
            .comp_s = nodes[x].comp_s,
            .mem_s = nodes[x].mem_s,
            .swap_in_s = nodes[x].mem_in_s,
            .swap_out_s = nodes[x].mem_out_s,
            .comm_s = nodes[x].comm_s,
            .time_s = nodes[x].time_s,
            .lack_pages = (uint64_t)(nodes[x].lack_pages + 0.5),
        };
    }
}

/** A view, and the same with costs as they really are. */
static void draw_truth(struct cluster_view *view, struct cluster_view *truth,
                       double error)
{
    const struct view_plan plan = {
        N, K, 0, 1, (enum sharing)random_below(N_SHARINGS), 1.2};

    view_draw(view, &plan);
    cluster_view_copy(truth, view, 0);
    for (uint32_t x = 0; x < N; x++) {
        struct node_view *node = &truth->nodes[x];

        node->power *= random_between(1 / error, error);
        node->packet_s *= random_between(1 / error, error);
        node->swap_in_s *= random_between(1 / error, error);
        node->swap_out_s *= random_between(1 / error, error);
        node->memory_pages =
            (uint64_t)((double)node->memory_pages * random_between(0.6, 1.6));
    }
}

static void repeated_corrections_converge_to_the_measurement(void **state)
{
    double worst = 0;

    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct cluster_view view;
        struct cluster_view truth;
        struct correction corrections[N];
        struct node_prediction nodes[N];
        struct prediction result = {.nodes = nodes};
        struct node_measurement at[N];
        struct measurement measured = {.nodes = at};
        struct cost_model model = {.corrections = corrections};
        const struct cost_model plain = {.kind = COST_MEASURED};
        uint32_t node_of[K];

        draw_truth(&view, &truth, 2);
        mapping_draw(&view, node_of);
        run_iteration(&truth, &plain, node_of, &measured);
        for (uint32_t x = 0; x < N; x++) {
            at[x].lack_pages *= round % 2; // not all can measure it
            correction_init(&corrections[x]);
        }
        for (unsigned step = 0; step < 25; step++) {
            assert_int_equal(predict(&view, &model, node_of, &result), TM_OK);
            correct(&view, &result, &measured, 0.5, corrections);
        }
        worst = fmax(worst, fabs(prediction_error(&result, &measured)));
        cluster_view_release(&view);
        cluster_view_release(&truth);
    }
    printf("worst error after 25 corrections: %.2f %%\n", worst * 100);
    assert_true(worst < 0.02);
}

static void factors_stay_within_their_bounds(void **state)
{
    struct cluster_view view;
    struct correction c;
    struct node_prediction node = {
        .comp_s = 1, .mem_s = 1, .comm_s = 1, .demand_pages = 100};
    const struct prediction result = {.iteration_s = 3, .nodes = &node};
    struct node_measurement at = {.comp_s = 1e6, .mem_s = 1e6, .comm_s = 1e-6};
    const struct measurement measured = {2e6, &at};

    (void)state;
    view_make(&view, 1, 1);
    correction_init(&c);
    for (unsigned k = 0; k < 100; k++) {
        correct(&view, &result, &measured, 1, &c);
    }
    assert_true(c.comp == 8 && c.mem == 8 && c.memory >= 0.25);
    assert_true(c.comm == 1); // far below a hundredth of the iteration
    cluster_view_release(&view);
}

static void paging_that_was_not_predicted_shrinks_memory(void **state)
{
    struct cluster_view view;
    struct correction c;
    struct node_prediction node = {.comp_s = 1, .demand_pages = 80};
    const struct prediction result = {.iteration_s = 1, .nodes = &node};
    struct node_measurement at = {.comp_s = 1, .mem_s = 1};
    const struct measurement measured = {2, &at};

    (void)state;
    view_make(&view, 1, 1);
    view.nodes[0].memory_pages = 100;
    view.nodes[0].swap_in_s = view.nodes[0].swap_out_s = 0.05;
    correction_init(&c);
    correct(&view, &result, &measured, 1, &c);
    assert_true(fabs(c.memory - 0.7) < 1e-9); // ten pages did not fit
    // And the other way round.
    node.mem_s = 1;
    node.lack_pages = 10;
    at.mem_s = 0;
    correct(&view, &result, &measured, 1, &c);
    assert_true(fabs(c.memory - 0.8) < 1e-9);
    cluster_view_release(&view);
}

// What is left when the price is at its bound is the lack's, to parts of a page.
static void paging_that_costs_too_much_is_predicted_in_the_end(void **state)
{
    struct cluster_view view;
    struct node_prediction node = {.comp_s = 1, .demand_pages = 140};
    const struct prediction result = {.iteration_s = 2, .nodes = &node};

    (void)state;
    view_make(&view, 1, 1);
    view.nodes[0].memory_pages = 136;
    view.nodes[0].swap_in_s = view.nodes[0].swap_out_s = 0.05;
    for (unsigned round = 0; round < 100; round++) {
        struct node_measurement at = {.comp_s = 1, .mem_s = 4 + 0.03 * round};
        const struct measurement measured = {1 + at.mem_s, &at};
        struct correction c;

        correction_init(&c);
        for (unsigned step = 0; step < 60; step++) {
            const double lack = 140 - c.memory * 136;

            node.lack_pages = lack;
            node.mem_s = lack * 0.1 * c.mem;
            assert_true(step < 40 || fabs(node.mem_s - at.mem_s) < 1e-6);
            correct(&view, &result, &measured, 0.5, &c);
        }
    }
    cluster_view_release(&view);
}

static void pages_gone_over_twice_do_not_shrink_memory(void **state)
{
    struct cluster_view view;
    struct correction c[3];
    struct node_prediction nodes[] = {
        {.comp_s = 1, .mem_s = 2, .lack_pages = 20, .demand_pages = 100},
        {.comp_s = 1, .mem_s = 6, .lack_pages = 60, .demand_pages = 100},
        {.comp_s = 1, .demand_pages = 100},
    };
    const struct prediction result = {.iteration_s = 7, .nodes = nodes};
    struct node_measurement at[] = {
        {.comp_s = 1, .mem_s = 8, .lack_pages = 40},
        {.comp_s = 1, .mem_s = 24, .lack_pages = 120}, // more than there are
        {.comp_s = 1},
    };
    const struct measurement measured = {25, at};

    (void)state;
    view_make(&view, 3, 3);
    view.nodes[0].memory_pages = 80;
    view.nodes[1].memory_pages = 40;
    view.nodes[2].memory_pages = 200;
    for (unsigned i = 0; i < 3; i++) {
        correction_init(&c[i]);
        view.nodes[i].swap_in_s = view.nodes[i].swap_out_s = 0.05;
    }
    correct(&view, &result, &measured, 1, c);
    assert_true(c[0].memory == 1 && c[1].memory == 1);
    assert_true(fabs(c[0].mem - 4) < 1e-9 && fabs(c[1].mem - 4) < 1e-9);
    assert_true(fabs(c[2].mem - 4) < 1e-9); // nobody knows better
    cluster_view_release(&view);
}

// As B in a product of matrices, which each row of each thread goes over.
static void pages_gone_over_often_are_predicted_in_the_end(void **state)
{
    enum { DEMAND = 300, MEMORY = 140, SWEEPS = 60 };
    const uint64_t n_in = SWEEPS * (DEMAND - MEMORY);
    struct cluster_view view;
    struct correction c;
    struct node_prediction node = {.comp_s = 1, .demand_pages = DEMAND};
    const struct prediction result = {.iteration_s = 2, .nodes = &node};
    struct node_measurement at = {
        .comp_s = 1, .mem_s = 0.1 * (double)n_in, .lack_pages = n_in};
    const struct measurement measured = {1 + at.mem_s, &at};

    (void)state;
    view_make(&view, 1, 1);
    view.nodes[0].memory_pages = MEMORY;
    view.nodes[0].swap_in_s = view.nodes[0].swap_out_s = 0.05;
    correction_init(&c);
    for (unsigned step = 0; step < 20; step++) {
        const double lack = DEMAND - c.memory * MEMORY;

        node.lack_pages = lack;
        node.mem_s = lack * 0.1 * c.mem;
        correct(&view, &result, &measured, 0.5, &c);
    }
    assert_true(fabs(node.mem_s / at.mem_s - 1) < 1e-3);
    assert_true(c.memory >= 0.5); // what a pager keeps at least
    cluster_view_release(&view);
}

static void the_error_of_a_prediction_has_a_sign(void **state)
{
    const struct prediction predicted = {.iteration_s = 1.1};
    const struct measurement measured = {1.0, NULL};
    const struct measurement nothing = {0, NULL};

    (void)state;
    assert_true(fabs(prediction_error(&predicted, &measured) - 0.1) < 1e-9);
    assert_true(prediction_error(&predicted, &nothing) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_corrections_converge_to_the_measurement),
        cmocka_unit_test(factors_stay_within_their_bounds),
        cmocka_unit_test(paging_that_was_not_predicted_shrinks_memory),
        cmocka_unit_test(paging_that_costs_too_much_is_predicted_in_the_end),
        cmocka_unit_test(pages_gone_over_twice_do_not_shrink_memory),
        cmocka_unit_test(pages_gone_over_often_are_predicted_in_the_end),
        cmocka_unit_test(the_error_of_a_prediction_has_a_sign),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

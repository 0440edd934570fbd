// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/predict.h"
#include "model/sample_views_test.h"

/* Terms against values worked out by hand. */

#define MAX_NODES 4

static struct node_prediction nodes[MAX_NODES];
static struct prediction result = {.nodes = nodes};

static void run(const struct cluster_view *view, const struct cost_model *model,
                const uint32_t *node_of)
{
    assert_true(cluster_view_is_valid(view));
    assert_int_equal(predict(view, model, node_of, &result), TM_OK);
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-15;
}

static const struct cost_model measured = {.kind = COST_MEASURED};

static void computation_is_scaled_by_power_and_processors(void **state)
{
    struct cluster_view view;
    const uint32_t node_of[] = {0, 0, 0, 1, 1, 1, 1};

    (void)state;
    view_make(&view, 3, 7);
    view.nodes[0].power = 2;
    view.nodes[1].power = 0.5;
    view.nodes[1].n_processors = 3;
    run(&view, &measured, node_of);
    assert_true(is_near(nodes[0].comp_s, 1.5));
    assert_true(is_near(nodes[1].comp_s, 4)); // two rounds at half power
    assert_true(nodes[2].time_s == 0 && nodes[2].n_threads == 0);
    assert_int_equal(result.slowest, 1);
    assert_true(is_near(result.iteration_s, 4));
    cluster_view_release(&view);
}

static void a_mapping_to_no_node_is_refused(void **state)
{
    struct cluster_view view;
    const uint32_t node_of[] = {0, 2};

    (void)state;
    view_make(&view, 2, 2);
    assert_int_equal(predict(&view, &measured, node_of, &result), TM_EINVAL);
    cluster_view_release(&view);
}

// ---- memory ----

/** Two nodes, four threads: 10 pages written by each, 20 read by all. Costs of
 * a page: in 1, out 2, fetched 3 seconds. */
static void make_short(struct cluster_view *view)
{
    struct page_lists lists;

    view_make(view, 2, 4);
    lists_init(&lists, 4);
    for (uint32_t i = 0; i < 4; i++) {
        lists_add(&lists, i, 1000 * (i + 1), 10, USE_WRITE, 0);
        lists_add(&lists, i, 0, 20, USE_READ, 0);
    }
    lists_build(&lists, view);
    lists_release(&lists);
    for (uint32_t x = 0; x < 2; x++) {
        view->nodes[x].memory_pages = view->nodes[x].free_pages = 25;
        view->nodes[x].total_pages = 50;
        view->nodes[x].swap_in_s = 1;
        view->nodes[x].swap_out_s = 2;
        view->nodes[x].fetch_s = 3;
    }
}

static void demand_is_the_size_of_a_union(void **state)
{
    struct cluster_view view;
    const uint32_t node_of[] = {0, 0, 0, 1};

    (void)state;
    make_short(&view);
    run(&view, &measured, node_of);
    assert_int_equal(nodes[0].demand_pages, 50);
    assert_true(nodes[0].lack_pages == 25);
    assert_int_equal(nodes[1].demand_pages, 30);
    assert_true(nodes[1].lack_pages == 5);
    cluster_view_release(&view);
}

static void each_kind_of_page_costs_what_it_takes_to_replace(void **state)
{
    struct cluster_view view;
    const uint32_t apart[] = {0, 0, 0, 1};
    const uint32_t together[] = {0, 0, 0, 0};

    (void)state;
    make_short(&view);
    run(&view, &measured, apart);
    // Half of 30 written pages goes out and in, half of 20 that node 1 has too
    // is dropped and fetched.
    assert_true(is_near(nodes[0].pages_in, 15));
    assert_true(is_near(nodes[0].pages_out, 15));
    assert_true(is_near(nodes[0].pages_fetched, 10));
    assert_true(is_near(nodes[0].mem_s, 15 * 1 + 15 * 2 + 10 * 3));
    assert_true(is_near(nodes[0].time_s, 3 + 75));

    run(&view, &measured, together);
    // 60 pages, 35 lack; nobody else has the 20, but they are not written.
    assert_true(is_near(nodes[0].pages_in, 35));
    assert_true(is_near(nodes[0].pages_out, 35 * 40 / 60.0));
    assert_true(nodes[0].pages_fetched == 0);
    cluster_view_release(&view);
}

static void least_recently_used_misses_all(void **state)
{
    struct cluster_view view;
    struct cost_model model = measured;
    struct page_lists lists;
    const uint32_t node_of[12] = {0};

    (void)state;
    view_make(&view, 1, 12);
    lists_init(&lists, 12);
    for (uint32_t i = 0; i < 12; i++) {
        lists_add(&lists, i, 100 * i, 10, USE_WRITE, 0);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    view.nodes[0].memory_pages = 85;
    run(&view, &model, node_of);
    assert_true(is_near(nodes[0].pages_in, 35));
    model.replacement = REPLACEMENT_LRU;
    run(&view, &model, node_of);
    assert_true(is_near(nodes[0].pages_in, 120));
    assert_true(is_near(nodes[0].pages_out, 120));
    view.nodes[0].memory_pages = 120;
    run(&view, &model, node_of);
    assert_true(nodes[0].pages_in == 0);
    cluster_view_release(&view);
}

static void the_cliff_charges_all_threads(void **state)
{
    struct cluster_view view;
    const struct cost_model model = {.kind = COST_CLIFF};
    const uint32_t node_of[] = {0, 0, 0, 1};

    (void)state;
    make_short(&view);
    view.nodes[0].memory_pages = 49;
    view.nodes[1].memory_pages = 30;
    run(&view, &model, node_of);
    assert_true(nodes[0].lack_pages == 1);
    assert_true(is_near(nodes[0].mem_s, 3 * 30 * (1 + 2)));
    assert_true(nodes[1].mem_s == 0);
    cluster_view_release(&view);
}

// ---- [Liu06]'s final formula ----

static void liu06_scales_from_the_reference_processor(void **state)
{
    struct cluster_view view;
    struct cost_model model = {.kind = COST_LIU06};
    const uint32_t node_of[] = {0, 0, 0, 1};

    (void)state;
    make_short(&view);
    view.nodes[1].power = 2;
    view.nodes[1].total_pages = 100;
    view.nodes[1].free_pages = 20;
    model.reference = (struct reference){.power = 1,
                                         .lack_pages = 10,
                                         .free_pages = 25,
                                         .total_pages = 50,
                                         .swap_in_s = 4,
                                         .swap_out_s = 6};
    run(&view, &model, node_of);
    assert_true(is_near(nodes[0].mem_in_s, 25 / 10.0 * 4));
    assert_true(is_near(nodes[0].mem_out_s, 25 / 10.0 * 6));
    assert_true(is_near(nodes[1].mem_in_s, 5 / 10.0 * 4));
    // M_total 100/50, M_free 25/20, C 1/2
    assert_true(
        is_near(nodes[1].mem_out_s, 5 / 10.0 * 100 / 50 * 25 / 20 * 1 / 2 * 6));
    assert_true(is_near(nodes[1].sum_s,
                        nodes[1].comp_s + nodes[1].mem_s + nodes[1].comm_s));
    cluster_view_release(&view);
}

static void liu06_without_shortage_uses_costs_of_a_page(void **state)
{
    struct cluster_view view;
    struct cost_model model = {.kind = COST_LIU06};
    const uint32_t node_of[] = {0, 0, 0, 1};

    (void)state;
    make_short(&view);
    view.nodes[1].free_pages = 24;
    assert_int_equal(reference_choose(&view, NULL, &model.reference), 1);
    assert_int_equal(model.reference.lack_pages, 0);
    run(&view, &model, node_of);
    assert_true(is_near(nodes[1].mem_in_s, 5 * 1));
    assert_true(is_near(nodes[1].mem_out_s, 5 * 2));
    assert_true(isfinite(result.iteration_s));
    cluster_view_release(&view);
}

static void the_reference_is_who_measured_most_swapping(void **state)
{
    struct cluster_view view;
    struct node_measurement at[2] = {
        {.swap_in_s = 1, .swap_out_s = 1, .lack_pages = 7},
        {.swap_in_s = 1, .swap_out_s = 2, .lack_pages = 9}};
    const struct measurement seen = {10, at};
    struct reference reference;

    (void)state;
    make_short(&view);
    assert_int_equal(reference_choose(&view, &seen, &reference), 1);
    assert_int_equal(reference.lack_pages, 9);
    assert_true(reference.swap_out_s == 2);
    at[1].lack_pages = 0; // it swapped, but who knows what for
    assert_int_equal(reference_choose(&view, &seen, &reference), 0);
    cluster_view_release(&view);
}

// Pages come in more than once where they are gone over several times. T_spi is of all.
static void of_the_reference_liu06_predicts_what_was_measured(void **state)
{
    struct cluster_view view;
    struct cost_model model = {.kind = COST_LIU06};
    struct node_measurement at[2] = {
        {.swap_in_s = 4, .swap_out_s = 6, .lack_pages = 75}, {.swap_in_s = 0}};
    const struct measurement seen = {10, at};
    const uint32_t node_of[] = {0, 0, 0, 1};
    uint32_t x;

    (void)state;
    make_short(&view);
    x = reference_choose(&view, &seen, &model.reference);
    run(&view, &model, node_of); // for the demand
    reference_set_lack(&model.reference, &view.nodes[x], nodes[x].demand_pages);
    assert_int_equal(model.reference.lack_pages, 25);
    run(&view, &model, node_of);
    assert_true(is_near(nodes[x].mem_in_s, 4));
    assert_true(is_near(nodes[x].mem_out_s, 6));
    reference_set_lack(&model.reference, &view.nodes[x], 0); // as it is
    assert_int_equal(model.reference.lack_pages, 25);
    cluster_view_release(&view);
}

static void no_free_memory_costs_much_but_not_without_limit(void **state)
{
    struct cluster_view view;
    struct cost_model model = {.kind = COST_LIU06};
    const uint32_t node_of[] = {0, 0, 0, 1};

    (void)state;
    make_short(&view);
    reference_choose(&view, NULL, &model.reference);
    model.reference.free_pages = 25;
    for (uint64_t left = 0; left < 2; left++) {
        view.nodes[1].free_pages = left;
        run(&view, &model, node_of);
        assert_true(is_near(nodes[1].mem_out_s, 16 * 5 * 2));
    }
    cluster_view_release(&view);
}

// ---- communication ----

/** Three nodes, a thread each; pages 0-3 written by thread 0 (600 bytes each)
 * and thread 1 (1000), read by all; page 9 written by thread 2 for nobody;
 * page 10 written by 2 with an empty diff, read by 0. Packets of 1000 bytes
 * take 1 s. */
static void make_sharing(struct cluster_view *view)
{
    struct page_lists lists;

    view_make(view, 3, 3);
    lists_init(&lists, 3);
    lists_add(&lists, 0, 0, 4, USE_READ | USE_WRITE, 600);
    lists_add(&lists, 1, 0, 4, USE_READ | USE_WRITE, 1000);
    lists_add(&lists, 2, 0, 4, USE_READ, 0);
    lists_add(&lists, 2, 9, 1, USE_WRITE, 4096);
    lists_add(&lists, 2, 10, 1, USE_WRITE, 0);
    lists_add(&lists, 0, 10, 1, USE_READ, 0);
    lists_build(&lists, view);
    lists_release(&lists);
    for (uint32_t x = 0; x < 3; x++) {
        view->nodes[x].packet_s = 1;
        view->nodes[x].packet_bytes = 1000;
    }
}

static void liu06_counts_packets_of_each_page_rounded_up(void **state)
{
    struct cluster_view view;
    struct cost_model model = {.kind = COST_LIU06, .reference = {.power = 1}};
    const uint32_t apart[] = {0, 1, 2};
    const uint32_t pair[] = {0, 0, 2};

    (void)state;
    make_sharing(&view);
    run(&view, &model, apart);
    assert_true(nodes[0].packets == 4 * 2 * 1);
    assert_true(nodes[1].packets == 4 * 2 * 1);
    assert_true(nodes[2].packets == 0); // an empty diff costs nothing
    run(&view, &model, pair);
    assert_true(nodes[0].packets == 4 * 1 * 2); // 1600 bytes, one peer
    assert_true(nodes[0].comm_s == 8);
    assert_true(nodes[2].packets == 0);
    cluster_view_release(&view);
}

static void measured_counts_packets_of_each_peer(void **state)
{
    struct cluster_view view;
    const uint32_t apart[] = {0, 1, 2};
    const uint32_t pair[] = {0, 0, 2};

    (void)state;
    make_sharing(&view);
    run(&view, &measured, apart);
    assert_true(nodes[0].packets == 3 + 3); // 2400 bytes to each
    assert_true(nodes[1].packets == 4 + 4);
    run(&view, &measured, pair);
    assert_true(nodes[0].packets == 7); // 6400 bytes
    cluster_view_release(&view);
}

static void the_union_of_diffs_is_at_most_a_page(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    const uint32_t node_of[] = {0, 0, 1};

    (void)state;
    view_make(&view, 2, 3);
    lists_init(&lists, 3);
    lists_add(&lists, 0, 0, 1, USE_WRITE, 3000);
    lists_add(&lists, 1, 0, 1, USE_WRITE, 3000);
    lists_add(&lists, 2, 0, 1, USE_READ, 0);
    lists_build(&lists, &view);
    lists_release(&lists);
    view.nodes[0].packet_bytes = 1;
    run(&view, &measured, node_of);
    assert_true(nodes[0].packets == 4096);
    cluster_view_release(&view);
}

static void communication_may_overlap_with_computation(void **state)
{
    struct cluster_view view;
    struct cost_model model = measured;
    const uint32_t apart[] = {0, 1, 2};

    (void)state;
    make_sharing(&view);
    view.nodes[0].memory_pages = 4; // of 5
    view.nodes[0].swap_in_s = 10;
    run(&view, &model, apart);
    assert_true(is_near(nodes[0].sum_s, 1 + nodes[0].mem_s + 6));
    assert_true(is_near(nodes[0].overlapped_s, 6 + nodes[0].mem_s));
    assert_true(nodes[0].mem_s > 0 && nodes[0].time_s == nodes[0].sum_s);
    model.overlap = OVERLAP_COMM;
    run(&view, &model, apart);
    assert_true(nodes[0].time_s == nodes[0].overlapped_s);
    cluster_view_release(&view);
}

static void a_page_written_here_and_held_elsewhere_is_an_update(void **state)
{
    struct cluster_view view;
    struct page_lists lists;
    const uint32_t together[] = {0, 0};
    const uint32_t apart[] = {0, 1};

    (void)state;
    view_make(&view, 2, 2);
    lists_init(&lists, 2);
    lists_add(&lists, 0, 0, 6, USE_WRITE, 0);
    lists_add(&lists, 1, 0, 2, USE_READ, 0); // two of them
    lists_build(&lists, &view);
    lists_release(&lists);
    view.nodes[0].update_s = view.nodes[1].update_s = 0.5;
    run(&view, &measured, together);
    assert_true(is_near(nodes[0].comm_s, 0));
    run(&view, &measured, apart);
    assert_true(is_near(nodes[0].comm_s, 1)); // though nothing was different
    assert_true(is_near(nodes[1].comm_s, 0));
    cluster_view_release(&view);
}

static void corrections_multiply_the_terms(void **state)
{
    struct cluster_view view;
    const struct correction corrections[2] = {{2, 3, 1, 1, 0, 0},
                                              {1, 1, 1, 0.8, 0.25, 0}};
    struct cost_model model = measured;
    const uint32_t node_of[] = {0, 0, 0, 1};
    struct node_prediction before[2];

    (void)state;
    make_short(&view);
    run(&view, &model, node_of);
    memcpy(before, nodes, sizeof before);
    model.corrections = corrections;
    run(&view, &model, node_of);
    assert_true(is_near(nodes[0].comp_s, 2 * before[0].comp_s));
    assert_true(is_near(nodes[0].mem_s, 3 * before[0].mem_s));
    assert_true(is_near(nodes[1].lack_pages, 10)); // 30 - 0.8 * 25
    assert_true(is_near(nodes[1].comm_s, before[1].comm_s + 0.25));
    cluster_view_release(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computation_is_scaled_by_power_and_processors),
        cmocka_unit_test(a_mapping_to_no_node_is_refused),
        cmocka_unit_test(demand_is_the_size_of_a_union),
        cmocka_unit_test(each_kind_of_page_costs_what_it_takes_to_replace),
        cmocka_unit_test(least_recently_used_misses_all),
        cmocka_unit_test(the_cliff_charges_all_threads),
        cmocka_unit_test(liu06_scales_from_the_reference_processor),
        cmocka_unit_test(liu06_without_shortage_uses_costs_of_a_page),
        cmocka_unit_test(the_reference_is_who_measured_most_swapping),
        cmocka_unit_test(of_the_reference_liu06_predicts_what_was_measured),
        cmocka_unit_test(no_free_memory_costs_much_but_not_without_limit),
        cmocka_unit_test(liu06_counts_packets_of_each_page_rounded_up),
        cmocka_unit_test(measured_counts_packets_of_each_peer),
        cmocka_unit_test(the_union_of_diffs_is_at_most_a_page),
        cmocka_unit_test(communication_may_overlap_with_computation),
        cmocka_unit_test(a_page_written_here_and_held_elsewhere_is_an_update),
        cmocka_unit_test(corrections_multiply_the_terms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/condense.h"
#include "model/sample_views_test.h"
#include "place/affinity.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/load_table.h"
#include "place/lower_bound.h"
#include "place/policies.h"

/*
 * A condensed view, which policy_place() asks policies about, has the answers of
 * the view that it was made from.
 */

#define MAX_NODES 6
#define MIN_THREADS (AFFINITY_CLIQUE_MAX - 4) // up to it nothing is left out
#define MAX_THREADS 90

static const enum sharing sharings[] = {SHARING_COMMON, SHARING_ALL,
                                        SHARING_MIXED};

static void draw(struct cluster_view *view, unsigned round)
{
    const struct view_plan plan = {
        2 + random_below(MAX_NODES - 1),
        MIN_THREADS + random_below(MAX_THREADS - MIN_THREADS + 1),
        round / 9 % 2,
        1 + random_below(3),
        sharings[round % 3],
        random_between(0, 2)};

    view_draw(view, &plan);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        view->threads[i].is_pinned = round % 4 == 0 && random_below(8) == 0;
        if (round % 5 == 0) { // one node may be best
            view->threads[i].computation_s /= 1000;
        }
    }
}

static struct cost_model draw_model(const struct cluster_view *view,
                                    unsigned round)
{
    struct cost_model model = {.kind = (enum cost_kind)(round / 3 % 3),
                               .overlap = (enum overlap)(round / 18 % 2)};

    reference_choose(view, NULL, &model.reference);
    return model;
}

/** What policy_place() answers, asked of the original. */
static void ask_original(const struct policy *policy,
                         const struct place_request *request,
                         struct mapping *mapping)
{
    mapping->before_s = answer_time(request, request->current);
    policy->place(request, mapping);
    answer_pins(request->view, request->current, mapping->node_of);
    mapping->after_s = answer_time(request, mapping->node_of);
}

static void each_policy_answers_as_for_the_original(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct cluster_view view;
        struct cost_model model;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[2][MAX_THREADS];
        struct place_request request = {
            .view = &view, .model = &model, .current = current, .effort = 2};

        draw(&view, round);
        model = draw_model(&view, round);
        mapping_draw(&view, current);
        for (unsigned k = 0; k < n_policies; k++) {
            struct mapping plain = {.node_of = node_of[0]};
            struct mapping small = {.node_of = node_of[1]};

            ask_original(policies[k], &request, &plain);
            assert_int_equal(policy_place(policies[k], &request, &small),
                             TM_OK);
            if (memcmp(node_of[0], node_of[1],
                       view.n_threads * sizeof node_of[0][0]) != 0) {
                fail_msg("%s answers otherwise", policies[k]->name);
            }
            assert_true(plain.before_s == small.before_s);
            assert_true(plain.after_s == small.after_s);
        }
        cluster_view_release(&view);
    }
}

/** 70 threads that all write a page of each other's are best on one node, and not on
 * the quick one, which has no room for what they all read. */
static void one_node_must_have_room_for_what_all_read(void **state)
{
    const struct cost_model model = {.kind = COST_MEASURED};
    struct cluster_view view;
    struct page_lists lists;
    uint32_t current[70] = {0};
    uint32_t node_of[70];
    struct mapping mapping = {.node_of = node_of};
    const struct place_request request = {
        .view = &view, .model = &model, .current = current};

    (void)state;
    view_make(&view, 2, 70);
    lists_init(&lists, 70);
    for (uint32_t i = 0; i < 70; i++) {
        for (uint32_t k = 0; k < 70; k++) {
            lists_add(&lists, i, k, 1, k == i ? USE_WRITE : USE_READ,
                      k == i ? 40 : 0);
        }
        lists_add(&lists, i, 70, 1000, USE_READ, 0);
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    view.nodes[0].power = 2;
    view.nodes[0].memory_pages = 500;
    for (uint32_t x = 0; x < 2; x++) {
        view.nodes[x].swap_in_s = view.nodes[x].swap_out_s = 0.1;
        view.nodes[x].packet_s = 1000;
    }
    assert_int_equal(policy_place(&policy_cpu_mem, &request, &mapping), TM_OK);
    for (uint32_t i = 0; i < 70; i++) {
        assert_int_equal(node_of[i], 1);
    }
    cluster_view_release(&view);
}

/** What the order of uses is needed for is not condensed. */
static void orders_of_use_are_kept_for_models_that_need_them(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        const struct cost_model model = {
            .replacement = round % 2 ? REPLACEMENT_LRU : REPLACEMENT_REVERSED};
        struct cluster_view view;
        uint32_t current[MAX_THREADS];
        uint32_t node_of[2][MAX_THREADS];
        struct place_request request = {
            .view = &view, .model = &model, .current = current};
        struct mapping plain = {.node_of = node_of[0]};
        struct mapping small = {.node_of = node_of[1]};

        draw(&view, round);
        mapping_draw(&view, current);
        ask_original(&policy_initial, &request, &plain);
        assert_int_equal(policy_place(&policy_initial, &request, &small),
                         TM_OK);
        assert_true(plain.before_s == small.before_s);
        assert_true(plain.after_s == small.after_s);
        cluster_view_release(&view);
    }
}

static void curves_and_bounds_are_those_of_the_original(void **state)
{
    unsigned n_smaller = 0;

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct cluster_view view;
        struct condensed condensed;
        struct cost_model model;
        uint32_t current[MAX_THREADS];
        struct demand_curve plain;
        struct demand_curve small;
        double bounds_s[2];

        draw(&view, round);
        model = draw_model(&view, round);
        mapping_draw(&view, current);
        condense(&condensed, &view);
        n_smaller += condensed.view.n_uses < view.n_uses;
        demand_curve_init(&plain, &view, &model, current, COUNT_ALL);
        demand_curve_init(&small, &condensed.view, &model, current, COUNT_ALL);
        assert_memory_equal(plain.points, small.points,
                            (view.n_threads + 1) * sizeof plain.points[0]);
        assert_true(plain.thread_pages == small.thread_pages);
        bounds_s[0] = lower_bound_iteration(&view, &model);
        bounds_s[1] = lower_bound_iteration(&condensed.view, &model);
        assert_true(bounds_s[0] == bounds_s[1]);
        demand_curve_release(&plain);
        demand_curve_release(&small);
        condensed_release(&condensed);
        cluster_view_release(&view);
    }
    assert_true(n_smaller > 150);
}

/** Load tables of the original and of the condensed view. */
static void compare(struct load_table *plain, struct load_table *small)
{
    load_table_settle(plain);
    load_table_settle(small);
    for (uint32_t x = 0; x < plain->view->n_nodes; x++) {
        const struct node_load *a = &plain->loads[x];
        const struct node_load *b = &small->loads[x];

        assert_true(plain->times[x] == small->times[x]);
        assert_true(plain->packets[x] == small->packets[x]);
        assert_true(a->written_pages == b->written_pages);
        assert_true(a->own_pages == b->own_pages);
        assert_true(a->foreign_pages == b->foreign_pages);
        assert_true(a->thread_pages == b->thread_pages);
        assert_true(a->updates == b->updates);
    }
}

static void load_tables_are_those_of_the_original_after_any_moves(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        struct cluster_view view;
        struct condensed condensed;
        struct cost_model model;
        uint32_t current[MAX_THREADS];
        struct load_table plain;
        struct load_table small;

        draw(&view, round);
        model = draw_model(&view, round);
        mapping_draw(&view, current);
        condense(&condensed, &view);
        load_table_init(&plain, &view, &model);
        load_table_init(&small, &condensed.view, &model);
        load_table_put_all(&plain, current);
        load_table_put_all(&small, current);
        compare(&plain, &small);
        // All come together on one node, which empties the others, and part.
        for (unsigned k = 0; k < 3 * view.n_threads; k++) {
            const uint32_t thread = k % view.n_threads;
            const uint32_t node = k < view.n_threads
                                      ? round % view.n_nodes
                                      : random_below(view.n_nodes);

            load_table_move(&plain, thread, node);
            load_table_move(&small, thread, node);
            compare(&plain, &small);
        }
        load_table_release(&plain);
        load_table_release(&small);
        condensed_release(&condensed);
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_answers_as_for_the_original),
        cmocka_unit_test(one_node_must_have_room_for_what_all_read),
        cmocka_unit_test(orders_of_use_are_kept_for_models_that_need_them),
        cmocka_unit_test(curves_and_bounds_are_those_of_the_original),
        cmocka_unit_test(load_tables_are_those_of_the_original_after_any_moves),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

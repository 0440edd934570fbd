// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/load_table.h"
#include "model/predict.h"
#include "model/sample_views_test.h"

#define MAX_NODES 72
#define MAX_THREADS 32

/** Are a load table's times and loads those of predict()? */
static void compare(const struct load_table *table,
                    const struct cost_model *model)
{
    struct node_prediction nodes[MAX_NODES];
    struct prediction result = {.nodes = nodes};
    const struct cluster_view *view = table->view;

    assert_int_equal(predict(view, model, table->node_of, &result), TM_OK);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        assert_true(fabs(table->times[x] - nodes[x].time_s) <=
                    1e-9 * nodes[x].time_s + 1e-12);
        assert_int_equal(table->loads[x].n_threads, nodes[x].n_threads);
        assert_true(table->packets[x] == nodes[x].packets);
    }
    assert_true(fabs(load_table_longest(table, NULL) - result.iteration_s) <=
                1e-9 * result.iteration_s);
}

/** Do nodes in two tables the same with each group? */
static void compare_holders(struct load_table *a, struct load_table *b)
{
    for (uint32_t g = 0; g < a->view->n_groups; g++) {
        assert_int_equal(a->n_holders[g], b->n_holders[g]);
        for (uint32_t x = 0; x < a->view->n_nodes; x++) {
            const struct held *mine = load_table_find(a, g, x);
            const struct held *other = load_table_find(b, g, x);

            assert_int_equal(mine != NULL, other != NULL);
            if (mine != NULL) {
                assert_memory_equal(mine, other, sizeof *mine);
            }
        }
    }
}

static void draw_view(struct cluster_view *view, unsigned round)
{
    const struct view_plan plan = {round % 8 == 7 ? 65 + random_below(8)
                                                  : 1 + random_below(6),
                                   1 + random_below(MAX_THREADS),
                                   round % 2,
                                   1 + random_below(3),
                                   (enum sharing)(round % N_SHARINGS),
                                   random_between(0, 2)};

    view_draw(view, &plan);
}

static void times_are_predicted_after_any_moves(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        const struct cost_model model = {.kind = round % 3 == 0 ? COST_LIU06
                                                 : round % 3 == 1
                                                     ? COST_CLIFF
                                                     : COST_MEASURED,
                                         .reference = {.power = 1,
                                                       .lack_pages = 10,
                                                       .free_pages = 100,
                                                       .total_pages = 200,
                                                       .swap_in_s = 1,
                                                       .swap_out_s = 2}};
        struct cluster_view view;
        struct load_table table;
        uint32_t node_of[MAX_THREADS];

        draw_view(&view, round);
        load_table_init(&table, &view, &model);
        mapping_draw(&view, node_of);
        load_table_put_all(&table, node_of);
        load_table_settle(&table);
        compare(&table, &model);
        for (unsigned step = 0; step < 20; step++) {
            for (unsigned k = random_below(4); k > 0; k--) {
                load_table_move(&table, random_below(view.n_threads),
                                random_below(view.n_nodes));
            }
            load_table_settle(&table);
            compare(&table, &model);
        }
        load_table_release(&table);
        cluster_view_release(&view);
    }
}

static void a_change_taken_back_leaves_no_trace(void **state)
{
    const struct cost_model model = {.kind = COST_MEASURED};

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct cluster_view view;
        struct load_table table;
        struct load_table before;
        uint32_t node_of[MAX_THREADS];

        draw_view(&view, round);
        load_table_init(&table, &view, &model);
        mapping_draw(&view, node_of);
        load_table_put_all(&table, node_of);
        load_table_init(&before, &view, &model);
        load_table_put_all(&before, node_of);
        for (unsigned step = 0; step < 20; step++) {
            const uint32_t thread = random_below(view.n_threads);

            load_table_move(&table, thread, random_below(view.n_nodes));
            load_table_move(&table, thread, node_of[thread]);
        }
        compare_holders(&table, &before);
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            const struct node_load *now = &table.loads[x];
            const struct node_load *then = &before.loads[x];

            assert_true(now->written_pages == then->written_pages);
            assert_true(now->own_pages == then->own_pages);
            assert_true(now->foreign_pages == then->foreign_pages);
            assert_true(fabs(now->comp_s - then->comp_s) < 1e-9);
        }
        load_table_settle(&table);
        compare(&table, &model);
        load_table_release(&before);
        load_table_release(&table);
        cluster_view_release(&view);
    }
}

static void a_mapping_is_put_alike_whatever_was_there(void **state)
{
    const struct cost_model model = {.kind = COST_MEASURED};

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct cluster_view view;
        struct load_table tables[2];
        uint32_t node_of[MAX_THREADS];

        draw_view(&view, round);
        for (unsigned k = 0; k < 2; k++) {
            load_table_init(&tables[k], &view, &model);
            mapping_draw(&view, node_of); // of the second from the first
            load_table_put_all(&tables[0], node_of);
        }
        load_table_put_all(&tables[1], node_of);
        load_table_settle(&tables[0]);
        load_table_settle(&tables[1]);
        compare(&tables[0], &model);
        compare_holders(&tables[0], &tables[1]);
        assert_memory_equal(tables[0].loads, tables[1].loads,
                            view.n_nodes * sizeof *tables[0].loads);
        assert_memory_equal(tables[0].head, tables[1].head,
                            view.n_nodes * sizeof(uint32_t));
        assert_memory_equal(tables[0].next, tables[1].next,
                            view.n_threads * sizeof(uint32_t));
        assert_memory_equal(tables[0].times, tables[1].times,
                            view.n_nodes * sizeof(double));
        load_table_release(&tables[0]);
        load_table_release(&tables[1]);
        cluster_view_release(&view);
    }
}

// ---- kinds of pages ----

/** All that a node takes is a second for each page swapped in and so many for each that
 * is fetched. */
static void make_only_pages_cost(struct cluster_view *view, double fetch_s)
{
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        view->nodes[x].memory_pages = 0;
        view->nodes[x].swap_in_s = 1;
        view->nodes[x].swap_out_s = 0;
        view->nodes[x].fetch_s = fetch_s;
        view->nodes[x].packet_s = 0;
        view->nodes[x].update_s = 0;
        view->nodes[x].n_processors = 1;
    }
}

static void pages_that_only_one_node_reads_are_told_from_others(void **state)
{
    enum { COMES, HOME, GOES, AWAY, STAYS, N };
    static const uint32_t node_of[N] = {0, 0, 1, 0, 1};
    const struct cost_model model = {.kind = COST_MEASURED};
    struct cluster_view view;
    struct page_lists lists;
    struct load_table table;

    (void)state;
    view_make(&view, 2, N);
    lists_init(&lists, N);
    lists_add(&lists, COMES, 0, 10, USE_READ, 0);
    lists_add(&lists, COMES, 10, 5, USE_READ, 0);
    lists_add(&lists, HOME, 10, 5, USE_READ, 0);
    lists_add(&lists, GOES, 20, 7, USE_READ, 0);
    lists_add(&lists, GOES, 30, 2, USE_READ, 0);
    lists_add(&lists, AWAY, 30, 2, USE_READ, 0);
    lists_add(&lists, STAYS, 40, 4, USE_READ, 0);
    lists_build(&lists, &view);
    lists_release(&lists);
    make_only_pages_cost(&view, 3);
    for (uint32_t i = 0; i < N; i++) {
        view.threads[i].computation_s = 0;
    }
    load_table_init(&table, &view, &model);
    load_table_put_all(&table, node_of);
    assert_true(load_table_time(&table, 1) == 7 + 2 * 3 + 4);
    load_table_move(&table, COMES, 1);
    assert_true(load_table_time(&table, 1) == 7 + 2 * 3 + 4 + 10 + 5 * 3);
    load_table_move(&table, GOES, 0);
    assert_true(load_table_time(&table, 1) == 4 + 10 + 5 * 3);
    load_table_put_all(&table, node_of);
    load_table_move(&table, HOME, 1);
    load_table_move(&table, STAYS, 0);
    assert_true(load_table_time(&table, 1) == 7 + 2 * 3 + 5 * 3);
    load_table_release(&table);
    cluster_view_release(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_predicted_after_any_moves),
        cmocka_unit_test(a_change_taken_back_leaves_no_trace),
        cmocka_unit_test(a_mapping_is_put_alike_whatever_was_there),
        cmocka_unit_test(pages_that_only_one_node_reads_are_told_from_others),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

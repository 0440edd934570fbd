// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/predict.h"
#include "model/sample_views_test.h"
#include "place/load_table.h"

#define MAX_NODES 72 ///< more than a word of holders has bits
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
        uint32_t node_of[MAX_THREADS];
        struct held *held;
        struct node_load loads[MAX_NODES];
        size_t size;

        draw_view(&view, round);
        load_table_init(&table, &view, &model);
        mapping_draw(&view, node_of);
        load_table_put_all(&table, node_of);
        size = (size_t)view.n_groups * view.n_nodes * sizeof *held;
        held = must(malloc(size + 1));
        memcpy(held, table.held, size);
        memcpy(loads, table.loads, view.n_nodes * sizeof *loads);
        for (unsigned step = 0; step < 20; step++) {
            const uint32_t thread = random_below(view.n_threads);

            load_table_move(&table, thread, random_below(view.n_nodes));
            load_table_move(&table, thread, node_of[thread]);
        }
        assert_memory_equal(table.held, held, size);
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            assert_true(table.loads[x].written_pages == loads[x].written_pages);
            assert_true(table.loads[x].own_pages == loads[x].own_pages);
            assert_true(table.loads[x].foreign_pages == loads[x].foreign_pages);
            assert_true(fabs(table.loads[x].comp_s - loads[x].comp_s) < 1e-9);
        }
        load_table_settle(&table);
        compare(&table, &model);
        free(held);
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
        size_t n_held;

        draw_view(&view, round);
        n_held = (size_t)view.n_groups * view.n_nodes;
        for (unsigned k = 0; k < 2; k++) {
            load_table_init(&tables[k], &view, &model);
            mapping_draw(&view, node_of); // of the second from the first
            load_table_put_all(&tables[0], node_of);
        }
        load_table_put_all(&tables[1], node_of);
        compare(&tables[0], &model);
        assert_memory_equal(tables[0].held, tables[1].held,
                            n_held * sizeof *tables[0].held);
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

// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/predict.h"
#include "model/sample_views_test.h"
#include "place/refine.h"

#define N 3
#define K 10

static const struct cost_model measured = {.kind = COST_MEASURED};

/** The best of all N^K mappings, by trying them. */
static double oracle(struct load_table *table, uint32_t thread, double best_s)
{
    double longest_s = 0;

    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        longest_s = fmax(longest_s, load_table_time(table, x));
    }
    if (thread == table->view->n_threads) {
        return fmin(best_s, longest_s);
    }
    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        const double comp_s = table->loads[x].comp_s;

        load_table_put(table, thread, x);
        best_s = oracle(table, thread + 1, best_s);
        load_table_take(table, thread);
        table->loads[x].comp_s = comp_s;
    }
    return best_s;
}

static void start(struct load_table *table, const struct cluster_view *view,
                  const uint32_t *node_of)
{
    load_table_init(table, view, &measured);
    load_table_put_all(table, node_of);
    load_table_settle(table);
}

static void it_shortens_and_takes_needless_moves_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        const struct view_plan plan = {2 + random_below(4),
                                       4 + random_below(40),
                                       0,
                                       1 + random_below(3),
                                       (enum sharing)(round % N_SHARINGS),
                                       random_between(0, 2)};
        struct cluster_view view;
        struct load_table table;
        struct refine_limits limits = {20000, 0};
        uint32_t node_of[64];
        uint32_t moves[2] = {0, 0};
        double before_s;
        double after_s;

        view_draw(&view, &plan);
        mapping_draw(&view, node_of);
        start(&table, &view, node_of);
        before_s = load_table_longest(&table, NULL);
        refine(&table, node_of, &limits);
        after_s = load_table_longest(&table, NULL);
        assert_true(after_s <= before_s);
        for (int k = 0; k < 2; k++) {
            for (uint32_t i = 0; i < view.n_threads; i++) {
                moves[k] += table.node_of[i] != node_of[i];
            }
            refine_fewer_moves(&table, node_of);
        }
        assert_true(moves[1] <= moves[0]);
        assert_true(load_table_longest(&table, NULL) <= after_s * (1 + 2e-9));
        load_table_release(&table);
        cluster_view_release(&view);
    }
}

static void from_a_few_mappings_it_comes_near_the_best_of_all(void **state)
{
    double sum = 0;
    double worst = 0;
    const unsigned n = 60;

    (void)state;
    for (unsigned round = 0; round < n; round++) {
        const struct view_plan plan = {N,
                                       K,
                                       0,
                                       1,
                                       (enum sharing)(round % N_SHARINGS),
                                       random_between(0, 1.6)};
        struct cluster_view view;
        struct load_table table;
        uint32_t node_of[K];
        double best_s;
        double found_s;

        view_draw(&view, &plan);
        load_table_init(&table, &view, &measured);
        best_s = oracle(&table, 0, INFINITY);
        found_s = INFINITY;
        for (int k = 0; k < 4; k++) {
            struct refine_limits limits = {100000, 0};

            mapping_draw(&view, node_of);
            load_table_put_all(&table, node_of);
            load_table_settle(&table);
            refine(&table, node_of, &limits);
            found_s = fmin(found_s, load_table_longest(&table, NULL));
        }
        assert_true(found_s >= best_s * (1 - 1e-9));
        sum += found_s / best_s - 1;
        worst = fmax(worst, found_s / best_s - 1);
        load_table_release(&table);
        cluster_view_release(&view);
    }
    printf("above the optimum: %.1f %%, worst %.1f %%\n", sum / n * 100,
           worst * 100);
    assert_true(sum / n < 0.05);
}

static void pinned_threads_stay(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        const struct view_plan plan = {3, 20, 0, 1, SHARING_NONE, 1};
        struct cluster_view view;
        struct load_table table;
        struct refine_limits limits = {20000, 0};
        uint32_t node_of[20];

        view_draw(&view, &plan);
        mapping_in_blocks(&view, node_of);
        for (uint32_t i = 0; i < 20; i += 3) {
            view.threads[i].is_pinned = 1;
        }
        start(&table, &view, node_of);
        refine(&table, node_of, &limits);
        for (uint32_t i = 0; i < 20; i += 3) {
            assert_int_equal(table.node_of[i], node_of[i]);
        }
        load_table_release(&table);
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_shortens_and_takes_needless_moves_back),
        cmocka_unit_test(from_a_few_mappings_it_comes_near_the_best_of_all),
        cmocka_unit_test(pinned_threads_stay),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

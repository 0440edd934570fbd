// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/predict.h"
#include "model/view_test.h"
#include "place/tally.h"

#define MAX_NODES 6
#define MAX_THREADS 32

/** Are a tally's times and loads those of predict()? */
static void compare(const struct tally *tally, const struct cost_model *model)
{
    struct node_prediction nodes[MAX_NODES];
    struct prediction result = {.nodes = nodes};
    const struct cluster_view *view = tally->view;

    assert_int_equal(predict(view, model, tally->node_of, &result), TM_OK);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        assert_true(fabs(tally->times[x] - nodes[x].time_s) <=
                    1e-9 * nodes[x].time_s + 1e-12);
        assert_int_equal(tally->loads[x].n_threads, nodes[x].n_threads);
        assert_true(tally->packets[x] == nodes[x].packets);
    }
    assert_true(fabs(tally_longest(tally, NULL) - result.iteration_s) <=
                1e-9 * result.iteration_s);
}

static void draw_view(struct cluster_view *view, unsigned round)
{
    const struct view_plan plan = {1 + random_below(MAX_NODES),
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
        struct tally tally;
        uint32_t node_of[MAX_THREADS];

        draw_view(&view, round);
        assert_int_equal(tally_init(&tally, &view, &model), TM_OK);
        mapping_draw(&view, node_of);
        tally_put_all(&tally, node_of);
        compare(&tally, &model);
        for (unsigned step = 0; step < 20; step++) {
            for (unsigned k = random_below(4); k > 0; k--) {
                tally_move(&tally, random_below(view.n_threads),
                           random_below(view.n_nodes));
            }
            tally_settle(&tally);
            compare(&tally, &model);
        }
        tally_release(&tally);
        cluster_view_release(&view);
    }
}

static void a_change_taken_back_leaves_no_trace(void **state)
{
    const struct cost_model model = {.kind = COST_MEASURED};

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct cluster_view view;
        struct tally tally;
        uint32_t node_of[MAX_THREADS];
        struct held *held;
        struct node_load loads[MAX_NODES];
        size_t size;

        draw_view(&view, round);
        assert_int_equal(tally_init(&tally, &view, &model), TM_OK);
        mapping_draw(&view, node_of);
        tally_put_all(&tally, node_of);
        size = (size_t)view.n_groups * view.n_nodes * sizeof *held;
        held = must(malloc(size + 1));
        memcpy(held, tally.held, size);
        memcpy(loads, tally.loads, view.n_nodes * sizeof *loads);
        for (unsigned step = 0; step < 20; step++) {
            const uint32_t thread = random_below(view.n_threads);

            tally_move(&tally, thread, random_below(view.n_nodes));
            tally_move(&tally, thread, node_of[thread]);
        }
        assert_memory_equal(tally.held, held, size);
        for (uint32_t x = 0; x < view.n_nodes; x++) {
            assert_true(tally.loads[x].written_pages == loads[x].written_pages);
            assert_true(tally.loads[x].own_pages == loads[x].own_pages);
            assert_true(tally.loads[x].foreign_pages == loads[x].foreign_pages);
            assert_true(fabs(tally.loads[x].comp_s - loads[x].comp_s) < 1e-9);
        }
        tally_settle(&tally);
        compare(&tally, &model);
        free(held);
        tally_release(&tally);
        cluster_view_release(&view);
    }
}

static void a_mapping_is_put_alike_whatever_was_there(void **state)
{
    const struct cost_model model = {.kind = COST_MEASURED};

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct cluster_view view;
        struct tally tallies[2];
        uint32_t node_of[MAX_THREADS];
        size_t n_held;

        draw_view(&view, round);
        n_held = (size_t)view.n_groups * view.n_nodes;
        for (unsigned k = 0; k < 2; k++) {
            assert_int_equal(tally_init(&tallies[k], &view, &model), TM_OK);
            mapping_draw(&view, node_of); // of the second from the first
            tally_put_all(&tallies[0], node_of);
        }
        tally_put_all(&tallies[1], node_of);
        compare(&tallies[0], &model);
        assert_memory_equal(tallies[0].held, tallies[1].held,
                            n_held * sizeof *tallies[0].held);
        assert_memory_equal(tallies[0].loads, tallies[1].loads,
                            view.n_nodes * sizeof *tallies[0].loads);
        assert_memory_equal(tallies[0].head, tallies[1].head,
                            view.n_nodes * sizeof(uint32_t));
        assert_memory_equal(tallies[0].next, tallies[1].next,
                            view.n_threads * sizeof(uint32_t));
        assert_memory_equal(tallies[0].times, tallies[1].times,
                            view.n_nodes * sizeof(double));
        tally_release(&tallies[0]);
        tally_release(&tallies[1]);
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_predicted_after_any_moves),
        cmocka_unit_test(a_change_taken_back_leaves_no_trace),
        cmocka_unit_test(a_mapping_is_put_alike_whatever_was_there),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

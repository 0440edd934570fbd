// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/condense.h"
#include "model/predict.h"
#include "model/sample_views_test.h"

#define MAX_NODES 6
#define MAX_THREADS 48

static void draw_corrections(struct correction *corrections)
{
    for (unsigned x = 0; x < MAX_NODES; x++) {
        corrections[x] = (struct correction){.comp = random_between(0.5, 2),
                                             .mem = random_between(0.5, 2),
                                             .comm = random_between(0.5, 2),
                                             .memory = random_between(0.5, 1.5),
                                             .rest_s = random_between(0, 0.1)};
    }
}

/** Are predictions the same, bit by bit? Numbers of pages and bytes are whole. */
static void compare(const struct cluster_view *view,
                    const struct cluster_view *condensed,
                    const struct cost_model *model)
{
    struct node_prediction nodes[2][MAX_NODES] = {{{0}}};
    struct prediction plain = {.nodes = nodes[0]};
    struct prediction small = {.nodes = nodes[1]};
    uint32_t node_of[MAX_THREADS];
    const uint32_t n_used = 1 + random_below(view->n_nodes);

    for (uint32_t i = 0; i < view->n_threads; i++) {
        node_of[i] = random_below(n_used); // nodes without threads, too
    }
    assert_int_equal(predict(view, model, node_of, &plain), TM_OK);
    assert_int_equal(predict(condensed, model, node_of, &small), TM_OK);
    assert_true(plain.iteration_s == small.iteration_s);
    assert_int_equal(plain.slowest, small.slowest);
    assert_memory_equal(nodes[0], nodes[1], view->n_nodes * sizeof nodes[0][0]);
}

static void a_condensed_view_is_predicted_as_the_original(void **state)
{
    unsigned n_smaller = 0;

    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        const struct view_plan plan = {1 + random_below(MAX_NODES),
                                       1 + random_below(MAX_THREADS),
                                       round % 2,
                                       1 + random_below(3),
                                       (enum sharing)(round % (N_SHARINGS + 1)),
                                       random_between(0, 2)};
        struct correction corrections[MAX_NODES];
        struct cost_model model = {.kind = (enum cost_kind)(round / 6 % 3),
                                   .overlap = (enum overlap)(round / 18 % 2)};
        struct cluster_view view;
        struct condensed condensed;

        draw_corrections(corrections);
        model.corrections = round % 5 ? corrections : NULL;
        view_draw(&view, &plan);
        reference_choose(&view, NULL, &model.reference);
        condense(&condensed, &view);
        assert_true(cluster_view_is_valid(&condensed.view));
        assert_true(cluster_view_sum_pages(&condensed.view) ==
                    cluster_view_sum_pages(&view));
        n_smaller += condensed.view.n_uses < view.n_uses;
        for (unsigned k = 0; k < 5; k++) {
            compare(&view, &condensed.view, &model);
        }
        condensed_release(&condensed);
        cluster_view_release(&view);
    }
    assert_true(n_smaller > 100);
}

/** Thread i writes group i; all read all. */
static void fill_all(struct cluster_view *view)
{
    struct page_lists lists;

    lists_init(&lists, view->n_threads);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        for (uint32_t k = 0; k < view->n_threads; k++) {
            lists_add(&lists, i, k, 1, k == i ? USE_WRITE : USE_READ,
                      k == i ? 40 : 0);
        }
    }
    lists_build(&lists, view);
    lists_release(&lists);
}

static void of_threads_that_read_each_other_the_writes_are_left(void **state)
{
    struct cluster_view view;
    struct condensed condensed;

    (void)state;
    view_make(&view, 2, 20);
    fill_all(&view);
    assert_int_equal(view.n_uses, 400);
    condense(&condensed, &view);
    assert_int_equal(condensed.view.n_common, 20);
    assert_int_equal(condensed.view.n_uses, 20);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(condensed.view.threads[i].n_uses, 1);
        assert_int_equal(condensed.view.uses[i].diff_bytes, 40);
    }
    condensed_release(&condensed);
    cluster_view_release(&view);
}

static void where_little_is_common_all_stays(void **state)
{
    struct cluster_view view;
    struct condensed condensed;
    struct page_lists lists;

    (void)state;
    view_make(&view, 2, 20);
    lists_init(&lists, 20);
    for (uint32_t i = 0; i < 20; i++) {
        lists_add(&lists, i, 0, 1, USE_READ, 0);              // common
        lists_add(&lists, i, 1 + i, 1, USE_WRITE, 0);         // its own,
        lists_add(&lists, i, 1 + i / 2 + 20, 1, USE_READ, 0); // and of two
    }
    lists_build(&lists, &view);
    lists_release(&lists);
    condense(&condensed, &view);
    assert_int_equal(condensed.view.n_common, 0);
    assert_ptr_equal(condensed.view.uses, view.uses);
    condensed_release(&condensed);
    cluster_view_release(&view);
}

static void a_view_of_nothing_can_be_condensed(void **state)
{
    struct cluster_view view;
    struct condensed condensed;

    (void)state;
    view_make(&view, 2, 3);
    condense(&condensed, &view);
    assert_int_equal(condensed.view.n_common, 0);
    condensed_release(&condensed);
    cluster_view_release(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condensed_view_is_predicted_as_the_original),
        cmocka_unit_test(of_threads_that_read_each_other_the_writes_are_left),
        cmocka_unit_test(where_little_is_common_all_stays),
        cmocka_unit_test(a_view_of_nothing_can_be_condensed),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

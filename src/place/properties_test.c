// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "place/random_clusters_test.h"

/* What holds of all policies, on random clusters. */

#define EFFORT 50 ///< with the usual one `optimal` takes all of the time

static void policies_are_found_by_name(void **state)
{
#define POLICY(symbol, name) name,
    static const char *const names[] = {
#include "base/policies.def"
    };

    (void)state;
    assert_ptr_equal(policy_find("initial"), policies[0]);
    assert_ptr_equal(policy_find(NULL), &policy_cpu_mem);
    assert_null(policy_find("best"));
    for (unsigned k = 0; k < n_policies; k++) {
        assert_string_equal(policies[k]->name, names[k]);
        assert_ptr_equal(policy_find(names[k]), policies[k]);
    }
}

static void each_answers_alike_and_leaves_pinned_threads(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct cluster_view view;
        uint32_t current[MAX_THREADS];

        draw_view(&view, round, 4, 20);
        mapping_draw(&view, current);
        for (uint32_t i = 0; i < view.n_threads; i++) {
            view.threads[i].is_pinned = random_below(4) == 0;
        }
        for (unsigned k = 0; k < n_policies; k++) {
            uint32_t node_of[2][MAX_THREADS];
            struct mapping mapping = {.node_of = node_of[0]};
            uint32_t n_moves = 0;

            ask_with(policies[k], &view, current, EFFORT, &mapping);
            for (uint32_t i = 0; i < view.n_threads; i++) {
                n_moves += node_of[0][i] != current[i];
                assert_true(!view.threads[i].is_pinned ||
                            node_of[0][i] == current[i]);
            }
            assert_int_equal(mapping.n_moves, n_moves);
            mapping.node_of = node_of[1];
            ask_with(policies[k], &view, current, EFFORT, &mapping);
            assert_memory_equal(node_of[0], node_of[1],
                                view.n_threads * sizeof node_of[0][0]);
        }
        cluster_view_release(&view);
    }
}

static void none_moves_where_all_are_pinned_to_one_node(void **state)
{
    struct cluster_view view;
    const uint32_t current[6] = {0};
    uint32_t node_of[6];
    struct mapping mapping = {.node_of = node_of};

    (void)state;
    view_make(&view, 3, 6);
    for (uint32_t i = 0; i < 6; i++) {
        view.threads[i].is_pinned = 1;
    }
    for (unsigned k = 0; k < n_policies; k++) {
        ask_with(policies[k], &view, current, EFFORT, &mapping);
        assert_memory_equal(node_of, current, sizeof node_of);
    }
    cluster_view_release(&view);
}

static void a_current_mapping_to_no_node_is_refused(void **state)
{
    struct cluster_view view;
    const uint32_t current[] = {0, 2};
    uint32_t node_of[2];
    struct mapping mapping = {.node_of = node_of};
    const struct place_request request = {
        .view = &view, .model = &measured, .current = current};

    (void)state;
    view_make(&view, 2, 2);
    for (unsigned k = 0; k < n_policies; k++) {
        assert_int_equal(policy_place(policies[k], &request, &mapping),
                         TM_EINVAL);
    }
    cluster_view_release(&view);
}

static void all_of_them_take_one_node_and_one_thread(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 4; n++) {
        for (uint32_t k = 1; k < 4; k++) {
            for (unsigned p = 0; p < n_policies; p++) {
                struct cluster_view view;
                const uint32_t current[4] = {0};
                uint32_t node_of[4];
                struct mapping mapping = {.node_of = node_of};

                view_make(&view, n, k);
                ask(policies[p], &view, current, &mapping);
                cluster_view_release(&view);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_are_found_by_name),
        cmocka_unit_test(each_answers_alike_and_leaves_pinned_threads),
        cmocka_unit_test(none_moves_where_all_are_pinned_to_one_node),
        cmocka_unit_test(a_current_mapping_to_no_node_is_refused),
        cmocka_unit_test(all_of_them_take_one_node_and_one_thread),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

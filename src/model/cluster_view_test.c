// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "model/sample_views_test.h"

#define REFUSED(view, words)                                                   \
    do {                                                                       \
        char reason[200] = "";                                                 \
        assert_false(cluster_view_check(&(view), reason, sizeof reason));      \
        assert_non_null(strstr(reason, words));                                \
    } while (0)

static void a_view_needs_nodes_and_threads(void **state)
{
    struct cluster_view view;

    (void)state;
    assert_int_equal(cluster_view_init(&view, 0, 3), TM_EINVAL);
    assert_int_equal(cluster_view_init(&view, 3, 0), TM_EINVAL);
    cluster_view_release(&view);
}

static void what_is_wrong_with_a_view_is_said(void **state)
{
    struct cluster_view view;
    struct page_lists lists;

    (void)state;
    view_make(&view, 2, 2);
    lists_init(&lists, 2);
    lists_add(&lists, 0, 0, 3, USE_WRITE, 100);
    lists_add(&lists, 1, 3, 3, USE_READ, 0);
    lists_build(&lists, &view);
    lists_release(&lists);
    assert_true(cluster_view_is_valid(&view));

    view.nodes[1].power = 0;
    REFUSED(view, "power of n1");
    view.nodes[1].power = 1;
    view.nodes[0].fetch_s = NAN;
    REFUSED(view, "cost of n0");
    view.nodes[0].fetch_s = 0;
    view.nodes[0].n_processors = 0;
    REFUSED(view, "no processors");
    view.nodes[0].n_processors = 1;
    view.nodes[0].packet_bytes = 0;
    REFUSED(view, "packets");
    view.nodes[0].packet_bytes = 1;
    view.nodes[0].name[0] = 0;
    REFUSED(view, "no name");
    view.nodes[0].name[0] = 'a';
    view.threads[1].computation_s = -1;
    REFUSED(view, "thread 1");
    view.threads[1].computation_s = 0;
    view.threads[1].n_uses = 2;
    REFUSED(view, "out of range");
    view.threads[1].n_uses = 1;
    view.uses[0].group = 2;
    REFUSED(view, "group 2 of 2");
    view.uses[0].group = 0;
    view.uses[1].diff_bytes = 1;
    REFUSED(view, "impossible diff");
    view.uses[1].diff_bytes = 0;
    view.uses[1].flags = 0;
    REFUSED(view, "no known way");
    view.uses[1].flags = USE_READ;
    view.threads[0].n_uses = 2;
    view.uses[1].group = 0;
    REFUSED(view, "twice");
    view.uses[1].group = 1;
    REFUSED(view, "same uses");
    view.threads[0].n_uses = 1;
    view.group_pages[1] = 0;
    REFUSED(view, "no pages");
    cluster_view_release(&view);
}

static void a_copy_has_more_nodes_and_the_same_threads(void **state)
{
    struct cluster_view view;
    struct cluster_view copy;
    const struct view_plan plan = {3, 12, 0, 2, SHARING_CHAIN, 1};

    (void)state;
    view_draw(&view, &plan);
    cluster_view_copy(&copy, &view, 2);
    assert_int_equal(copy.n_nodes, 5);
    assert_true(cluster_view_is_valid(&copy));
    assert_string_equal(copy.nodes[4].name, view.nodes[0].name);
    assert_memory_equal(copy.nodes, view.nodes, 3 * sizeof *view.nodes);
    assert_memory_equal(copy.threads, view.threads, 12 * sizeof *view.threads);
    assert_memory_equal(copy.uses, view.uses, view.n_uses * sizeof *view.uses);
    cluster_view_release(&copy);
    cluster_view_release(&view);
}

static void random_views_are_valid(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 200; k++) {
        const struct view_plan plan = {1 + random_below(6),
                                       1 + random_below(30),
                                       k % 2,
                                       4,
                                       (enum sharing)random_below(N_SHARINGS),
                                       k % 3};
        struct cluster_view view;
        char reason[200] = "";

        view_draw(&view, &plan);
        if (!cluster_view_check(&view, reason, sizeof reason)) {
            fail_msg("%s", reason);
        }
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_needs_nodes_and_threads),
        cmocka_unit_test(what_is_wrong_with_a_view_is_said),
        cmocka_unit_test(a_copy_has_more_nodes_and_the_same_threads),
        cmocka_unit_test(random_views_are_valid),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

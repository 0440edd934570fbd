// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sample_views_test.h"

static void pages_used_alike_are_one_group(void **state)
{
    struct cluster_view view;
    struct page_lists lists;

    (void)state;
    view_make(&view, 1, 3);
    lists_init(&lists, 3);
    lists_add(&lists, 0, 100, 5, USE_READ, 0);
    lists_add(&lists, 0, 200, 4, USE_READ | USE_WRITE, 7);
    lists_add(&lists, 1, 202, 2, USE_READ, 0);
    lists_add(&lists, 1, 100, 5, USE_READ, 0);
    lists_add(&lists, 2, 104, 1, USE_WRITE, 9);
    lists_build(&lists, &view);
    assert_true(cluster_view_is_valid(&view));
    // 100-103, 104, 200-201, 202-203
    assert_int_equal(view.n_groups, 4);
    assert_int_equal(view.n_uses, 4 + 3 + 1);
    assert_int_equal(view.group_pages[view.uses[0].group], 4);
    assert_int_equal(view.group_pages[view.uses[1].group], 1);
    assert_int_equal(view.uses[2].diff_bytes, 7);
    // In order of first use.
    assert_int_equal(view.uses[4].group, view.uses[3].group);
    assert_int_equal(view.uses[5].group, view.uses[0].group);
    assert_int_equal(view.uses[6].group, view.uses[1].group);
    assert_int_equal(view.uses[7].group, view.uses[1].group);
    assert_int_equal(view.uses[7].flags, USE_WRITE);
    lists_release(&lists);
    cluster_view_release(&view);
}

static void pages_left_by_one_thread_are_not_joined_by_the_next(void **state)
{
    struct cluster_view view;
    struct page_lists lists;

    (void)state;
    // Page 0 is used by thread 0 only, page 1 by thread 1 only, in one way.
    view_make(&view, 1, 2);
    lists_init(&lists, 2);
    lists_add(&lists, 0, 0, 1, USE_READ, 0);
    lists_add(&lists, 1, 1, 1, USE_READ, 0);
    lists_build(&lists, &view);
    assert_int_equal(view.n_groups, 2);
    lists_release(&lists);
    cluster_view_release(&view);
}

static void a_page_named_twice_counts_once(void **state)
{
    struct cluster_view view;
    struct page_lists lists;

    (void)state;
    view_make(&view, 1, 1);
    lists_init(&lists, 1);
    lists_add(&lists, 0, 7, 2, USE_READ, 0);
    lists_add(&lists, 0, 8, 1, USE_WRITE, 30);
    lists_build(&lists, &view);
    assert_int_equal(view.n_groups, 2);
    assert_int_equal(view.uses[1].flags, USE_READ | USE_WRITE);
    assert_int_equal(view.uses[1].diff_bytes, 30);
    assert_int_equal(view.group_pages[0] + view.group_pages[1], 2);
    lists_release(&lists);
    cluster_view_release(&view);
}

static void impossible_uses_are_refused(void **state)
{
    struct cluster_view view;
    const struct page_use bad[] = {
        {1, 0, 0}, {1, 4, 0}, {1, USE_WRITE, 4097}, {1, USE_READ, 1}};

    (void)state;
    view_make(&view, 1, 1);
    for (unsigned k = 0; k < 4; k++) {
        const struct page_use *list = &bad[k];
        const size_t n = 1;

        assert_int_equal(groups_build(&view, &list, &n), TM_EINVAL);
        assert_int_equal(view.n_groups, 0);
    }
    cluster_view_release(&view);
}

// ---- against comparing all pages ----

#define N_PAGES 40
#define N_THREADS 6

/** flags, and 4 if diffs are sent, of a thread's use of a page */
static uint8_t ways[N_PAGES][N_THREADS];

static void draw_lists(struct page_lists *lists)
{
    memset(ways, 0, sizeof ways);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        for (unsigned k = random_below(60); k > 0; k--) {
            const uint32_t page = random_below(N_PAGES);
            const unsigned flags = 1 + random_below(3);
            const unsigned diff =
                flags & USE_WRITE ? random_below(3) * 1000 : 0;

            lists_add(lists, i, page, 1, flags, diff);
            ways[page][i] |= flags | (diff > 0 ? 4 : 0);
        }
    }
}

static uint32_t group_of(const struct cluster_view *view, uint32_t page)
{
    for (uint32_t g = 0; g < view->n_groups; g++) {
        int matches = 1;

        for (uint32_t i = 0; i < N_THREADS; i++) {
            const struct thread_view *it = &view->threads[i];
            unsigned way = 0;

            for (uint32_t u = 0; u < it->n_uses; u++) {
                const struct use *use = &view->uses[it->first_use + u];

                if (use->group == g) {
                    way = use->flags | (use->diff_bytes > 0 ? 4u : 0u);
                }
            }
            matches = matches && way == ways[page][i];
        }
        if (matches) {
            return g;
        }
    }
    return UINT32_MAX;
}

static void groups_are_those_of_comparing_all_pages(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct cluster_view view;
        struct page_lists lists;
        uint32_t n_pages[N_PAGES] = {0};

        view_make(&view, 2, N_THREADS);
        lists_init(&lists, N_THREADS);
        draw_lists(&lists);
        lists_build(&lists, &view);
        assert_true(cluster_view_is_valid(&view));
        for (uint32_t page = 0; page < N_PAGES; page++) {
            static const uint8_t unused[N_THREADS];
            uint32_t g;

            if (memcmp(ways[page], unused, sizeof unused) == 0) {
                continue;
            }
            g = group_of(&view, page);
            assert_true(g < view.n_groups); // there is one of these users
            n_pages[g]++;
        }
        for (uint32_t g = 0; g < view.n_groups; g++) {
            assert_int_equal(n_pages[g], view.group_pages[g]); // and only one
        }
        lists_release(&lists);
        cluster_view_release(&view);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_used_alike_are_one_group),
        cmocka_unit_test(pages_left_by_one_thread_are_not_joined_by_the_next),
        cmocka_unit_test(a_page_named_twice_counts_once),
        cmocka_unit_test(impossible_uses_are_refused),
        cmocka_unit_test(groups_are_those_of_comparing_all_pages),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

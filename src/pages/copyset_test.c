// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mem/random_numbers_test.h"
#include "pages/pages.h"

static struct engine engine; ///< its pools only
static struct page page;

static int make_pools(void **state)
{
    (void)state;
    copysets_init(&engine);
    return 0;
}

static int release_pools(void **state)
{
    (void)state;
    copyset_clear(&engine, &page);
    copysets_release(&engine);
    return 0;
}

static void expect_same_as(const uint8_t *members)
{
    const struct node_set all = copyset_of(&page);
    int next = copyset_next(&page, 0);

    for (unsigned node = 0; node < TM_MAX_NODES; node++) {
        assert_int_equal(copyset_has(&page, (node_id)node), members[node]);
        assert_int_equal(node_set_has(&all, node), members[node]);
        if (members[node]) {
            assert_int_equal(next, node);
            next = copyset_next(&page, node + 1);
        }
    }
    assert_int_equal(next, -1);
    assert_int_equal(copyset_is_empty(&page), node_set_is_empty(&all));
}

// First nodes of low numbers, so that it grows.
static void random_steps_agree_with_an_array(void **state)
{
    uint8_t members[TM_MAX_NODES] = {0};

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        const unsigned most = i < 1000 ? 60 : i < 2000 ? 200 : TM_MAX_NODES;
        const node_id node = (node_id)random_below(most);

        members[node] = random_below(3) == 0;
        (members[node] ? copyset_add : copyset_remove)(&engine, &page, node);
        expect_same_as(members);
    }
    copyset_clear(&engine, &page);
    assert_true(copyset_is_empty(&page));
}

static void the_last_that_leaves_leaves_none(void **state)
{
    static const node_id nodes[] = {0, 63, 64, 300, TM_MAX_NODES - 1};

    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        copyset_remove(&engine, &page, nodes[i]); // is in none
        copyset_add(&engine, &page, nodes[i]);
        assert_true(copyset_is_only(&page, nodes[i]));
        copyset_add(&engine, &page, 5);
        assert_false(copyset_is_only(&page, nodes[i]));
        assert_false(copyset_is_only(&page, 5));
        copyset_remove(&engine, &page, nodes[i]);
        assert_true(copyset_is_only(&page, 5));
        copyset_remove(&engine, &page, 5);
        assert_true(copyset_is_empty(&page));
        assert_false(copyset_is_only(&page, 5));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_steps_agree_with_an_array,
                                        make_pools, release_pools),
        cmocka_unit_test_setup_teardown(the_last_that_leaves_leaves_none,
                                        make_pools, release_pools),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

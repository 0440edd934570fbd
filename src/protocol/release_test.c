// SPDX-License-Identifier: BSD-3-Clause
//
// What a release sends, and when those go on that it is for. The test plays the other nodes.
#include "protocol/one_node_test.h"

enum { OURS = SPACE_BLOCK, THEIRS = 2 * SPACE_BLOCK };

// A page of this node, whose readers are pushed to.
static int open_page(void **state)
{
    (void)state;
    open_node(TM_ADAPTIVE, TM_PRODUCER_CONSUMER);
    (void)use_page(OURS, 1);
    get(SELF, &world.sent[0].message); // the request, at its directory node
    get(SELF, &world.sent[1].message); // the grant
    return 0;
}

static void release_for_node(node_id next)
{
    world.n_sent = 0;
    world.n_woken = 0;
    engine_release(world.engine, next, &world.waiter);
}

static void diffs_go_along_with_what_is_told_behind_them(void **state)
{
    (void)state;
    get_fetch(2, OURS, 0);
    write_page(OURS);
    release_for_node(2);
    assert_true(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_sent, 1);
    assert_int_equal(world.n_woken, 1);
}

static void diffs_go_alone_if_another_node_is_told(void **state)
{
    (void)state;
    get_fetch(2, OURS, 0);
    write_page(OURS);
    release_for_node(0);
    assert_false(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_woken, 0);
}

static void diffs_for_two_nodes_go_alone(void **state)
{
    (void)state;
    get_fetch(0, OURS, 0);
    get_fetch(2, OURS, 0);
    write_page(OURS);
    release_for_node(2);
    assert_false(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_sent, 2);
    assert_int_equal(world.n_woken, 0);
}

// The owner may have to push them on.
static void diffs_for_an_owner_go_alone_among_three(void **state)
{
    (void)state;
    copy_page(THEIRS, 5);
    write_page(THEIRS);
    release_for_node(2);
    assert_false(last_sent(2, MESSAGE_update)->message.goes_along);
    assert_int_equal(world.n_woken, 0);
}

#define with_page(test)                                                        \
    cmocka_unit_test_setup_teardown(test, open_page, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_page(diffs_go_along_with_what_is_told_behind_them),
        with_page(diffs_go_alone_if_another_node_is_told),
        with_page(diffs_for_two_nodes_go_alone),
        with_page(diffs_for_an_owner_go_alone_among_three),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of pages while data races are looked for: T1 to T3 of race.c.
#include "protocol/one_node_test.h"
#include "protocol/pushes.h"

static void ignore_found(void *owner, const struct race_found *found)
{
    (void)owner;
    (void)found;
}

static int open_race(void **state)
{
    (void)state;
    open_node(TM_ADAPTIVE, TM_SHARING_DEFAULT);
    assert_int_equal(engine_look_for_races(world.engine, ignore_found, NULL),
                     TM_OK);
    return 0;
}

// The directory node grants a page that nobody has touched.
static void be_granted(page_no page)
{
    struct message grant = {.type = MESSAGE_grant,
                            .u.grant = {.page = page, .count = 1}};

    assert_int_equal(use_page(page, 0), FAULT_WAIT);
    grant.u.grant.id = last_sent(0, MESSAGE_fetch)->message.u.fetch.id;
    get(0, &grant);
    assert_true(world.space.pages[page].is_owner);
}

// T1
static void an_owner_writes_against_a_twin(void **state)
{
    const struct page *page = &world.space.pages[1];

    (void)state;
    be_granted(1);
    assert_int_equal(page->state, PAGE_CLEAN);
    write_page(1);
    assert_int_equal(page->state, PAGE_DIRTY);
    assert_non_null(page->twin);
    engine_release(world.engine, NODE_NONE, &world.waiter);
    assert_int_equal(page->state, PAGE_CLEAN); // though nobody has a copy
}

// T2
static void a_page_stays_with_its_owner(void **state)
{
    (void)state;
    be_granted(1);
    get_fetch(2, 1, 1);
    assert_int_equal(last_sent(2, MESSAGE_page)->message.u.page.flags &
                         PAGE_WITH_OWNERSHIP,
                     0);
    space_set_access(&world.space, 1, 1, ACCESS_NONE); // unused here
    assert_int_equal(pushes_may_hand(world.engine, 1, 2), HAND_NOT);
    assert_int_equal(pushes_may_hand_on(world.engine, 1, 2), HAND_NOT);
}

// T3
static void each_release_has_its_first_writer(void **state)
{
    const struct page *page = &world.space.pages[1];

    (void)state;
    be_granted(1);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(page->access, ACCESS_READ);
        write_page(1);
        engine_release(world.engine, NODE_NONE, &world.waiter);
        assert_int_equal(page_use_of((struct page *)page)->hot, 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_race, close_node)
    const struct CMUnitTest tests[] = {
        TEST(an_owner_writes_against_a_twin),
        TEST(a_page_stays_with_its_owner),
        TEST(each_release_has_its_first_writer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

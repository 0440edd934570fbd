// SPDX-License-Identifier: BSD-3-Clause
//
// What a program says of a block's sharing, and what its owner does then (sharing.c).
#include "protocol/one_node_test.h"

enum { PAGE = 3 };

static const unsigned COPY = PAGE_WITH_CONTENTS;
static const unsigned PUSHED = PAGE_WITH_CONTENTS | PAGE_SUBSCRIBED;
static const unsigned MOVED = PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP;

// What a node gets that asks for a page.
static unsigned given(node_id to, int is_write)
{
    get_fetch(to, PAGE, is_write);
    return last_sent(to, MESSAGE_page)->message.u.page.flags;
}

static void open_anew(tm_sharing sharing)
{
    if (world.engine != NULL) {
        (void)close_node(NULL);
    }
    open_node(TM_ADAPTIVE, sharing);
}

static void own(tm_sharing sharing)
{
    open_anew(sharing);
    own_page(PAGE, 0);
    engine_resumed(world.engine, PAGE, NULL); // who has waited goes on
}

static int close_last(void **state)
{
    (void)close_node(state);
    world.engine = NULL;
    return 0;
}

static void what_is_not_known_is_found_out(void **state)
{
    (void)state;
    own(TM_SHARING_DEFAULT);
    assert_int_equal(given(0, 0), MOVED);
    own(TM_SHARING_DEFAULT);
    world.space.pages[PAGE].moves = 1;
    assert_int_equal(given(2, 1), COPY);
    assert_int_equal(given(0, 0), COPY);
    assert_int_equal(given(0, 0),
                     PUSHED); // it asks again, and has missed nothing
}

static void other_protocols_do_not_look_at_it(void **state)
{
    (void)state;
    own(TM_MIGRATORY);
    extent_at(world.engine, 0)->protocol = TM_LAZY_RELEASE;
    assert_int_equal(given(0, 0), MOVED);
    own(TM_MIGRATORY);
    extent_at(world.engine, 0)->protocol = TM_LAZY_RELEASE;
    world.space.pages[PAGE].moves = 1;
    assert_int_equal(given(0, 1), COPY);
}

static void what_is_read_only_goes_to_who_writes_it_first(void **state)
{
    (void)state;
    own(TM_READ_ONLY);
    world.space.pages[PAGE].moves = 200;
    assert_int_equal(given(0, 1), MOVED);
    own(TM_READ_ONLY);
    write_page(PAGE);
    assert_int_equal(given(0, 0), PUSHED);
    assert_int_equal(given(2, 0), PUSHED);
}

// Its owner has asked others of the block back: it would send copies.
static void what_is_read_only_goes_to_who_writes_it_again_and_again(
    void **state)
{
    (void)state;
    own(TM_READ_ONLY);
    extent_at(world.engine, 0)->n_away = 100;
    extent_at(world.engine, 0)->n_asked_back = 100;
    assert_true(extent_asks_back(world.engine, PAGE));
    assert_int_equal(given(0, 1), MOVED);
}

// G1
static void what_is_read_only_is_not_written_when_there_are_copies(void **state)
{
    (void)state;
    own(TM_READ_ONLY);
    assert_int_equal(given(0, 0), PUSHED);
    assert_int_equal(use_page(PAGE, 0), FAULT_ALLOWED);
    assert_int_equal(use_page(PAGE, 1), FAULT_READ_ONLY);
    open_anew(TM_READ_ONLY);
    assert_int_equal(use_page(PAGE, 1), FAULT_WAIT);
    get_page(2, PAGE, 1, PUSHED, 0);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_READ);
    assert_int_equal(use_page(PAGE, 1), FAULT_READ_ONLY);
}

static void what_is_read_only_is_not_read_ahead_of_its_writer(void **state)
{
    (void)state;
    open_anew(TM_READ_ONLY);
    own_page(PAGE, 0);
    own_page(PAGE + 1, 0);
    get(0, &(struct message){.type = MESSAGE_fetch,
                             .u.fetch = {.page = PAGE,
                                         .count = 2,
                                         .requester = 0,
                                         .id = 1,
                                         .stride = 1}});
    assert_int_equal(use_page(PAGE + 1, 1), FAULT_ALLOWED);
    world.n_sent = 0;
    open_anew(TM_READ_ONLY);
    engine_fetch_ahead(world.engine, PAGE, 10, 0);
    assert_int_equal(world.n_sent, 0);
}

static void what_migrates_leaves_no_copy(void **state)
{
    (void)state;
    own(TM_MIGRATORY);
    world.space.pages[PAGE].moves = 255;
    assert_int_equal(given(0, 0), MOVED);
    assert_int_equal(world.space.pages[PAGE].state, PAGE_ABSENT);
    own(TM_MIGRATORY);
    assert_int_equal(given(0, 1), MOVED);
}

static void what_migrates_stays_until_it_has_been_used(void **state)
{
    (void)state;
    open_anew(TM_MIGRATORY);
    own_page(PAGE, 9);
    world.n_sent = 0;
    get_fetch(0, PAGE, 1);
    assert_int_equal(world.n_sent, 0);
    assert_true(engine_resumed(world.engine, PAGE, NULL));
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_WRITE);
}

// An instruction waits for a page, which comes, and the thread goes on.
static void bring_to_instruction(page_no page, struct fault_history *history)
{
    assert_int_equal(
        engine_fault(world.engine, page, 0, history, &world.waiter),
        FAULT_WAIT);
    get_page(2, page, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 9);
    (void)engine_resumed(world.engine, page, history);
}

// Its owner knows where it has gone, so it comes from there.
static void take_away(page_no page)
{
    get_fetch(2, page, 0);
    assert_int_equal(world.space.pages[page].state, PAGE_ABSENT);
}

static void an_instruction_keeps_the_lower_page_till_the_other_comes(
    void **state)
{
    struct fault_history history = {.instruction = 1};

    (void)state;
    open_anew(TM_MIGRATORY);
    bring_to_instruction(PAGE, &history);
    take_away(PAGE);
    bring_to_instruction(PAGE + 1, &history);
    assert_int_equal(
        engine_fault(world.engine, PAGE, 0, &history, &world.waiter),
        FAULT_WAIT);
    take_away(PAGE + 1); // it may go: who has the lower one gets it
    get_page(2, PAGE, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 9);
    (void)engine_resumed(world.engine, PAGE, &history);
    assert_int_equal(
        engine_fault(world.engine, PAGE + 1, 0, &history, &world.waiter),
        FAULT_WAIT);
    world.n_sent = 0;
    get_fetch(2, PAGE, 0);
    assert_int_equal(world.n_sent, 0);
    get_page(2, PAGE + 1, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 9);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_WRITE);
    assert_int_equal(world.space.pages[PAGE + 1].access, ACCESS_WRITE);
    assert_true(engine_is_to_hear(world.engine, PAGE + 1, &history));
    assert_true(engine_resumed(world.engine, PAGE + 1, &history));
}

static void two_instructions_keep_nothing_for_each_other(void **state)
{
    struct fault_history history = {.instruction = 1};

    (void)state;
    open_anew(TM_MIGRATORY);
    for (int i = 0; i < 3; i++) {
        history.instruction = 1;
        bring_to_instruction(PAGE, &history);
        history.instruction = 2;
        assert_int_equal(
            engine_fault(world.engine, PAGE + 1, 0, &history, &world.waiter),
            FAULT_WAIT);
        take_away(PAGE);
        get_page(2, PAGE + 1, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 9);
        (void)engine_resumed(world.engine, PAGE + 1, &history);
        take_away(PAGE + 1);
    }
}

static void what_is_produced_stays_and_is_pushed(void **state)
{
    (void)state;
    own(TM_PRODUCER_CONSUMER);
    assert_int_equal(given(0, 0), PUSHED);
    assert_int_equal(given(2, 1), PUSHED);
}

static void what_many_write_has_a_home(void **state)
{
    (void)state;
    own(TM_WRITE_SHARED);
    assert_int_equal(given(0, 1), MOVED);
    own(TM_WRITE_SHARED);
    world.space.pages[PAGE].moves = 1;
    assert_int_equal(given(0, 1), COPY);
    assert_int_equal(given(2, 0), COPY);
}

static void what_is_reduced_stays(void **state)
{
    (void)state;
    own(TM_REDUCTION);
    assert_int_equal(given(0, 1), COPY);
    assert_int_equal(given(2, 0), COPY);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, close_last)
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_known_is_found_out),
        TEST(other_protocols_do_not_look_at_it),
        TEST(what_is_read_only_goes_to_who_writes_it_first),
        TEST(what_is_read_only_goes_to_who_writes_it_again_and_again),
        TEST(what_is_read_only_is_not_written_when_there_are_copies),
        TEST(what_is_read_only_is_not_read_ahead_of_its_writer),
        TEST(what_migrates_leaves_no_copy),
        TEST(what_migrates_stays_until_it_has_been_used),
        TEST(an_instruction_keeps_the_lower_page_till_the_other_comes),
        TEST(two_instructions_keep_nothing_for_each_other),
        TEST(what_is_produced_stays_and_is_pushed),
        TEST(what_many_write_has_a_home),
        TEST(what_is_reduced_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

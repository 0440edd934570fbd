// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that go along with the token of a mutex, message by message. The test plays the other two
// nodes.
#include "protocol/one_node_test.h"

#include "mem/diff.h"
#include "protocol/migration.h"
#include "protocol/readers.h"

enum {
    PAGE = SPACE_BLOCK, // whose directory node is this one
    MUTEX = 4711,
    OTHER = 4712,
};

static const struct page *page(void)
{
    return page_of(world.engine, PAGE);
}

static void lock(uint64_t mutex)
{
    engine_held(world.engine, mutex, 1);
}

static void unlock(uint64_t mutex)
{
    engine_held(world.engine, mutex, 0);
    engine_release(world.engine, NODE_NONE, &world.waiter);
    world.n_sent = 0;
}

static void pass_token(uint64_t mutex)
{
    engine_order_mutex(world.engine, mutex, 2, ORDER_MOVES);
}

// A thread is to write the page, and it comes as one that goes from node to node.
static void miss(uint32_t epoch)
{
    static const uint8_t bytes[TM_PAGE_SIZE];

    assert_int_equal(use_page(PAGE, 1), FAULT_WAIT);
    get(2, &(struct message){
               .type = MESSAGE_page,
               .u.page = {.page = PAGE,
                          .version = 10 * epoch,
                          .epoch = epoch,
                          .flags = PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP,
                          .moves = UINT8_MAX},
               .body = bytes,
               .body_size = sizeof bytes});
    (void)engine_resumed(world.engine, PAGE, NULL);
}

// It goes to who asks for it.
static void take_away(void)
{
    get_fetch(0, PAGE, 0);
    assert_false(page()->is_owner);
}

// Twice, as the first time may be by chance.
static void miss_under_the_mutex(void)
{
    lock(MUTEX);
    miss(3);
    write_page(PAGE);
    unlock(MUTEX);
    pass_token(MUTEX);
    assert_true(page()->is_owner);
    take_away();
    lock(MUTEX);
    miss(6);
    write_page(PAGE);
    unlock(MUTEX);
}

static struct wire_mutex_page gone(void)
{
    struct wire_reader reader = wire_read_body(&world.sent[0].message);

    assert_true(world.n_sent > 0);
    assert_int_equal(world.sent[0].message.type, MESSAGE_mutex_pages);
    assert_int_equal(world.sent[0].to, 2);
    return wire_get_mutex_page(&reader);
}

// ---- it leaves

static void what_is_missed_again_goes_along(void **state)
{
    struct wire_mutex_page copy;

    (void)state;
    miss_under_the_mutex();
    pass_token(MUTEX);
    copy = gone();
    assert_int_equal(world.sent[0].message.u.mutex_pages.mutex, MUTEX);
    assert_true(world.sent[0].message.goes_along);
    assert_int_equal(copy.page, PAGE);
    assert_int_equal(copy.serial, SERIAL);
    assert_int_equal(copy.epoch, 7);
    assert_int_equal(diff_count(copy.diff.at, copy.diff.size), 1);
    assert_false(page()->is_owner);
    assert_int_equal(page()->hint, 2 + 1);
}

// Q1
static void what_is_not_released_goes_in_a_version_of_its_own(void **state)
{
    uint32_t version;

    (void)state;
    miss_under_the_mutex();
    version = page()->version;
    write_page(PAGE); // another thread of this node
    pass_token(MUTEX);
    assert_int_equal(gone().version, version + 1);
    assert_int_equal(page()->state, PAGE_CLEAN);
    assert_int_equal(page()->access, ACCESS_READ);
}

// Q4
static void where_memory_is_short_no_copy_stays(void **state)
{
    (void)state;
    miss_under_the_mutex();
    world.engine->is_short = 1;
    pass_token(MUTEX);
    assert_int_equal(page()->state, PAGE_ABSENT);
    assert_int_equal(world.engine->discard_n, 0);
}

static void what_is_missed_without_the_mutex_does_not(void **state)
{
    (void)state;
    miss_under_the_mutex();
    for (uint32_t epoch = 9; epoch <= 12; epoch += 3) {
        take_away();
        miss(epoch);
        write_page(PAGE);
    }
    unlock(MUTEX);
    pass_token(MUTEX);
    assert_true(page()->is_owner);
}

static void each_page_is_of_one_mutex(void **state)
{
    (void)state;
    miss_under_the_mutex();
    pass_token(OTHER);
    assert_true(page()->is_owner);
}

static void what_its_holder_has_not_written_stays(void **state)
{
    (void)state;
    miss_under_the_mutex();
    take_away();
    lock(MUTEX);
    miss(9);
    unlock(MUTEX);
    pass_token(MUTEX);
    assert_true(page()->is_owner);
    write_page(PAGE);
    unlock(MUTEX);
    pass_token(MUTEX); // it is no page of the mutex any more
    assert_true(page()->is_owner);
}

// Q1
static void what_others_may_have_a_copy_of_stays(void **state)
{
    (void)state;
    miss_under_the_mutex();
    readers_note_copy(world.engine, PAGE, 2);
    pass_token(MUTEX);
    assert_true(page()->is_owner);
}

static void while_nodes_come_or_go_pages_stay(void **state)
{
    (void)state;
    miss_under_the_mutex();
    world.engine->is_frozen = 1;
    pass_token(MUTEX);
    assert_true(page()->is_owner);
    world.engine->is_frozen = 0;
}

// ---- it comes

static void get_along(uint32_t serial, uint32_t epoch)
{
    const uint8_t byte = 7;
    uint8_t diff[DIFF_MAX];
    uint8_t body[128];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_mutex_page(
        &writer,
        &(struct wire_mutex_page){
            .page = PAGE,
            .serial = serial,
            .version = 10 * epoch,
            .epoch = epoch,
            .diff = {diff, (uint16_t)diff_of_range(&byte, 4095, 1, diff)},
        });
    get(2, &(struct message){.type = MESSAGE_mutex_pages,
                             .u.mutex_pages.mutex = MUTEX,
                             .body = body,
                             .body_size = (uint32_t)(writer.at - body)});
}

static uint8_t last_byte(void)
{
    return (uint8_t)space_bytes(&world.space, PAGE)[4095];
}

static void it_is_here_before_it_is_missed(void **state)
{
    (void)state;
    get_along(SERIAL, 5);
    assert_true(page()->is_owner);
    assert_int_equal(page()->version, 50);
    assert_int_equal(page()->access, ACCESS_WRITE);
    assert_int_equal(last_byte(), 7);
}

static void who_waits_goes_on_and_the_request_comes_back(void **state)
{
    (void)state;
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    get_along(SERIAL, 5);
    assert_int_equal(world.n_woken, 1);
    assert_true(page()->fetching); // I1 of fetch.c
    get(2, &(struct message){.type = MESSAGE_fetch_done,
                             .u.fetch_done = {.page = PAGE,
                                              .count = 1,
                                              .stride = 1,
                                              .id = page()->fetch}});
    assert_false(page()->fetching);
    assert_true(page()->is_owner);
}

// Q3
static void a_page_of_a_freed_block_is_nobodys(void **state)
{
    (void)state;
    get_along(SERIAL - 1, 5);
    assert_false(page()->is_owner);
    assert_int_equal(page()->state, PAGE_ABSENT);
}

static void close_block(void)
{
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 1}});
    world.n_sent = 0;
}

static void pages_of_a_closed_block_do_not_go(void **state)
{
    (void)state;
    miss_under_the_mutex();
    close_block();
    pass_token(MUTEX);
    assert_true(page()->is_owner);
}

// Q3: they were on their way, and so may be a request that was made for what comes next.
static void pages_of_a_closed_block_come_and_are_given(void **state)
{
    (void)state;
    close_block();
    get_along(SERIAL, 5);
    assert_true(page()->is_owner);
    engine_release(world.engine, NODE_NONE, &world.waiter);
    assert_int_equal(world.n_sent, 0);
    get_fetch(0, PAGE, 0);
    assert_int_equal(last_sent(0, MESSAGE_page)->message.u.page.page, PAGE);
}

static void it_takes_the_place_of_a_copy_that_has_stayed(void **state)
{
    (void)state;
    miss(3);
    write_page(PAGE);
    take_away();
    assert_int_equal(page()->state, PAGE_CLEAN);
    get_along(SERIAL, 5);
    assert_true(page()->is_owner);
    assert_int_equal(last_byte(), 7);
    assert_int_equal(space_bytes(&world.space, PAGE)[8], 0);
}

// The mutex was not locked here.
static void it_goes_on_with_a_token_that_passes_by(void **state)
{
    (void)state;
    get_along(SERIAL, 5);
    world.n_sent = 0;
    pass_token(MUTEX);
    assert_int_equal(gone().epoch, 6);
    assert_int_equal(gone().version, 50);
}

static void what_came_in_vain_stays(void **state)
{
    (void)state;
    get_along(SERIAL, 5);
    lock(MUTEX);
    unlock(MUTEX);
    pass_token(MUTEX);
    assert_true(page()->is_owner);
    get_fetch(0, PAGE, 0); // it migrates still: this node has not asked for it
    assert_false(page()->is_owner);
}

static void an_owner_is_not_given_its_page(void **state)
{
    (void)state;
    get_along(SERIAL, 5);
    write_page(PAGE);
    get_along(SERIAL, 9);
    assert_int_equal(page()->epoch, 5);
    assert_int_equal(world.engine->stats.bad_messages, 1);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_adaptive, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_missed_again_goes_along),
        TEST(what_is_not_released_goes_in_a_version_of_its_own),
        TEST(where_memory_is_short_no_copy_stays),
        TEST(what_is_missed_without_the_mutex_does_not),
        TEST(each_page_is_of_one_mutex),
        TEST(what_its_holder_has_not_written_stays),
        TEST(what_others_may_have_a_copy_of_stays),
        TEST(while_nodes_come_or_go_pages_stay),
        TEST(it_is_here_before_it_is_missed),
        TEST(who_waits_goes_on_and_the_request_comes_back),
        TEST(a_page_of_a_freed_block_is_nobodys),
        TEST(pages_of_a_closed_block_do_not_go),
        TEST(pages_of_a_closed_block_come_and_are_given),
        TEST(it_takes_the_place_of_a_copy_that_has_stayed),
        TEST(it_goes_on_with_a_token_that_passes_by),
        TEST(what_came_in_vain_stays),
        TEST(an_owner_is_not_given_its_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

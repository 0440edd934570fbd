// SPDX-License-Identifier: BSD-3-Clause
//
// What goes with the token of a mutex, and what does not (scopes.c).
#include "protocol/notices.h"
#include "protocol/one_node_test.h"

enum { MUTEX = 100, OTHER = 101 };

static int open_scope(void **state)
{
    (void)state;
    open_node(TM_SCOPE, TM_SHARING_DEFAULT);
    return 0;
}

// Others may have copies of it.
static void own_shared_page(page_no page)
{
    own_page(page, 1);
    get_fetch(2, page, 0);
    assert_int_equal(last_sent(2, MESSAGE_page)->message.u.page.flags,
                     PAGE_WITH_CONTENTS);
}

static void hold(uint64_t mutex)
{
    engine_held(world.engine, mutex, 1);
}

static void let_go(uint64_t mutex)
{
    engine_held(world.engine, mutex, 0);
}

static void release_all(void)
{
    engine_release(world.engine, NODE_NONE, &world.waiter);
}

static void get_notice_entry(node_id from, uint64_t mutex,
                             struct wire_notice_entry entry)
{
    uint8_t body[WIRE_SIZE_notice_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_notice_entry(&writer, &entry);
    get(from, &(struct message){.type = MESSAGE_notices,
                                .u.notices = {.mutex = mutex, .count = 1},
                                .body = body,
                                .body_size = sizeof body});
}

static void get_notice(node_id from, uint64_t mutex, page_no page,
                       uint32_t version)
{
    get_notice_entry(from, mutex,
                     (struct wire_notice_entry){
                         .page = page, .version = version, .serial = SERIAL});
}

// The pages that are told, a bit each; page 63 of none.
static uint64_t told_pages(void)
{
    uint64_t pages = 0;

    for (unsigned i = 0; i < world.n_sent; i++) {
        struct wire_reader reader = wire_read_body(&world.sent[i].message);

        assert_int_equal(world.sent[i].message.type, MESSAGE_notices);
        while (wire_has_more(&reader)) {
            pages |= UINT64_C(1) << wire_get_notice_entry(&reader).page;
        }
    }
    return pages;
}

static uint64_t told_with(uint64_t mutex, node_id to)
{
    world.n_sent = 0;
    engine_order_mutex(world.engine, mutex, to, ORDER_MOVES);
    for (unsigned i = 0; i < world.n_sent; i++) {
        assert_int_equal(world.sent[i].message.u.notices.mutex, mutex);
        assert_int_equal(world.sent[i].to, to);
    }
    return told_pages();
}

static uint64_t told_with_all(node_id to)
{
    world.n_sent = 0;
    engine_order(world.engine, 0, to, ORDER_MOVES);
    for (unsigned i = 0; i < world.n_sent; i++) {
        assert_int_equal(world.sent[i].message.u.notices.mutex, NO_MUTEX);
    }
    return told_pages();
}

static void a_token_takes_along_what_was_written_under_its_mutex(void **state)
{
    (void)state;
    own_shared_page(1);
    own_shared_page(2);
    hold(MUTEX);
    write_page(1);
    let_go(MUTEX);
    write_page(2);
    release_all();
    assert_int_equal(told_with(OTHER, 0), 0);
    assert_int_equal(told_with(MUTEX, 0), 1 << 1);
    assert_int_equal(told_with_all(0), 1 << 1 | 1 << 2);
}

static void who_has_been_told_is_told_what_is_new(void **state)
{
    (void)state;
    own_shared_page(1);
    own_shared_page(2);
    hold(MUTEX);
    write_page(1);
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 1);
    hold(MUTEX);
    write_page(2);
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 2);
    assert_int_equal(told_with(MUTEX, 2), 1 << 1 | 1 << 2);
    assert_int_equal(told_with(MUTEX, 2), 0);
}

// U2: nothing tells whether it is written to again.
static void what_could_be_written_before_the_mutex_was_locked_counts(
    void **state)
{
    (void)state;
    own_shared_page(1);
    write_page(1);
    hold(MUTEX);
    write_page(1); // without a fault
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 1);
}

// U2
static void what_is_released_while_the_mutex_is_held_counts(void **state)
{
    (void)state;
    own_shared_page(1);
    own_shared_page(2);
    hold(MUTEX);
    write_page(1);
    release_all();
    write_page(2);
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 1 | 1 << 2);
}

static void what_is_written_under_two_mutexes_goes_with_both(void **state)
{
    (void)state;
    own_shared_page(1);
    own_shared_page(2);
    hold(MUTEX);
    write_page(1);
    hold(OTHER);
    write_page(2);
    let_go(OTHER);
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 1 | 1 << 2);
    assert_int_equal(told_with(OTHER, 0) & 1 << 2, 1 << 2);
}

// J2: the copy of node 2 is older than what node 0 has heard of, too.
static void an_owner_that_writes_again_is_seen_to(void **state)
{
    (void)state;
    own_shared_page(1);
    hold(MUTEX);
    write_page(1);
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 1);
    hold(OTHER);
    write_page(1);
    let_go(OTHER);
    release_all();
    assert_int_equal(told_with(OTHER, 2), 1 << 1);
}

// U1
static void a_token_takes_along_what_came_with_it(void **state)
{
    (void)state;
    copy_page(3, 4);
    get_notice(0, MUTEX, 3, 5);
    assert_int_equal(world.space.pages[3].state, PAGE_ABSENT);
    assert_int_equal(told_with(OTHER, 2), 0);
    assert_int_equal(told_with(MUTEX, 0), 0); // it has said so
    assert_int_equal(told_with(MUTEX, 2), 1 << 3);
    assert_int_equal(told_with_all(2), 1 << 3);
}

// It was known already, but not as written under this mutex.
static void what_is_no_news_here_goes_along_all_the_same(void **state)
{
    (void)state;
    get_notice(0, NO_MUTEX, 3, 6);
    assert_int_equal(told_with(MUTEX, 2), 0);
    get_notice(0, MUTEX, 3, 5);
    assert_int_equal(told_with(MUTEX, 2), 1 << 3);
}

static void notices_of_other_protocols_go_with_every_token(void **state)
{
    (void)state;
    extent_at(world.engine, 0)->protocol = TM_LAZY_RELEASE;
    extent_at(world.engine, 0)->row = &protocol_lazy_release;
    own_shared_page(1);
    write_page(1);
    release_all();
    world.n_sent = 0;
    engine_order_mutex(world.engine, MUTEX, 0, ORDER_MOVES);
    assert_int_equal(last_sent(0, MESSAGE_notices)->message.u.notices.mutex,
                     NO_MUTEX);
    assert_int_equal(told_pages(), 1 << 1);
    assert_int_equal(told_with(MUTEX, 0), 0);
}

static void free_block(page_no page)
{
    uint8_t body[8];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_file_name(&writer, &(struct wire_file_name){"a.c"});
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 1, .page = page},
                             .body = body,
                             .body_size = (uint32_t)(writer.at - body)});
    get(0, &(struct message){.type = MESSAGE_extent_gone,
                             .u.extent_gone = {.token = 1, .page = page}});
}

static void a_page_of_a_block_that_is_freed_goes_with_nothing(void **state)
{
    (void)state;
    own_shared_page(1);
    hold(MUTEX);
    write_page(1);
    let_go(MUTEX);
    release_all();
    free_block(0);
    assert_int_equal(told_with(MUTEX, 0), 0);
}

// U2: blocks that are freed leave the list of dirty pages.
static void what_is_written_behind_a_block_that_is_freed_counts(void **state)
{
    struct extent block = *extent_at(world.engine, 0);

    (void)state;
    extent_at(world.engine, 0)->n_pages = 20;
    block.page = 20;
    block.n_pages = 20;
    extent_insert(world.engine, &block);
    own_shared_page(1);
    own_shared_page(2);
    own_shared_page(21);
    own_shared_page(22);
    hold(MUTEX);
    write_page(1);
    write_page(2);
    write_page(21);
    let_go(MUTEX);
    free_block(0);
    hold(MUTEX);
    write_page(22);
    let_go(MUTEX);
    release_all();
    assert_int_equal(told_with(MUTEX, 0), 1 << 21 | 1 << 22);
}

// U2
static void what_atomic_operations_write_counts(void **state)
{
    (void)state;
    copy_page(3, 1);
    hold(MUTEX);
    engine_atomic(world.engine, 3, 8, &(struct atomic){ATOMIC_ADD, 8, 1, 0},
                  &world.waiter);
    get_notice(2, NO_MUTEX, 3, 2);
    get(2, &(struct message){
               .type = MESSAGE_atomic_done,
               .u.atomic_done = {
                   .token =
                       last_sent(2, MESSAGE_atomic)->message.u.atomic.token}});
    let_go(MUTEX);
    assert_int_equal(told_with(MUTEX, 0), 1 << 3);
}

// N4
static void a_notice_of_a_block_before_means_nothing(void **state)
{
    (void)state;
    copy_page(3, 1);
    get_notice_entry(2, NO_MUTEX,
                     (struct wire_notice_entry){
                         .page = 3, .version = 9, .serial = SERIAL - 1});
    assert_int_equal(world.space.pages[3].state, PAGE_CLEAN);
    assert_false(notices_are_newer(world.engine, 3, 1));
    get_notice(2, NO_MUTEX, 3, 2);
    assert_int_equal(world.space.pages[3].state, PAGE_ABSENT);
    assert_true(notices_are_newer(world.engine, 3, 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scope, close_node)
    const struct CMUnitTest tests[] = {
        TEST(a_token_takes_along_what_was_written_under_its_mutex),
        TEST(a_notice_of_a_block_before_means_nothing),
        TEST(who_has_been_told_is_told_what_is_new),
        TEST(what_could_be_written_before_the_mutex_was_locked_counts),
        TEST(what_is_released_while_the_mutex_is_held_counts),
        TEST(what_is_written_under_two_mutexes_goes_with_both),
        TEST(an_owner_that_writes_again_is_seen_to),
        TEST(a_token_takes_along_what_came_with_it),
        TEST(what_is_no_news_here_goes_along_all_the_same),
        TEST(notices_of_other_protocols_go_with_every_token),
        TEST(a_page_of_a_block_that_is_freed_goes_with_nothing),
        TEST(what_is_written_behind_a_block_that_is_freed_counts),
        TEST(what_atomic_operations_write_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that migrate, and copies that are called back, message by message. The test plays the
// other two nodes.
#include "protocol/one_node_test.h"

#include "mem/diff.h"
#include "protocol/migration.h"
#include "protocol/readers.h"
#include "protocol/recall.h"

enum {
    PAGE = SPACE_BLOCK, // whose directory node is this one
    LINE = 32,          // bytes
};

// ---- what others send

static void get_pages(node_id from, enum message_type type)
{
    uint8_t body[WIRE_SIZE_page_number];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = type, .body = body, .body_size = sizeof body};

    wire_put_page_number(&writer, &(struct wire_page_number){PAGE});
    if (type == MESSAGE_recall) {
        message.u.recall.count = 1;
    } else {
        message.u.recalled.count = 1;
    }
    get(from, &message);
}

static void get_update(node_id from, size_t offset)
{
    const uint8_t byte = 5;
    uint8_t diff[DIFF_MAX];
    uint8_t body[64];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_update_item(
        &writer,
        &(struct wire_update_item){
            .page = PAGE,
            .kind = ITEM_TO_OWNER,
            .diff = {diff, (uint16_t)diff_of_range(&byte, offset, 1, diff)},
        });
    get(from, &(struct message){.type = MESSAGE_update,
                                .u.update = {.batch = 1, .origin = from},
                                .body = body,
                                .body_size = (uint32_t)(writer.at - body)});
}

static void get_refresh(node_id from, uint32_t version)
{
    uint8_t body[WIRE_SIZE_stale_copy];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_stale_copy(&writer, &(struct wire_stale_copy){PAGE, version});
    get(from, &(struct message){.type = MESSAGE_refresh,
                                .u.refresh.id = 1,
                                .body = body,
                                .body_size = sizeof body});
}

static void get_notice(uint32_t version)
{
    uint8_t body[WIRE_SIZE_notice_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_notice_entry(&writer,
                          &(struct wire_notice_entry){.page = PAGE,
                                                      .version = version,
                                                      .serial = SERIAL,
                                                      .owner = 2 + 1,
                                                      .epoch = 90});
    get(0, &(struct message){.type = MESSAGE_notices,
                             .u.notices.count = 1,
                             .body = body,
                             .body_size = sizeof body});
}

// The page comes as one that has gone from node to node.
static void get_migrating(uint32_t version)
{
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    get_page(2, PAGE, version, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP,
             MOVES_MIGRATES);
    (void)engine_resumed(world.engine, PAGE, NULL); // who has waited goes on
    world.n_sent = 0;
}

// ---- what this node does

static void own(void)
{
    (void)use_page(PAGE, 1);
    get(SELF, &world.sent[0].message); // the request, at its directory node
    get(SELF, &world.sent[1].message); // the grant
    page_of(world.engine, PAGE)->moves = 1;
    world.n_sent = 0;
}

static void release(void)
{
    engine_release(world.engine, NODE_NONE, &world.waiter);
}

static int is_sent(enum message_type type, node_id to)
{
    for (unsigned i = 0; i < world.n_sent; i++) {
        if (world.sent[i].message.type == type && world.sent[i].to == to) {
            return 1;
        }
    }
    return 0;
}

// It reads and writes.
static void visit(node_id node)
{
    get_fetch(node, PAGE, 0);
    get_update(node, 0);
}

// What was sent last to a node that asked: is it the page with its ownership?
static int has_gone_to(node_id node)
{
    const struct sent *sent = last_sent(node, MESSAGE_page);

    return (sent->message.u.page.flags & PAGE_WITH_OWNERSHIP) != 0;
}

static const struct page *page(void)
{
    return page_of(world.engine, PAGE);
}

// ---- it is found out

static void who_reads_and_writes_in_turn_is_found_out(void **state)
{
    (void)state;
    own();
    visit(0);
    assert_false(migration_is_on(world.engine, PAGE));
    visit(2);
    assert_true(migration_is_on(world.engine, PAGE));
}

static void who_only_reads_is_no_such_thing(void **state)
{
    (void)state;
    own();
    visit(0);
    get_fetch(2, PAGE, 0);
    visit(0);
    get_fetch(2, PAGE, 0);
    visit(0);
    assert_false(migration_is_on(world.engine, PAGE));
}

static void who_writes_again_is_no_such_thing(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(0);
    visit(0);
    assert_false(migration_is_on(world.engine, PAGE));
}

// The owner and one other node have it in turn; that misses more than what would be pushed to it.
static void what_two_nodes_write_in_turn_is_no_such_thing(void **state)
{
    (void)state;
    own();
    for (int turn = 0; turn < 4; turn++) {
        visit(2);
        for (int version = 0; version < 4; version++) {
            update_wrote(world.engine, PAGE, NULL, 0);
        }
    }
    assert_false(migration_is_on(world.engine, PAGE));
}

// The owner has what was called before, and gives ownership to who has the last copy.
static void other_copies_are_called_and_the_last_one_gets_the_page(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    world.n_sent = 0;
    get_refresh(0, 0);
    assert_true(is_sent(MESSAGE_recall, 2));
    assert_true(page()->is_owner); // A8
    get_pages(2, MESSAGE_recalled);
    get_update(0, 0);
    assert_false(page()->is_owner);
    assert_int_equal(page()->hint, 0 + 1);
}

// What the owner has a twin of, and has perhaps not written, would not go with the diff.
static void its_owner_gives_up_to_write_as_others_do(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    write_page(PAGE);
    release();
    write_page(PAGE);
    get_refresh(0, 0);
    assert_int_equal(page()->state, PAGE_CLEAN);
    get_pages(2, MESSAGE_recalled);
    get_update(0, 0);
    assert_false(page()->is_owner);
}

// A3: it may have given up its copy meanwhile.
static void who_is_called_does_not_get_the_page_by_its_diff(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    get_refresh(0, 0);
    get_pages(2, MESSAGE_recalled);
    readers_call_back(world.engine, PAGE, NODE_NONE, RECALL_WRITES);
    get_update(0, 0);
    assert_true(page()->is_owner);
}

// V3: a call that has not gone before the copy that is sent is none.
static void a_call_goes_before_the_next_copy(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    world.n_sent = 0;
    readers_call_back(world.engine, PAGE, 0, RECALL_WRITES);
    get_refresh(2, 0); // it asks itself, and 0 is called
    recall_send(world.engine);
    assert_false(is_sent(MESSAGE_recall, 2));
    assert_true(is_sent(MESSAGE_recall, 0));
}

static void while_others_may_write_the_page_stays(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    get_refresh(0, 0);
    get_update(0, 0);
    assert_true(page()->is_owner); // A8
}

// V3
static void an_answer_is_of_the_copy_that_was_called(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    get_refresh(0, 0); // 2 is called
    get_fetch(2, PAGE, 0);
    get_pages(2, MESSAGE_recalled);
    assert_true(readers_have_others(world.engine, PAGE, 0));
}

// Copies may have stayed that nobody knows of.
static void versions_make_notices_whoever_has_copies(void **state)
{
    (void)state;
    get_migrating(10);
    write_page(PAGE);
    release();
    engine_order(world.engine, 0, 0, ORDER_GIVES);
    assert_true(is_sent(MESSAGE_notices, 0)); // A9
}

// ---- it goes on

static void what_was_written_goes_in_a_new_version(void **state)
{
    (void)state;
    get_migrating(10);
    write_page(PAGE);
    get_fetch(0, PAGE, 0);
    assert_true(has_gone_to(0));
    assert_int_equal(last_sent(0, MESSAGE_page)->message.u.page.version,
                     11); // A10
}

static void a_copy_stays_to_be_read(void **state)
{
    (void)state;
    get_migrating(10);
    write_page(PAGE);
    get_fetch(0, PAGE, 0);
    assert_int_equal(page()->state, PAGE_CLEAN);
    assert_int_equal(page()->access, ACCESS_READ);
    assert_int_equal(use_page(PAGE, 1), FAULT_WAIT); // A9
    assert_int_equal(page()->state, PAGE_ABSENT);
    assert_true(is_sent(MESSAGE_refresh, 0));
}

// The acknowledgement of its diff makes this node the owner.
static void get_handed(node_id from, uint64_t batch, uint32_t version)
{
    uint8_t body[WIRE_SIZE_ack_item + WIRE_SIZE_handed];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_ack_item(&writer, &(struct wire_ack_item){PAGE, ACK_HANDED});
    wire_put_handed(&writer, &(struct wire_handed){.version = version,
                                                   .epoch = 90,
                                                   .moves = MOVES_MIGRATES});
    get(from, &(struct message){.type = MESSAGE_update_ack,
                                .u.update_ack = {.batch = batch, .is_last = 1},
                                .body = body,
                                .body_size = sizeof body});
}

// Its copy was called back, to be read only, and is the last: so the page is its own.
static void who_has_got_the_page_by_its_diff_writes_on(void **state)
{
    uint8_t body[WIRE_SIZE_page_number];
    struct wire_writer writer = {body, body + sizeof body, 0};

    (void)state;
    copy_page(PAGE, 10);
    write_page(PAGE);
    world.n_sent = 0;
    wire_put_page_number(&writer, &(struct wire_page_number){PAGE});
    get(2, &(struct message){.type = MESSAGE_recall,
                             .u.recall = {.to_read = 1, .count = 1},
                             .body = body,
                             .body_size = sizeof body});
    assert_int_equal(world.sent[0].message.type, MESSAGE_update);
    get_handed(2, world.sent[0].message.u.update.batch, 11);
    assert_int_equal(page()->is_owner, 1);
    assert_int_equal(use_page(PAGE, 1), FAULT_ALLOWED); // A9
    assert_int_equal(page()->access, ACCESS_WRITE);
}

// A node is called, gets the page again before it has heard of that, and is called again: its first
// answer says nothing of the copy that it has.
static void an_answer_speaks_of_its_own_call(void **state)
{
    (void)state;
    own_page(PAGE, 0);
    for (int call = 0; call < 2; call++) {
        readers_note_copy(world.engine, PAGE, 1);
        readers_call_back(world.engine, PAGE, NODE_NONE, RECALL_ALL);
        recall_send(world.engine);
    }
    readers_called_back(world.engine, PAGE, 1);
    assert_true(readers_have_copies(world.engine, PAGE));
    readers_called_back(world.engine, PAGE, 1);
    assert_false(readers_have_copies(world.engine, PAGE));
}

// It migrates only when they have answered.
static void who_is_called_is_told_at_once(void **state)
{
    (void)state;
    own();
    visit(0);
    visit(2);
    world.n_sent = 0;
    get_fetch(0, PAGE, 0);
    assert_true(is_sent(MESSAGE_recall, 2));
}

static void calls_that_have_not_gone_end_with_their_block(void **state)
{
    (void)state;
    own_page(PAGE, 0);
    readers_note_copy(world.engine, PAGE, 2);
    readers_call_back(world.engine, PAGE, NODE_NONE, RECALL_ALL);
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 1}});
    world.n_sent = 0;
    recall_send(world.engine);
    assert_int_equal(world.n_sent, 0);
}

// B1 of blocks.c: the call might come to the next block that has the page.
static void copies_of_a_closed_block_are_not_called(void **state)
{
    (void)state;
    own_page(PAGE, 0);
    readers_note_copy(world.engine, PAGE, 2);
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 1}});
    world.n_sent = 0;
    readers_call_back(world.engine, PAGE, NODE_NONE, RECALL_ALL);
    recall_send(world.engine);
    assert_int_equal(world.n_sent, 0);
}

static void what_is_called_is_written_no_more(void **state)
{
    (void)state;
    copy_page(PAGE, 10);
    write_page(PAGE);
    world.n_sent = 0;
    get(2, &(struct message){.type = MESSAGE_recall,
                             .u.recall = {.to_read = 1, .count = 0}});
    assert_true(is_sent(MESSAGE_recalled, 2));
    world.n_sent = 0;
    get_pages(2, MESSAGE_recall);
    assert_int_equal(world.sent[0].message.type, MESSAGE_update); // V2
    assert_int_equal(world.sent[1].message.type, MESSAGE_recalled);
    assert_int_equal(page()->state, PAGE_ABSENT);
}

static void what_was_not_written_stays(void **state)
{
    (void)state;
    get_migrating(10);
    get_fetch(0, PAGE, 0);
    assert_false(has_gone_to(0));
    assert_true(page()->is_owner);
    assert_false(migration_is_on(world.engine, PAGE));
}

static void what_its_owner_has_under_way_keeps_it(void **state)
{
    (void)state;
    get_migrating(10);
    write_page(PAGE);
    page_of(world.engine, PAGE)->in_flight = 1;
    get_fetch(0, PAGE, 0);
    assert_false(has_gone_to(0)); // A8
    page_of(world.engine, PAGE)->in_flight = 0;
}

static struct wire_refreshed_copy refreshed_to(node_id node)
{
    struct wire_reader reader =
        wire_read_body(&last_sent(node, MESSAGE_refreshed)->message);

    return wire_get_refreshed_copy(&reader);
}

// What has changed, and what is known of that.
static void who_has_had_it_gets_what_has_changed(void **state)
{
    struct wire_refreshed_copy copy;
    struct wire_reader reader;

    (void)state;
    get_migrating(10);
    write_page(PAGE); // the first line
    get_refresh(0, 10);
    copy = refreshed_to(0);
    assert_int_equal(copy.flags, PAGE_WITH_OWNERSHIP);
    assert_int_equal(copy.version, 11);
    assert_int_equal(diff_count(copy.diff.at, copy.diff.size), LINE);
    reader = wire_read(copy.lines.at, copy.lines.size);
    assert_int_equal(wire_get_changed_lines(&reader).version, 11);
    assert_int_equal(wire_get_changed_lines(&reader).version, 10);
}

// Y4: it comes back, and the next one, who has an older copy, is sent two lines.
static void what_is_known_goes_along(void **state)
{
    const uint8_t byte = 7;
    uint8_t diff[DIFF_MAX];
    uint8_t body[128];
    uint8_t lines[2 * WIRE_SIZE_changed_lines];
    struct wire_writer known = {lines, lines + sizeof lines, 0};
    struct wire_writer writer = {body, body + sizeof body, 0};

    (void)state;
    get_migrating(10);
    write_page(PAGE);
    get_fetch(0, PAGE, 0);
    get_notice(12);
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    (void)last_sent(2, MESSAGE_refresh); // who owned it, as the notice has said
    wire_put_changed_lines(&known, &(struct wire_changed_lines){127, 9});
    wire_put_changed_lines(&known, &(struct wire_changed_lines){1, 12});
    wire_put_refreshed_copy(
        &writer,
        &(struct wire_refreshed_copy){
            .page = PAGE,
            .version = 12,
            .epoch = 91,
            .flags = PAGE_WITH_OWNERSHIP,
            .diff = {diff, (uint16_t)diff_of_range(&byte, 4095, 1, diff)},
            .lines = {lines, sizeof lines},
        });
    get(2, &(struct message){.type = MESSAGE_refreshed,
                             .body = body,
                             .body_size = (uint32_t)(writer.at - body)});
    (void)engine_resumed(world.engine, PAGE, NULL);
    assert_true(page()->is_owner);
    write_page(PAGE);
    get_refresh(0, 11);
    assert_int_equal(
        diff_count(refreshed_to(0).diff.at, refreshed_to(0).diff.size),
        2 * LINE);
}

// ---- one node writes on

static void copies_that_nobody_asks_for_are_called(void **state)
{
    (void)state;
    own();
    get_fetch(0, PAGE, 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_false(is_sent(MESSAGE_recall, 0));
        write_page(PAGE);
        release();
        if (page()->state == PAGE_EXCLUSIVE) { // as if it had been seen
            update_wrote(world.engine, PAGE, NULL, 0);
        }
    }
    release();
    get_refresh(2, 0);
    assert_true(is_sent(MESSAGE_recall, 0));
    get_pages(0, MESSAGE_recalled);
    assert_false(readers_have_others(world.engine, PAGE, 2));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_adaptive, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_reads_and_writes_in_turn_is_found_out),
        TEST(who_only_reads_is_no_such_thing),
        TEST(who_writes_again_is_no_such_thing),
        TEST(what_two_nodes_write_in_turn_is_no_such_thing),
        TEST(other_copies_are_called_and_the_last_one_gets_the_page),
        TEST(its_owner_gives_up_to_write_as_others_do),
        TEST(who_is_called_does_not_get_the_page_by_its_diff),
        TEST(a_call_goes_before_the_next_copy),
        TEST(while_others_may_write_the_page_stays),
        TEST(an_answer_is_of_the_copy_that_was_called),
        TEST(versions_make_notices_whoever_has_copies),
        TEST(what_was_written_goes_in_a_new_version),
        TEST(a_copy_stays_to_be_read),
        TEST(who_has_got_the_page_by_its_diff_writes_on),
        TEST(an_answer_speaks_of_its_own_call),
        TEST(who_is_called_is_told_at_once),
        TEST(calls_that_have_not_gone_end_with_their_block),
        TEST(copies_of_a_closed_block_are_not_called),
        TEST(what_is_called_is_written_no_more),
        TEST(what_was_not_written_stays),
        TEST(what_its_owner_has_under_way_keeps_it),
        TEST(who_has_had_it_gets_what_has_changed),
        TEST(what_is_known_goes_along),
        TEST(copies_that_nobody_asks_for_are_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

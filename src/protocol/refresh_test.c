// SPDX-License-Identifier: BSD-3-Clause
//
// Stale copies: what a node asks for, what an owner answers, message by message. The test
// plays the other two nodes.
#include "protocol/one_node_test.h"

#include "mem/diff.h"
#include "protocol/readers.h"

enum {
    OURS = SPACE_BLOCK,       // pages whose directory node is this one
    THEIRS = 2 * SPACE_BLOCK, // or is 2
    LINE = 32,                // bytes
    RUN = 5,                  // bytes of a diff before those of its run
};

static int open_lazy(void **state)
{
    (void)state;
    open_node(TM_LAZY_RELEASE, TM_SHARING_DEFAULT);
    return 0;
}

// ---- what others send

// A page of twos, of version 10.
static void get_copy(page_no page, uint8_t flags)
{
    uint8_t bytes[TM_PAGE_SIZE];

    memset(bytes, 2, sizeof bytes);
    get(2, &(struct message){.type = MESSAGE_page,
                             .u.page = {.page = page,
                                        .version = 10,
                                        .epoch = 3,
                                        .flags = flags | PAGE_WITH_CONTENTS},
                             .body = bytes,
                             .body_size = sizeof bytes});
}

static void get_notice(page_no page, uint32_t version)
{
    uint8_t body[WIRE_SIZE_notice_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_notice_entry(
        &writer, &(struct wire_notice_entry){
                     .page = page, .version = version, .serial = SERIAL});
    get(0, &(struct message){.type = MESSAGE_notices,
                             .u.notices.count = 1,
                             .body = body,
                             .body_size = sizeof body});
}

// Bytes that another node has written.
static void get_update(node_id from, page_no page, size_t offset,
                       const void *bytes, size_t length)
{
    uint8_t diff[DIFF_MAX];
    uint8_t body[DIFF_MAX + 64];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_update_item(
        &writer, &(struct wire_update_item){
                     .page = page,
                     .kind = ITEM_TO_OWNER,
                     .diff = {diff, (uint16_t)diff_of_range(bytes, offset,
                                                            length, diff)},
                 });
    get(from, &(struct message){.type = MESSAGE_update,
                                .u.update = {.batch = 1, .origin = from},
                                .body = body,
                                .body_size = (uint32_t)(writer.at - body)});
}

static void get_refresh(node_id from, page_no page, uint32_t version)
{
    uint8_t body[WIRE_SIZE_stale_copy];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_stale_copy(&writer, &(struct wire_stale_copy){page, version});
    get(from, &(struct message){.type = MESSAGE_refresh,
                                .u.refresh.id = 1,
                                .body = body,
                                .body_size = sizeof body});
}

static void get_refreshed(page_no page, uint32_t version, size_t offset,
                          const void *bytes, size_t length)
{
    uint8_t diff[DIFF_MAX];
    uint8_t body[DIFF_MAX + 64];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_refreshed_copy(
        &writer, &(struct wire_refreshed_copy){
                     .page = page,
                     .version = version,
                     .epoch = 3,
                     .diff = {diff, (uint16_t)diff_of_range(bytes, offset,
                                                            length, diff)},
                 });
    get(2, &(struct message){.type = MESSAGE_refreshed,
                             .u.refreshed.id = world.engine->last_fetch,
                             .body = body,
                             .body_size = (uint32_t)(writer.at - body)});
}

static void get_push(page_no page, uint32_t version)
{
    const uint8_t byte = (uint8_t)version;
    uint8_t diff[DIFF_MAX];
    uint8_t body[64];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_update_item(
        &writer,
        &(struct wire_update_item){
            .page = page,
            .version = version,
            .epoch = 3,
            .kind = ITEM_PUSH,
            .diff = {diff, (uint16_t)diff_of_range(&byte, 64, 1, diff)},
        });
    world.n_sent = 0;
    get(2, &(struct message){.type = MESSAGE_update,
                             .u.update = {.batch = 1, .origin = 0},
                             .body = body,
                             .body_size = (uint32_t)(writer.at - body)});
}

// ---- what this node does

// A page of this node, that it has written; nobody has a copy.
static void own(page_no page)
{
    (void)use_page(page, 1);
    get(SELF, &world.sent[0].message); // the request, at its directory node
    get(SELF, &world.sent[1].message); // the grant
    world.n_sent = 0;
}

static void write_byte(page_no page, size_t offset, uint8_t value)
{
    (void)use_page(page, 1);
    space_bytes_to_change(&world.space, page)[offset] = (char)value;
}

static void release(void)
{
    engine_release(world.engine, NODE_NONE, &world.waiter);
}

// Two copies here that notices have made stale.
static void make_two_stale(void)
{
    for (page_no page = THEIRS; page < THEIRS + 2; page++) {
        (void)use_page(page, 0);
        get_copy(page, 0);
        get_notice(page, 12);
    }
    world.n_sent = 0;
}

static struct wire_refreshed_copy answer_to(node_id node)
{
    const struct sent *sent = last_sent(node, MESSAGE_refreshed);
    struct wire_reader reader = wire_read_body(&sent->message);
    const struct wire_refreshed_copy copy = wire_get_refreshed_copy(&reader);

    assert_false(wire_has_more(&reader));
    return copy;
}

// ---- asking

static void stale_copies_are_asked_for_together(void **state)
{
    const struct sent *sent;
    struct wire_reader reader;

    (void)state;
    make_two_stale();
    assert_int_equal(use_page(THEIRS, 0), FAULT_WAIT);
    assert_int_equal(world.n_sent, 1);
    sent = last_sent(2, MESSAGE_refresh);
    reader = wire_read_body(&sent->message);
    for (page_no page = THEIRS; page < THEIRS + 2; page++) {
        const struct wire_stale_copy copy = wire_get_stale_copy(&reader);

        assert_int_equal(copy.page, page);
        assert_int_equal(copy.version, 10);
    }
    assert_false(wire_has_more(&reader));
}

static void what_has_changed_is_put_into_the_bytes_that_were_kept(void **state)
{
    const uint8_t five = 5;
    const char *bytes;

    (void)state;
    make_two_stale();
    (void)use_page(THEIRS, 0);
    get_refreshed(THEIRS, 12, 100, &five, 1);
    assert_int_equal(use_page(THEIRS, 0), FAULT_ALLOWED);
    bytes = space_bytes(&world.space, THEIRS);
    assert_int_equal(bytes[99], 2);
    assert_int_equal(bytes[100], 5);
    assert_int_equal(bytes[101], 2);
}

static void an_answer_that_is_too_old_is_asked_for_from_there(void **state)
{
    const uint8_t five = 5;
    const struct sent *sent;
    struct wire_reader reader;

    (void)state;
    make_two_stale();
    (void)use_page(THEIRS, 0);
    get_notice(THEIRS, 14);
    get_refreshed(THEIRS, 12, 100, &five, 1);
    sent = last_sent(2, MESSAGE_refresh);
    reader = wire_read_body(&sent->message);
    assert_int_equal(wire_get_stale_copy(&reader).version, 12);
}

// It was left unmapped; that it became stale so says that it was of no use.
static void what_is_not_used_is_not_asked_for_ahead(void **state)
{
    const uint8_t five = 5;
    struct wire_reader reader;

    (void)state;
    make_two_stale();
    (void)use_page(THEIRS, 0);
    get_refreshed(THEIRS, 12, 100, &five, 1);
    get_refreshed(THEIRS + 1, 12, 100, &five, 1);
    get_notice(THEIRS, 13);
    get_notice(THEIRS + 1, 13);
    (void)use_page(THEIRS, 0);
    reader = wire_read_body(&last_sent(2, MESSAGE_refresh)->message);
    assert_int_equal(wire_get_stale_copy(&reader).page, THEIRS);
    assert_false(wire_has_more(&reader));
}

static void get_will_not_come(page_no page, uint32_t id)
{
    uint8_t body[WIRE_SIZE_refreshed_copy + 8];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_refreshed_copy(
        &writer, &(struct wire_refreshed_copy){.page = page,
                                               .flags = PAGE_WILL_NOT_COME});
    get(2, &(struct message){.type = MESSAGE_refreshed,
                             .u.refreshed.id = id,
                             .body = body,
                             .body_size = (uint32_t)(writer.at - body)});
}

static void expect_asked_for_alone(page_no page, uint32_t version)
{
    struct wire_reader reader =
        wire_read_body(&last_sent(2, MESSAGE_refresh)->message);
    const struct wire_stale_copy copy = wire_get_stale_copy(&reader);

    assert_int_equal(copy.page, page);
    assert_int_equal(copy.version, version);
    assert_false(wire_has_more(&reader));
}

static void what_will_not_come_ahead_is_asked_for_by_who_needs_it(void **state)
{
    (void)state;
    make_two_stale();
    (void)use_page(THEIRS, 0);
    assert_int_equal(use_page(THEIRS + 1, 0), FAULT_WAIT); // it is on its way
    get_will_not_come(THEIRS + 1, world.engine->last_fetch);
    expect_asked_for_alone(THEIRS + 1, 10);
}

static void what_will_not_come_and_is_not_needed_stays(void **state)
{
    const uint8_t byte = 5;

    (void)state;
    make_two_stale();
    (void)use_page(THEIRS, 0);
    world.n_sent = 0;
    get_will_not_come(THEIRS + 1, world.engine->last_fetch - 1);
    assert_true(page_of(world.engine, THEIRS + 1)->fetching); // of another one
    get_will_not_come(THEIRS + 1, world.engine->last_fetch);
    assert_false(page_of(world.engine, THEIRS + 1)->fetching);
    assert_int_equal(world.n_sent, 0);
    get_refreshed(THEIRS, 12, 100, &byte, 1);
    get_notice(THEIRS, 13);
    (void)use_page(THEIRS, 0);
    expect_asked_for_alone(THEIRS, 12);
    (void)use_page(THEIRS + 1, 0);
    expect_asked_for_alone(THEIRS + 1, 10);
}

static void nothing_is_kept_when_memory_is_short(void **state)
{
    (void)state;
    world.engine->is_short = 1;
    make_two_stale();
    (void)use_page(THEIRS, 0);
    (void)last_sent(2, MESSAGE_fetch);
}

// ---- answering

static uint32_t version_of(page_no page)
{
    return page_of(world.engine, page)->version;
}

// Node 0 has a copy of our page. @return its version
static uint32_t give_copy(void)
{
    own(OURS);
    page_of(world.engine, OURS)->moves = 1; // it has moved before
    get_fetch(0, OURS, 0);
    return last_sent(0, MESSAGE_page)->message.u.page.version;
}

static void expect_lines(uint32_t since, const size_t *lines, unsigned n)
{
    struct wire_refreshed_copy copy;
    const uint8_t *at;

    get_refresh(0, OURS, since);
    copy = answer_to(0);
    assert_int_equal(copy.version, version_of(OURS));
    assert_int_equal(copy.diff.size, n == 0 ? 0 : 1 + n * (4 + LINE));
    at = n == 0 ? NULL : (const uint8_t *)copy.diff.at + 1;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(at[0] | at[1] << 8, lines[i] * LINE);
        at += 4 + LINE;
    }
}

static void expect_all(uint32_t since)
{
    get_refresh(0, OURS, since);
    assert_int_equal(answer_to(0).diff.size, RUN + TM_PAGE_SIZE);
}

static void lines_that_have_changed_are_sent(void **state)
{
    const uint8_t bytes[2] = {7, 8};
    const size_t lines[] = {3, 6};
    uint32_t first;

    (void)state;
    first = give_copy();
    expect_lines(first, lines, 0);
    get_update(2, OURS, 3 * LINE + 10, bytes, 2);
    expect_lines(first, lines, 1);
    write_byte(OURS, 6 * LINE + 31, 9);
    release();
    assert_int_equal(version_of(OURS), first + 2);
    expect_lines(first + 1, lines + 1, 1);
    expect_lines(first, lines, 2);
}

static void of_what_was_before_the_first_copy_all_is_sent(void **state)
{
    (void)state;
    expect_all(give_copy() - 1);
}

static void what_is_not_released_is_not_sent(void **state)
{
    const size_t lines[] = {3};
    const uint8_t bytes[1] = {7};
    uint32_t first;

    (void)state;
    first = give_copy();
    get_update(2, OURS, 3 * LINE, bytes, 1);
    write_byte(OURS, 3 * LINE + 1, 9);
    expect_lines(first, lines, 1);
    assert_int_equal(((const uint8_t *)answer_to(0).diff.at)[RUN + 1], 0);
}

static void an_owner_that_nobody_asks_writes_without_a_twin(void **state)
{
    uint32_t first;

    (void)state;
    first = give_copy();
    for (uint8_t i = 1; i < 9; i++) {
        write_byte(OURS, 0, i);
        release();
    }
    assert_null(page_of(world.engine, OURS)->twin);
    assert_int_equal(page_of(world.engine, OURS)->state, PAGE_EXCLUSIVE);
    expect_all(first);
}

// Two nodes must not have different bytes of one version.
static void what_is_not_released_is_given_in_a_version_of_its_own(void **state)
{
    uint32_t first;

    (void)state;
    world.engine->is_short = 1; // there is no twin
    first = give_copy();
    write_byte(OURS, 0, 1);
    get_fetch(2, OURS, 0);
    assert_int_equal(last_sent(2, MESSAGE_page)->message.u.page.version,
                     first + 1);
}

// A record of a time before others had the page says nothing of what they have written.
static void a_record_ends_with_the_ownership(void **state)
{
    const uint8_t bytes[1] = {7};
    uint32_t first;

    (void)state;
    first = give_copy();
    get_update(2, OURS, 0, bytes, 1);
    page_of(world.engine, OURS)->epoch++;
    expect_all(first);
}

// A page that is needed, and one that is asked for ahead; this node owns neither any more.
static void what_is_elsewhere_is_passed_on_if_it_is_needed(void **state)
{
    uint8_t body[2 * WIRE_SIZE_stale_copy];
    struct wire_writer writer = {body, body + sizeof body, 0};
    const struct message *fetch;

    (void)state;
    for (page_no page = OURS; page < OURS + 2; page++) {
        world.n_sent = 0;
        own(page);
        page_of(world.engine, page)->moves = 0;
        get_fetch(0, page, 1); // and has it
        assert_false(page_of(world.engine, page)->is_owner);
        wire_put_stale_copy(&writer, &(struct wire_stale_copy){page, 1});
    }
    world.n_sent = 0;
    get(2, &(struct message){.type = MESSAGE_refresh,
                             .u.refresh = {.write = 1, .id = 7},
                             .body = body,
                             .body_size = sizeof body});
    assert_int_equal(world.n_sent, 2);
    assert_int_equal(world.sent[0].to, 0);
    fetch = &world.sent[0].message;
    assert_int_equal(fetch->type, MESSAGE_fetch);
    assert_int_equal(fetch->u.fetch.page, OURS);
    assert_int_equal(fetch->u.fetch.count, 1);
    assert_int_equal(fetch->u.fetch.requester, 2);
    assert_int_equal(fetch->u.fetch.id, 7);
    assert_true(fetch->u.fetch.write);
    assert_false(fetch->u.fetch.has_copy);
    assert_int_equal(answer_to(2).page, OURS + 1);
    assert_int_equal(answer_to(2).flags, PAGE_WILL_NOT_COME);
}

// ---- subscriptions that end

static void expect_refresh_from(uint32_t version)
{
    struct wire_reader reader;

    assert_int_equal(use_page(THEIRS, 0), FAULT_WAIT);
    reader = wire_read_body(&last_sent(2, MESSAGE_refresh)->message);
    assert_int_equal(wire_get_stale_copy(&reader).version, version);
}

// Pushes come, three between two acquires, until this node wants no more. @return the
// version of the last
static uint32_t push_too_much(void)
{
    uint32_t version = 10;

    (void)use_page(THEIRS, 0);
    get_copy(THEIRS, PAGE_SUBSCRIBED);
    write_byte(THEIRS, 0, 1); // it is in use
    do {
        if (version % 3 == 0) {
            engine_acquired(world.engine);
        }
        assert_true(version < 40);
        get_push(THEIRS, ++version);
    } while (world.n_sent == 1);
    return version;
}

static void who_is_pushed_more_than_it_can_read_says_so(void **state)
{
    struct wire_reader reader;

    (void)state;
    (void)push_too_much();
    assert_int_equal(world.sent[0].message.type, MESSAGE_update_ack);
    reader = wire_read_body(&world.sent[0].message);
    assert_int_equal(wire_get_ack_item(&reader).what, ACK_LEFT);
    assert_int_equal(world.sent[0].message.u.update_ack.is_last, 0);
}

static void one_push_between_two_acquires_is_not_too_much(void **state)
{
    (void)state;
    (void)use_page(THEIRS, 0);
    get_copy(THEIRS, PAGE_SUBSCRIBED);
    write_byte(THEIRS, 0, 1);
    for (uint32_t version = 11; version < 60; version++) {
        engine_acquired(world.engine);
        get_push(THEIRS, version);
        assert_int_equal(world.n_sent, 1);
    }
}

static void a_copy_is_of_the_version_with_which_pushes_end(void **state)
{
    uint32_t version;

    (void)state;
    version = push_too_much();
    get_push(THEIRS, ++version); // its owner has not heard yet
    assert_int_equal(use_page(THEIRS, 0), FAULT_ALLOWED);
    get_notice(THEIRS, version + 1);
    expect_refresh_from(version);
}

// As long as it was pushed to, notices said nothing.
static void what_was_heard_of_before_pushes_end_counts_then(void **state)
{
    uint32_t version;

    (void)state;
    get_notice(THEIRS, 39);
    version = push_too_much();
    expect_refresh_from(version);
}

static void who_wants_no_pushes_is_told_by_notices(void **state)
{
    const uint8_t byte = 1;
    uint8_t body[WIRE_SIZE_ack_item];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message ack = {
        .type = MESSAGE_update_ack, .body = body, .body_size = sizeof body};

    (void)state;
    expect_lines(give_copy(), NULL, 0); // it asks again: subscribed
    get_update(2, OURS, 0, &byte, 1);
    ack.u.update_ack.batch =
        last_sent(0, MESSAGE_update)->message.u.update.batch;
    wire_put_ack_item(&writer, &(struct wire_ack_item){OURS, ACK_LEFT});
    get(0, &ack);
    assert_null(page_of(world.engine, OURS)->copyset);
    assert_true(readers_have_copies(world.engine, OURS)); // A1
}

#define TEST_ADAPTIVE(name)                                                    \
    cmocka_unit_test_setup_teardown(name, open_adaptive, close_node)
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_lazy, close_node),              \
        TEST_ADAPTIVE(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stale_copies_are_asked_for_together),
        TEST(what_has_changed_is_put_into_the_bytes_that_were_kept),
        TEST(an_answer_that_is_too_old_is_asked_for_from_there),
        TEST(what_is_not_used_is_not_asked_for_ahead),
        TEST(what_will_not_come_ahead_is_asked_for_by_who_needs_it),
        TEST(what_will_not_come_and_is_not_needed_stays),
        TEST(what_is_elsewhere_is_passed_on_if_it_is_needed),
        TEST(nothing_is_kept_when_memory_is_short),
        TEST(lines_that_have_changed_are_sent),
        TEST(of_what_was_before_the_first_copy_all_is_sent),
        TEST(what_is_not_released_is_not_sent),
        TEST(an_owner_that_nobody_asks_writes_without_a_twin),
        TEST(what_is_not_released_is_given_in_a_version_of_its_own),
        TEST(a_record_ends_with_the_ownership),
        TEST_ADAPTIVE(who_is_pushed_more_than_it_can_read_says_so),
        TEST_ADAPTIVE(one_push_between_two_acquires_is_not_too_much),
        TEST_ADAPTIVE(a_copy_is_of_the_version_with_which_pushes_end),
        TEST_ADAPTIVE(what_was_heard_of_before_pushes_end_counts_then),
        TEST_ADAPTIVE(who_wants_no_pushes_is_told_by_notices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

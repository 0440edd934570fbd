// SPDX-License-Identifier: BSD-3-Clause
// homeless.c: an owner that is no home, and a writer that lets its diffs go, message by message.
#include "protocol/one_node_test.h"

#include "mem/diff.h"
#include "protocol/kept.h"
#include "protocol/kept_answer.h"
#include "protocol/kept_bound.h"
#include "protocol/notices.h"

enum { PAGE = 3, STAMP = 50 };

static int open_homeless(void **state)
{
    (void)state;
    open_node(TM_HOMELESS, TM_SHARING_DEFAULT);
    return 0;
}

// This node owns the page, and has given node 2 a copy.
static void share_page(void)
{
    own_page(PAGE, 1);
    get_fetch(2, PAGE, 0);
    (void)last_sent(2, MESSAGE_copy);
}

static void get_part_of_notices(node_id from, node_id writer, uint64_t stamp,
                                int more)
{
    uint8_t body[WIRE_SIZE_notice_entry];
    struct wire_writer writes = {body, body + sizeof body, 0};

    wire_put_notice_entry(
        &writes, &(struct wire_notice_entry){
                     PAGE, (uint32_t)stamp, SERIAL,
                     (uint16_t)(NOTICE_OF_WRITER | (unsigned)(writer + 1)),
                     (uint32_t)(stamp >> 32)});
    get(from,
        &(struct message){.type = MESSAGE_notices,
                          .u.notices = {.more = (uint8_t)more, .count = 1},
                          .body = body,
                          .body_size = sizeof body});
}

static void get_notice(node_id from, node_id writer, uint64_t stamp)
{
    get_part_of_notices(from, writer, stamp, 0);
}

// A diff that sets eight bytes.
static void get_diff(node_id from, uint64_t stamp, unsigned offset,
                     uint64_t word)
{
    uint8_t diff[DIFF_MAX];
    uint8_t body[WIRE_SIZE_kept_diff + DIFF_MAX];
    struct wire_writer writes = {body, body + sizeof body, 0};
    const size_t size = diff_of_range(&word, offset, sizeof word, diff);

    wire_put_kept_diff(
        &writes, &(struct wire_kept_diff){from, stamp, {diff, (uint16_t)size}});
    get(from, &(struct message){.type = MESSAGE_diffs,
                                .u.diffs = {.page = PAGE, .what = DIFFS_LAST},
                                .body = body,
                                .body_size = (uint32_t)(writes.at - body)});
}

static struct wire_kept_wanted wanted_of(const struct sent *sent)
{
    struct wire_reader reader = wire_read_body(&sent->message);

    return wire_get_kept_wanted(&reader);
}

static void an_owner_asks_writers_as_others_do(void **state)
{
    struct wire_kept_wanted wanted;

    (void)state;
    share_page();
    world.n_woken = 0;
    assert_int_equal(use_page(PAGE, 0), FAULT_ALLOWED);
    get_notice(0, 2, STAMP);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_NONE); // Z13
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    wanted = wanted_of(last_sent(2, MESSAGE_diffs_ask));
    assert_int_equal(wanted.writer, 2);
    assert_int_equal(wanted.since, 0);
    assert_int_equal(wanted.until, STAMP);
    get_diff(2, STAMP, 16, 77);
    assert_int_equal(world.n_woken, 1);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_READ);
    assert_int_equal(*(const uint64_t *)(space_bytes(&world.space, PAGE) + 16),
                     77);
}

// Z18: it is performed on what the diff has made.
static void an_atomic_operation_waits_for_what_is_missing(void **state)
{
    (void)state;
    share_page();
    get_notice(2, 2, STAMP);
    get(2, &(struct message){.type = MESSAGE_atomic,
                             .u.atomic = {.page = PAGE,
                                          .offset = 16,
                                          .size = 8,
                                          .op = ATOMIC_ADD,
                                          .operand = 1,
                                          .requester = 2,
                                          .token = 9}});
    (void)last_sent(2, MESSAGE_diffs_ask);
    get_diff(2, STAMP, 16, 77);
    assert_int_equal(
        last_sent(2, MESSAGE_atomic_done)->message.u.atomic_done.before, 77);
    assert_int_equal(*(const uint64_t *)(space_bytes(&world.space, PAGE) + 16),
                     78);
}

// Z12, Z11: whichever comes first, the one with the higher stamp counts; and only when both have
// come is either seen.
static void diffs_of_several_are_applied_together_by_stamp(void **state)
{
    (void)state;
    share_page();
    get_notice(2, 2, STAMP);
    get_notice(2, 0, STAMP - 20);
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    (void)last_sent(2, MESSAGE_diffs_ask); // the last writer, of both
    get_diff(2, STAMP, 16, 77);
    (void)last_sent(0, MESSAGE_diffs_ask);
    assert_int_equal(*(const uint64_t *)(space_bytes(&world.space, PAGE) + 16),
                     0);
    get_diff(0, STAMP - 20, 16, 33);
    assert_int_equal(*(const uint64_t *)(space_bytes(&world.space, PAGE) + 16),
                     77);
}

// Z15: what an owner has dropped is nowhere else, so who asks is to take its page.
static void dropped_diffs_are_told(void **state)
{
    uint8_t body[WIRE_SIZE_kept_wanted];
    struct wire_writer writes = {body, body + sizeof body, 0};
    struct wire_reader reader;
    struct kept_page *record;

    (void)state;
    share_page();
    record = kept_of(world.engine, PAGE);
    kept_add(record, SELF, 5, "abc", 3);
    kept_add(record, SELF, 7, "abc", 3);
    kept_drop(record, 5);
    wire_put_kept_wanted(&writes, &(struct wire_kept_wanted){SELF, 4, 7});
    get(2, &(struct message){.type = MESSAGE_diffs_ask,
                             .u.diffs_ask = {.page = PAGE, .count = 1},
                             .body = body,
                             .body_size = sizeof body});
    assert_int_equal(last_sent(2, MESSAGE_diffs)->message.u.diffs.what,
                     DIFFS_DROPPED);
    reader = wire_read_body(&last_sent(2, MESSAGE_diffs)->message);
    assert_int_equal(wire_get_kept_diff(&reader).stamp, 5);
}

// Z11: of another's diffs those are passed on that follow what who asks has.
static void others_diffs_are_passed_on_without_gaps(void **state)
{
    struct kept_page *record;

    (void)state;
    share_page();
    record = kept_of(world.engine, PAGE);
    kept_set(record, 0, 8);
    kept_come(record, 0, 12, "abc", 3);
    kept_pass_on(record, record->come, TM_PAGE_SIZE);
    record->come = NULL;
    assert_null(kept_next(record, 0, 7)); // what came between is not kept here
    assert_int_equal(kept_next(record, 0, 8)->stamp, 12);
    assert_null(kept_next(record, 0, 12));
    assert_null(kept_next(record, 2, 8));
}

// A writer that has dropped its diffs, or has nothing to add, sends its stamp alone.
static void a_diff_may_be_empty(void **state)
{
    struct kept_page *record;

    (void)state;
    share_page();
    record = kept_of(world.engine, PAGE);
    kept_come(record, 0, 12, NULL, 0);
    assert_int_equal(record->come->size, 0);
    assert_int_equal(record->come->stamp, 12);
    free(record->come);
    record->come = NULL;
}

// Z13: what has come ahead is mapped with its neighbours, and no more when a notice has named it.
static void what_is_old_is_not_mapped_with_others(void **state)
{
    (void)state;
    share_page();
    engine_map(world.engine, PAGE);
    get_notice(2, 2, STAMP);
    engine_finish_batch(world.engine);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_NONE);
}

// Z11: no more than is asked for, though there is more.
static void writers_send_what_is_asked_for(void **state)
{
    uint8_t body[WIRE_SIZE_kept_wanted];
    struct wire_writer writes = {body, body + sizeof body, 0};
    struct wire_reader reader;
    struct kept_page *record;

    (void)state;
    share_page();
    record = kept_of(world.engine, PAGE);
    kept_add(record, SELF, 5, "abc", 3);
    kept_add(record, SELF, 7, "abc", 3);
    wire_put_kept_wanted(&writes, &(struct wire_kept_wanted){SELF, 0, 5});
    get(2, &(struct message){.type = MESSAGE_diffs_ask,
                             .u.diffs_ask = {.page = PAGE, .count = 1},
                             .body = body,
                             .body_size = sizeof body});
    reader = wire_read_body(&last_sent(2, MESSAGE_diffs)->message);
    assert_int_equal(wire_get_kept_diff(&reader).stamp, 5);
    assert_false(wire_has_more(&reader));
}

// A copy of another node's page comes here, and all of it is written.
static void fill_copy(void)
{
    static const uint8_t body[TM_PAGE_SIZE];

    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    get(2, &(struct message){.type = MESSAGE_copy,
                             .u.copy = {.page = PAGE, .epoch = 3},
                             .body = body,
                             .body_size = sizeof body});
    assert_int_equal(use_page(PAGE, 1), FAULT_ALLOWED);
    for (size_t i = 0; i < TM_PAGE_SIZE; i++) {
        space_bytes_to_change(&world.space, PAGE)[i] = 1;
    }
}

static int was_sent(enum message_type type)
{
    unsigned i = 0;

    while (i < world.n_sent && world.sent[i].message.type != type) {
        i++;
    }
    return i < world.n_sent;
}

static void close_block(void)
{
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 4}});
}

static void one_diff_of_a_whole_page_stays(void **state)
{
    (void)state;
    fill_copy();
    engine_release(world.engine, 0, &world.waiter);
    assert_true(kept_of(world.engine, PAGE)->n_bytes > TM_PAGE_SIZE);
    assert_false(was_sent(MESSAGE_home));
}

static void too_many_diffs_go_home(void **state)
{
    (void)state;
    fill_copy();
    kept_add(kept_of(world.engine, PAGE), SELF, 1,
             (const uint8_t[TM_PAGE_SIZE]){0}, TM_PAGE_SIZE);
    engine_release(world.engine, 0, &world.waiter);
    assert_true(was_sent(MESSAGE_home));
    close_block();
    assert_false(was_sent(MESSAGE_extent_ack)); // when it has the answer
}

// The node has acknowledged that the block is closed: nothing of it may be under way any more.
static void what_is_freed_is_not_kept(void **state)
{
    (void)state;
    fill_copy();
    kept_add(kept_of(world.engine, PAGE), SELF, 1,
             (const uint8_t[TM_PAGE_SIZE]){0}, TM_PAGE_SIZE);
    close_block();
    assert_true(was_sent(MESSAGE_extent_ack));
    engine_release(world.engine, 0, &world.waiter);
    assert_false(was_sent(MESSAGE_home));
    kept_let_all_go(world.engine);
    assert_false(was_sent(MESSAGE_home));
}

static void who_waits_for_an_owner_ends_with_the_block(void **state)
{
    (void)state;
    fill_copy();
    kept_of(world.engine, PAGE)->is_going_home = 1;
    world.engine->n_unfinished++;
    kept_forget(world.engine, extent_find(world.engine, PAGE));
    assert_int_equal(world.engine->n_unfinished, 0);
    assert_null(kept_find(world.engine, PAGE));
}

// N5: of what another node tells at once nothing is heard before all has come, but what a third one
// tells meanwhile.
static void what_is_told_at_once_is_heard_at_once(void **state)
{
    (void)state;
    share_page();
    assert_int_equal(use_page(PAGE, 0), FAULT_ALLOWED);
    get_part_of_notices(2, 2, STAMP, 1);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_READ);
    get_notice(0, 0, STAMP - 20);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_NONE);
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    assert_int_equal(wanted_of(last_sent(0, MESSAGE_diffs_ask)).until,
                     STAMP - 20);
    get_diff(0, STAMP - 20, 16, 33);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_READ);
    get_part_of_notices(2, 0, STAMP - 10, 0);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_NONE);
    assert_int_equal(notices_stamp(world.engine, PAGE, 2), STAMP);
}

static void notices_go_in_messages_that_belong_together(void **state)
{
    (void)state;
    share_page();
    world.engine->updates->notices_most = 2;
    for (page_no page = 0; page < 4; page++) {
        notices_note_writer(world.engine, page, STAMP);
    }
    world.n_sent = 0;
    notices_send(world.engine, 2, NO_MUTEX);
    assert_int_equal(world.n_sent, 2);
    assert_int_equal(world.sent[0].message.u.notices.more, 1);
    assert_int_equal(world.sent[1].message.u.notices.count, 2);
    assert_int_equal(world.sent[1].message.u.notices.more, 0);
}

// Z13, also when there have been more releases than 32 bits count.
static void use_with_stamp(uint64_t stamp)
{
    get_notice(2, 2, stamp);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_NONE);
    assert_int_equal(use_page(PAGE, 0), FAULT_WAIT);
    assert_int_equal(wanted_of(last_sent(2, MESSAGE_diffs_ask)).until, stamp);
    get_diff(2, stamp, 16, stamp);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_READ);
    assert_int_equal(*(const uint64_t *)(space_bytes(&world.space, PAGE) + 16),
                     stamp);
    assert_true(notices_next_stamp(world.engine) > stamp);
}

static void stamps_do_not_wrap(void **state)
{
    (void)state;
    share_page();
    assert_int_equal(use_page(PAGE, 0), FAULT_ALLOWED);
    use_with_stamp(INT32_MAX + UINT64_C(5));
    use_with_stamp(UINT32_MAX);
    use_with_stamp(UINT32_MAX + UINT64_C(5));
}

// N4: the block that its page was in is no more.
static void notices_of_freed_blocks_change_nothing(void **state)
{
    (void)state;
    share_page();
    assert_int_equal(use_page(PAGE, 0), FAULT_ALLOWED);
    extent_find(world.engine, PAGE)->serial = SERIAL + 1;
    get_notice(2, 2, STAMP);
    assert_int_equal(world.space.pages[PAGE].access, ACCESS_READ);
}

// That some are not kept any more goes with others, also when these fill the message.
static void that_diffs_are_dropped_is_told_behind_others(void **state)
{
    static const uint8_t diff[DIFF_MAX];
    uint8_t body[2 * WIRE_SIZE_kept_wanted];
    struct wire_writer writes = {body, body + sizeof body, 0};
    struct kept_page *record;

    (void)state;
    share_page();
    record = kept_of(world.engine, PAGE);
    for (unsigned stamp = 1; stamp <= 2; stamp++) {
        kept_come(record, 0, stamp, diff, DIFF_MAX);
        kept_pass_on(record, record->come, 2 * DIFF_MAX);
        record->come = NULL;
        kept_set(record, 0, stamp);
    }
    wire_put_kept_wanted(&writes, &(struct wire_kept_wanted){0, 0, 2});
    wire_put_kept_wanted(&writes, &(struct wire_kept_wanted){SELF, 0, 5});
    get(2, &(struct message){.type = MESSAGE_diffs_ask,
                             .u.diffs_ask = {.page = PAGE, .count = 2},
                             .body = body,
                             .body_size = sizeof body});
    assert_int_equal(last_sent(2, MESSAGE_diffs)->message.u.diffs.what,
                     DIFFS_DROPPED);
    assert_int_equal(last_sent(2, MESSAGE_diffs)->message.body_size,
                     WIRE_SIZE_kept_diff);
}

static void when_memory_is_short_nothing_is_kept(void **state)
{
    struct kept_page *record;

    (void)state;
    fill_copy();
    record = kept_of(world.engine, PAGE);
    kept_add(record, SELF, 1, "abc", 3);
    kept_come(record, 0, 12, "abc", 3);
    kept_pass_on(record, record->come, TM_PAGE_SIZE);
    record->come = NULL;
    release_early(world.engine);
    assert_false(was_sent(MESSAGE_home));
    world.engine->is_short = 1;
    release_early(world.engine);
    assert_int_equal(record->n_other_bytes, 0);
    assert_true(was_sent(MESSAGE_home));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_homeless, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_owner_asks_writers_as_others_do),
        TEST(an_atomic_operation_waits_for_what_is_missing),
        TEST(diffs_of_several_are_applied_together_by_stamp),
        TEST(dropped_diffs_are_told),
        TEST(others_diffs_are_passed_on_without_gaps),
        TEST(a_diff_may_be_empty),
        TEST(what_is_old_is_not_mapped_with_others),
        TEST(writers_send_what_is_asked_for),
        TEST(what_is_told_at_once_is_heard_at_once),
        TEST(notices_go_in_messages_that_belong_together),
        TEST(stamps_do_not_wrap),
        TEST(notices_of_freed_blocks_change_nothing),
        TEST(that_diffs_are_dropped_is_told_behind_others),
        TEST(one_diff_of_a_whole_page_stays),
        TEST(when_memory_is_short_nothing_is_kept),
        TEST(too_many_diffs_go_home),
        TEST(what_is_freed_is_not_kept),
        TEST(who_waits_for_an_owner_ends_with_the_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

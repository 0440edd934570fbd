// SPDX-License-Identifier: BSD-3-Clause
//
// One node's engine, message by message: the test plays all other nodes, and
// sees what is sent. For rules that whole programs meet too seldom.
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "mem/diff.h"
#include "mem/slabs.h"
#include "protocol/one_node_test.h"

enum { REMOTE = 2 * SPACE_BLOCK + 5 }; // a page whose directory node is 2

// ---- what others send

static void get_owner_is(node_id owner, page_no page, uint32_t epoch,
                         uint32_t serial)
{
    uint8_t body[16];
    struct wire_writer writer = {body, body + sizeof body, 0};

    wire_put_u64(&writer, page);
    wire_put_u32(&writer, epoch);
    wire_put_u32(&writer, serial);
    get(owner, &(struct message){.type = MESSAGE_owner_is,
                                 .u.owner_is = {.owner = owner},
                                 .body = body,
                                 .body_size = sizeof body});
}

// An update that sets byte 8 of a page.
static void get_update(node_id from, page_no page, unsigned kind,
                       uint32_t version, uint8_t value)
{
    uint8_t diff[DIFF_MAX];
    uint8_t body[64];
    struct wire_writer writer = {body, body + sizeof body, 0};
    size_t size = diff_of_range(&value, 8, 1, diff);

    wire_put_u64(&writer, page);
    wire_put_u32(&writer, version);
    wire_put_u32(&writer, 3);
    wire_put_u8(&writer, (uint8_t)kind);
    wire_put_u16(&writer, (uint16_t)size);
    wire_put_bytes(&writer, diff, size);
    assert_false(writer.failed);
    get(from, &(struct message){.type = MESSAGE_update,
                                .u.update = {.batch = 1, .origin = from},
                                .body = body,
                                .body_size = (uint32_t)(writer.at - body)});
}

// ---- what this node does

static void read_page(page_no page)
{
    assert_int_equal(use_page(page, 0), FAULT_WAIT);
}

static uint8_t byte_of(page_no page)
{
    return (uint8_t)space_bytes(&world.space, page)[8];
}

static const struct sent *sent_at(unsigned index, node_id to,
                                  enum message_type type)
{
    assert_true(index < world.n_sent);
    assert_int_equal(world.sent[index].message.type, type);
    assert_int_equal(world.sent[index].to, to);
    return &world.sent[index];
}

static void expect_fetch(unsigned index, node_id to, page_no page,
                         unsigned count)
{
    const struct sent *sent = sent_at(index, to, MESSAGE_fetch);

    assert_int_equal(sent->message.u.fetch.page, page);
    assert_int_equal(sent->message.u.fetch.count, count);
}

// ---- hints

static void only_a_newer_hint_replaces_a_hint(void **state)
{
    (void)state;
    get_owner_is(2, 3, 5, SERIAL);
    get_owner_is(0, 3, 4, SERIAL);
    get_fetch(0, 3, 0);
    expect_fetch(0, 2, 3, 1);
    get_owner_is(0, 3, 6, SERIAL);
    get_fetch(2, 3, 0);
    expect_fetch(1, 0, 3, 1);
}

static void owner_updates_of_another_life_are_ignored(void **state)
{
    (void)state;
    get_owner_is(2, 3, 5, SERIAL);
    get_owner_is(0, 3, 6, SERIAL - 1);
    get_fetch(0, 3, 0);
    expect_fetch(0, 2, 3, 1);
}

static void an_owner_takes_no_hint(void **state)
{
    (void)state;
    read_page(REMOTE);
    get_page(2, REMOTE, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 9);
    get_owner_is(0, REMOTE, 99, SERIAL);
    assert_true(engine_page_is_valid(world.engine, REMOTE)); // I2
}

// ---- groups

static void a_group_ends_with_its_block(void **state)
{
    (void)state;
    engine_fetch_ahead(world.engine, 3 * SPACE_BLOCK - 10, 40, 0);
    expect_fetch(0, 2, 3 * SPACE_BLOCK - 10, 10);
    expect_fetch(1, 0, 3 * SPACE_BLOCK, 30);
}

static void a_group_is_of_pages_that_are_asked_for_at_one_node(void **state)
{
    (void)state;
    get_owner_is(0, REMOTE + 4, 1, SERIAL);
    engine_fetch_ahead(world.engine, REMOTE, 10, 0);
    expect_fetch(0, 2, REMOTE, 4);
    expect_fetch(1, 0, REMOTE + 4, 6); // of the others nobody is known
}

static void a_group_leaves_out_what_is_here_and_what_is_coming(void **state)
{
    (void)state;
    read_page(REMOTE + 2);
    read_page(REMOTE + 6);
    get_page(2, REMOTE + 6, 1, PAGE_WITH_CONTENTS, 0);
    world.n_sent = 0;
    engine_fetch_ahead(world.engine, REMOTE, 9, 0);
    expect_fetch(0, 2, REMOTE, 2);
    expect_fetch(1, 2, REMOTE + 3, 3);
    expect_fetch(2, 2, REMOTE + 7, 2);
}

// ---- what is served

// A byte that is written and set back before the release is in no diff.
static void who_asks_for_a_page_gets_what_is_released(void **state)
{
    char *bytes;

    (void)state;
    read_page(REMOTE);
    get_page(2, REMOTE, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 9);
    get_fetch(0, REMOTE, 0); // it is shared from now on
    assert_int_equal(use_page(REMOTE, 1), FAULT_ALLOWED);
    bytes = space_bytes_to_change(&world.space, REMOTE);
    bytes[8] = 42;
    world.n_sent = 0;
    get_fetch(2, REMOTE, 0);
    assert_int_equal(sent_at(0, 2, MESSAGE_page)->body[8], 0);
}

static void a_second_copy_is_ignored(void **state)
{
    (void)state;
    read_page(REMOTE);
    get_page(2, REMOTE, 10, PAGE_WITH_CONTENTS, 0);
    get_update(2, REMOTE, ITEM_PUSH, 11, 2);
    get_page(2, REMOTE, 10, PAGE_WITH_CONTENTS, 0); // I4
    assert_int_equal(byte_of(REMOTE), 2);
}

// ---- pages that move

// This node owns pages of its own from then on.
static void own_pages(page_no first, unsigned n)
{
    for (page_no page = first; page < first + n; page++) {
        read_page(page);
        get_page(2, page, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 0);
    }
    world.n_sent = 0;
}

// @return what goes to node 2 if it reads the page
static uint8_t flags_served(page_no page)
{
    world.n_sent = 0;
    get_fetch(2, page, 0);
    return sent_at(0, 2, MESSAGE_page)->message.u.page.flags;
}

static void pages_that_are_asked_back_move_no_more(void **state)
{
    enum { N = 16, N_FREE = 8 };

    (void)state;
    own_pages(REMOTE, N + 2);
    for (page_no page = REMOTE; page < REMOTE + N; page++) {
        assert_true(flags_served(page) & PAGE_WITH_OWNERSHIP);
    }
    for (page_no page = REMOTE; page < REMOTE + N_FREE; page++) {
        read_page(page);
    }
    assert_true(flags_served(REMOTE + N) & PAGE_WITH_OWNERSHIP);
    read_page(REMOTE + N_FREE);
    assert_false(flags_served(REMOTE + N + 1) & PAGE_WITH_OWNERSHIP);
    assert_int_equal(page_of(world.engine, REMOTE + N + 1)->state, PAGE_CLEAN);
}

static void pages_that_few_are_asked_back_of_move_on(void **state)
{
    enum { N = 40, N_BACK = 10 };

    (void)state;
    own_pages(REMOTE, N + 1);
    for (page_no page = REMOTE; page < REMOTE + N; page++) {
        assert_true(flags_served(page) & PAGE_WITH_OWNERSHIP);
    }
    for (page_no page = REMOTE; page < REMOTE + N_BACK; page++) {
        read_page(page);
    }
    assert_true(flags_served(REMOTE + N) & PAGE_WITH_OWNERSHIP);
}

// ---- several pages in a message

static void pages_ahead_go_in_one_message(void **state)
{
    const struct sent *sent;
    struct message pages[PAGES_MAX];

    (void)state;
    own_pages(REMOTE, 3);
    memset(space_bytes_to_change(&world.space, REMOTE + 2), 9, TM_PAGE_SIZE);
    get(2, &(struct message){.type = MESSAGE_fetch,
                             .u.fetch = {.page = REMOTE,
                                         .count = 4,
                                         .requester = 2,
                                         .id = 1,
                                         .stride = 1}});
    assert_int_equal(world.n_sent, 3);
    assert_int_equal(sent_at(0, 2, MESSAGE_page)->message.u.page.page, REMOTE);
    sent = sent_at(1, 2, MESSAGE_pages);
    assert_int_equal(page_batch_read(&sent->message, pages), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pages[i].u.page.page, REMOTE + 1 + i);
        assert_int_equal(pages[i].u.page.epoch, 4);
        assert_int_equal(((const char *)pages[i].body)[7], 9 * i);
    }
    // The fourth is not this node's.
    assert_int_equal(
        sent_at(2, 2, MESSAGE_fetch_done)->message.u.fetch_done.count, 3);
}

// @return a message of n pages from `first` on, with as many bytes as `size`
// says
static void get_pages(page_no first, unsigned n, size_t size, tm_status status)
{
    static uint8_t body[4 * (WIRE_SIZE_page_entry + TM_PAGE_SIZE)];
    struct wire_writer writer = {body, body + sizeof body, 0};

    memset(body, 0, sizeof body);
    for (unsigned i = 0; i < n; i++) {
        wire_put_page_entry(&writer, &(struct wire_page_entry){
                                         .page = first + i,
                                         .version = 1,
                                         .epoch = 3,
                                         .flags = PAGE_WITH_CONTENTS,
                                     });
    }
    for (unsigned i = 0; i < n; i++) {
        memset(writer.at + i * (size_t)TM_PAGE_SIZE, (int)i + 1, TM_PAGE_SIZE);
    }
    assert_int_equal(engine_receive(world.engine, 2,
                                    &(struct message){
                                        .type = MESSAGE_pages,
                                        .u.pages = {.count = (uint8_t)n},
                                        .body = body,
                                        .body_size = (uint32_t)size,
                                    }),
                     status);
}

static void pages_of_a_message_are_taken_each_as_it_is_asked_for(void **state)
{
    const size_t size = 3 * ((size_t)WIRE_SIZE_page_entry + TM_PAGE_SIZE);

    (void)state;
    read_page(REMOTE);
    read_page(REMOTE + 2);
    get_pages(REMOTE, 3, size - 1, TM_EWIRE);
    assert_int_equal(world.n_woken, 0);
    get_pages(REMOTE, 3, size, TM_OK);
    assert_int_equal(world.n_woken, 2);
    assert_int_equal(byte_of(REMOTE), 1);
    assert_int_equal(byte_of(REMOTE + 2), 3);
    assert_int_equal(page_of(world.engine, REMOTE + 1)->state, PAGE_ABSENT);
    assert_int_equal(world.engine->stats.bad_messages, 1);
    get_pages(N_PAGES - 1, 3, size, TM_EWIRE);
}

// ---- versions

static void a_push_that_a_copy_has_already_changes_nothing(void **state)
{
    (void)state;
    read_page(REMOTE);
    get_page(2, REMOTE, 10, PAGE_WITH_CONTENTS, 0);
    get_update(2, REMOTE, ITEM_PUSH, 10, 1);
    assert_int_equal(byte_of(REMOTE), 0);
    get_update(2, REMOTE, ITEM_PUSH, 11, 2);
    assert_int_equal(byte_of(REMOTE), 2);
}

static void versions_are_compared_as_numbers_that_wrap(void **state)
{
    (void)state;
    read_page(REMOTE);
    get_page(2, REMOTE, UINT32_MAX, PAGE_WITH_CONTENTS, 0);
    get_update(2, REMOTE, ITEM_PUSH, 0, 1);
    assert_int_equal(byte_of(REMOTE), 1);
}

static void pushes_wait_for_their_page_and_only_newer_are_applied(void **state)
{
    (void)state;
    read_page(REMOTE);
    get_update(2, REMOTE, ITEM_PUSH, 11, 1);
    get_update(2, REMOTE, ITEM_PUSH, 12, 2);
    get_page(2, REMOTE, 12, PAGE_WITH_CONTENTS, 0);
    assert_int_equal(byte_of(REMOTE), 0);
    read_page(REMOTE + 1);
    get_update(2, REMOTE + 1, ITEM_PUSH, 13, 3);
    get_page(2, REMOTE + 1, 12, PAGE_WITH_CONTENTS, 0);
    assert_int_equal(byte_of(REMOTE + 1), 3);
    assert_int_equal(world.n_woken, 2);
}

// ---- threads that wait too long

#ifdef TM_DEBUG

enum { PATIENCE = 200, LOOKED_AT = 64 }; // so often waits are looked at

static struct fault_history history;
static unsigned n_others; // messages about another page

static int open_patient(void **state)
{
    memset(&history, 0, sizeof history);
    n_others = 0;
    return open_eager(state);
}

static void get_other_messages(void)
{
    get_owner_is(2, 3, ++n_others, SERIAL);
}

static void wait_on(void)
{
    while (n_others < 10 * PATIENCE) {
        get_other_messages();
    }
}

// The page comes, and has gone before the thread has used it.
static void miss_the_page(void)
{
    struct message fetch = {
        .type = MESSAGE_fetch,
        .u.fetch = {.page = REMOTE, .count = 1, .write = 1, .requester = 2}};

    get_page(2, REMOTE, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, 0);
    world.n_sent = 0;
    get(2, &fetch);
    engine_note_missed(world.engine, REMOTE, 0, &history);
    assert_int_equal(history.missed, REMOTE + 1);
    assert_int_equal(
        engine_fault(world.engine, REMOTE, 0, &history, &world.waiter),
        FAULT_WAIT);
}

static void miss_the_page_again_and_again(void)
{
    while (n_others < 10 * PATIENCE) {
        for (unsigned i = 0; i < PATIENCE / 2; i++) {
            get_other_messages();
        }
        miss_the_page();
    }
}

static jmp_buf fatal_end;

static void end_at_once(int exit_code)
{
    longjmp(fatal_end, exit_code);
}

// With stderr in a file. @param[out] told  what it says then
// @return the exit code that the node ended with, 0: it went on
static int run_with_patience(void (*act)(void), char *told, size_t size)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    int code;

    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    engine_set_patience(world.engine, PATIENCE);
    log_set_fatal_hook(end_at_once);
    code = setjmp(fatal_end);
    if (code == 0) {
        act();
    }
    log_set_fatal_hook(NULL);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    told[fread(told, 1, size - 1, file)] = '\0';
    fclose(file);
    return code;
}

static unsigned number_before(const char *told, const char *text)
{
    const char *at = strstr(told, text);

    assert_non_null(at);
    while (at > told && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return (unsigned)strtoul(at, NULL, 10);
}

static void a_wait_that_does_not_end_has_a_story(void **state)
{
    char told[8192];
    unsigned n;

    (void)state;
    world.waiter.thread = 17;
    get_update(2, REMOTE, ITEM_PUSH, 11, 1);
    assert_int_equal(
        engine_fault(world.engine, REMOTE, 0, &history, &world.waiter),
        FAULT_WAIT);
    assert_int_equal(run_with_patience(wait_on, told, sizeof told),
                     EXIT_INTERNAL);
    assert_non_null(strstr(told, "internal error: thread 17 waits for page"));
    n = number_before(told, " messages have come meanwhile");
    assert_in_range(n, PATIENCE + 1, PATIENCE + LOOKED_AT);
    assert_non_null(strstr(told, "at node 1: absent"));
    assert_non_null(strstr(told, "its directory node 2"));
    assert_non_null(strstr(told, "fetch 1 is under way, to read"));
    assert_non_null(strstr(told, "thread 17 has waited for"));
    assert_non_null(strstr(told, "fetch to node 2, number 1 for node 1"));
    assert_non_null(strstr(told, "update from node 2, push, version 11"));
}

static void a_thread_that_misses_its_page_again_and_again_is_told(void **state)
{
    char told[8192];

    (void)state;
    assert_int_equal(
        engine_fault(world.engine, REMOTE, 0, &history, &world.waiter),
        FAULT_WAIT);
    assert_int_equal(
        run_with_patience(miss_the_page_again_and_again, told, sizeof told),
        EXIT_INTERNAL);
    assert_non_null(strstr(told, "page to node 2, version 1, epoch 4, with "
                                 "ownership"));
}

// Each of many threads waits for less than the patience, of many pages.
static void get_what_is_waited_for(void)
{
    for (page_no page = REMOTE; page < REMOTE + 40; page++) {
        read_page(page);
        for (unsigned i = 0; i < PATIENCE / 2; i++) {
            get_other_messages();
        }
        get_page(2, page, 1, PAGE_WITH_CONTENTS, 0);
    }
    wait_on();
}

static void a_wait_that_is_over_is_forgotten(void **state)
{
    char told[8192];

    (void)state;
    assert_int_equal(
        run_with_patience(get_what_is_waited_for, told, sizeof told), 0);
    assert_string_equal(told, "");
}

#endif

// ---- placement

// @return the node that gets an untouched page, of which node 2 is the first to
// want it
static node_id granted_to(page_no page)
{
    world.n_sent = 0;
    assert_int_equal(fetch_grant(world.engine, page, 1, 2, 9), 1);
    assert_int_equal(world.n_sent, 1);
    assert_int_equal(world.sent[0].message.type, MESSAGE_grant);
    assert_int_equal(world.sent[0].message.u.grant.page, page);
    return world.sent[0].to;
}

static void untouched_pages_go_where_their_block_is_placed(void **state)
{
    const page_no first = SPACE_BLOCK; // of those whose directory is here
    const page_no second = N_PAGES / N_NODES + 1; // of the second node's
    struct extent *extent = extent_find(world.engine, first);

    (void)state;
    assert_int_equal(granted_to(first), 2);
    extent->placement = TM_BLOCK;
    assert_int_equal(granted_to(first + 1), 0);
    assert_int_equal(granted_to(second - 1), 0);
    assert_int_equal(granted_to(second), 1);
    extent->placement = TM_CYCLIC;
    assert_int_equal(granted_to(first + 2), (first + 2) % N_NODES);
    assert_int_equal(granted_to(first + 3), (first + 3) % N_NODES);
    extent->placement = TM_ON_NODE;
    extent->on_node = 0;
    assert_int_equal(granted_to(first + 4), 0);
    extent->on_node = N_NODES; // is none
    assert_int_equal(granted_to(first + 5), 2);
}

// ---- a block is freed

// B1 of blocks.c: who has acknowledged sends nothing of it any more.
static void what_was_written_to_a_closed_block_is_not_released(void **state)
{
    (void)state;
    read_page(REMOTE);
    get_page(2, REMOTE, 1, PAGE_WITH_CONTENTS, 0);
    write_page(REMOTE);
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 1}});
    sent_at(world.n_sent - 1, 0, MESSAGE_extent_ack);
    world.n_sent = 0;
    world.n_woken = 0;
    engine_release(world.engine, NODE_NONE, &world.waiter);
    assert_int_equal(world.n_sent, 0);
    assert_int_equal(world.n_woken, 1);
    assert_true(engine_page_is_valid(world.engine, REMOTE));
}

// It was asked for ahead, to be written, before the block was closed.
static void what_comes_to_a_closed_block_goes_with_it(void **state)
{
    (void)state;
    assert_int_equal(use_page(REMOTE, 1), FAULT_WAIT);
    get(0, &(struct message){.type = MESSAGE_extent_close,
                             .u.extent_close = {.token = 1}});
    get_page(2, REMOTE, 1, PAGE_WITH_CONTENTS, 0);
    sent_at(world.n_sent - 1, 0, MESSAGE_extent_ack);
    assert_int_equal(page_of(world.engine, REMOTE)->state, PAGE_DIRTY);
    get(0, &(struct message){.type = MESSAGE_extent_gone,
                             .u.extent_gone = {.token = 2}});
    assert_int_equal(page_of(world.engine, REMOTE)->state, PAGE_ABSENT);
    assert_true(engine_has_released(world.engine)); // R1
}

// ---- small blocks

enum {
    SLAB = N_PAGES - 32, // the block ends before it
    CELL = 64,
};

static uint64_t cell_at(unsigned number)
{
    return (uint64_t)(uintptr_t)space_address(&world.space, SLAB) +
           (uint64_t)number * CELL;
}

// What the root tells of a slab that a node holds.
static void get_slab(node_id holder)
{
    const struct message slab = {
        .type = MESSAGE_extent_new,
        .u.extent_new = {.token = SERIAL + 1,
                         .page = SLAB,
                         .n_pages = 16,
                         .size = 16 * TM_PAGE_SIZE,
                         .protocol = TM_EAGER_RELEASE,
                         .placement = TM_ON_NODE,
                         .on_node = holder,
                         .cell_kind = CELL},
        .body = "few\0",
        .body_size = 5,
    };

    get(0, &slab);
    get(0, &(struct message){
               .type = MESSAGE_extent_open,
               .u.extent_open = {.serial = SERIAL + 1, .page = SLAB}});
    sent_at(world.n_sent - 1, 0, MESSAGE_extent_ack);
    world.n_sent = 0;
}

static void make_room(void)
{
    world.engine->extents[0].n_pages = SLAB - 1;
    world.engine->extents[0].size = (SLAB - 1) * TM_PAGE_SIZE;
}

static void free_cell(unsigned number)
{
    engine_release_block(world.engine, cell_at(number),
                         &(struct heap_origin){.file = "f.c", .line = 1},
                         &world.waiter);
}

static void get_alloc_done(unsigned index, uint64_t address)
{
    const struct sent *asked = sent_at(index, 0, MESSAGE_alloc_ask);
    const struct message done = {
        .type = MESSAGE_alloc_done,
        .u.alloc_done = {.token = asked->message.u.alloc_ask.token,
                         .address = address,
                         .capacity = address == 0 ? 0 : 16 * TM_PAGE_SIZE}};

    assert_int_equal(asked->message.u.alloc_ask.cell_kind, CELL);
    get(0, &done);
}

static void one_slab_is_asked_for_then_nothing_is_sent(void **state)
{
    struct waiter waiters[3] = {
        {.wake = count_wake}, {.wake = count_wake}, {.wake = count_wake}};

    (void)state;
    make_room();
    for (unsigned i = 0; i < 2; i++) {
        engine_alloc(world.engine, 50, NULL, "f.c", 1, &waiters[i]);
    }
    assert_int_equal(world.n_sent, 1);
    const struct sent asked = world.sent[0];
    get_slab(SELF);
    world.sent[world.n_sent++] = asked;
    get_alloc_done(0, cell_at(0));
    world.n_sent = 0;
    assert_int_equal(world.n_woken, 2);
    assert_int_equal(waiters[0].result, cell_at(0));
    assert_int_equal(waiters[1].result, cell_at(1));
    assert_int_equal(waiters[1].result2, CELL);
    engine_alloc(world.engine, 50, NULL, "f.c", 1, &waiters[2]);
    assert_int_equal(waiters[2].result, cell_at(2));
    free_cell(1);
    assert_int_equal(world.waiter.status, TM_OK);
    assert_int_equal(world.n_woken, 4);
    assert_int_equal(world.n_sent, 0);
    free_cell(1);
    assert_int_equal(world.waiter.status, TM_EFREED);
}

// Of 8 frames, each of which two cells show.
static tm_status tell_of_grain_slab(tm_protocol protocol, page_no n_pages)
{
    const struct message slab = {
        .type = MESSAGE_extent_new,
        .u.extent_new = {.token = SERIAL + 1,
                         .page = SLAB,
                         .n_pages = n_pages,
                         .size = n_pages * TM_PAGE_SIZE,
                         .protocol = (uint8_t)protocol,
                         .placement = TM_ON_NODE,
                         .on_node = 2,
                         .cell_kind = slabs_grain_kind(2048)},
        .body = "few\0",
        .body_size = 5,
    };

    return engine_receive(world.engine, 0, &slab);
}

static tm_status get_cell(page_no page, const uint8_t *bytes, uint32_t size)
{
    const struct message message = {
        .type = MESSAGE_page,
        .u.page = {.page = page,
                   .epoch = 2,
                   .flags = PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP},
        .body = bytes,
        .body_size = size,
    };

    return engine_receive(world.engine, 2, &message);
}

static void slabs_with_a_grain_are_of_a_protocol_that_knows_it(void **state)
{
    (void)state;
    make_room();
    assert_int_equal(tell_of_grain_slab(TM_EAGER_RELEASE, 16), TM_EWIRE);
    assert_int_equal(tell_of_grain_slab(TM_SEQUENTIAL, 15), TM_EWIRE);
    assert_int_equal(tell_of_grain_slab(TM_SEQUENTIAL, 16), TM_OK);
}

static void of_a_cell_its_own_bytes_travel(void **state)
{
    static const uint8_t bytes[TM_PAGE_SIZE] = {1, 2};
    const page_no page = SLAB + 8 + 3; // of frame 3, the second half
    struct message two = {.type = MESSAGE_fetch};
    const struct sent *sent;

    (void)state;
    make_room();
    assert_int_equal(tell_of_grain_slab(TM_SEQUENTIAL, 16), TM_OK);
    get(0, &(struct message){
               .type = MESSAGE_extent_open,
               .u.extent_open = {.serial = SERIAL + 1, .page = SLAB}});
    world.n_sent = 0;
    memset(space_place(&world.space, SLAB + 3), 9, TM_PAGE_SIZE);
    assert_int_equal(use_page(page, 1), FAULT_WAIT);
    expect_fetch(0, 0, page, 1);
    assert_int_equal(get_cell(page, bytes, TM_PAGE_SIZE), TM_EWIRE);
    assert_int_equal(get_cell(page, bytes, 2048), TM_OK);
    assert_int_equal(world.n_woken, 1);
    assert_int_equal(space_place(&world.space, SLAB + 3)[2047], 9);
    assert_int_equal(space_place(&world.space, SLAB + 3)[2048], 1);
    assert_int_equal(space_place(&world.space, SLAB + 3)[2049], 2);
    assert_int_equal(page_of(world.engine, SLAB + 3)->state, PAGE_ABSENT);
    two.u.fetch = (struct message_fetch){
        .page = page, .count = 2, .requester = 2, .id = 1};
    assert_int_equal(engine_receive(world.engine, 2, &two), TM_EWIRE);
    page_of(world.engine, page)->pinned = 0;
    get_fetch(2, page, 1);
    sent = sent_at(world.n_sent - 1, 2, MESSAGE_page);
    assert_int_equal(sent->message.body_size, 2048);
    assert_memory_equal(sent->body, bytes, 2048);
}

// Each asks for itself, so that each is told of by its place.
static void who_gets_no_slab_gets_no_block(void **state)
{
    struct waiter waiters[2] = {{.wake = count_wake}, {.wake = count_wake}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        engine_alloc(world.engine, 50, NULL, "f.c", 1, &waiters[i]);
    }
    get_alloc_done(0, 0);
    assert_int_equal(world.n_woken, 1);
    assert_int_equal(waiters[0].status, TM_ENOMEM);
    get_alloc_done(1, 0);
    assert_int_equal(waiters[1].status, TM_ENOMEM);
}

static void cells_of_others_are_freed_together(void **state)
{
    (void)state;
    make_room();
    get_slab(2);
    for (unsigned i = 0; i < 63; i++) {
        free_cell(i);
    }
    assert_int_equal(world.n_woken, 63);
    assert_int_equal(world.n_sent, 0);
    free_cell(63);
    assert_int_equal(world.n_woken, 64);
    assert_int_equal(world.n_sent, 1);
    assert_int_equal(
        sent_at(0, 2, MESSAGE_cells_freed)->message.u.cells_freed.count, 64);
}

// F2: another node has a page that this one has written.
static void cells_are_sent_when_what_was_written_is_released(void **state)
{
    (void)state;
    make_room();
    get_slab(2);
    read_page(REMOTE);
    get_page(2, REMOTE, 1, PAGE_WITH_CONTENTS, 0);
    assert_int_equal(use_page(REMOTE, 1), FAULT_ALLOWED);
    space_bytes_to_change(&world.space, REMOTE)[8] = 42;
    world.n_sent = 0;
    for (unsigned i = 0; i < 64; i++) {
        free_cell(i);
    }
    assert_int_equal(world.n_sent, 1);
    const struct sent *update = sent_at(0, 2, MESSAGE_update);
    get(2, &(struct message){
               .type = MESSAGE_update_ack,
               .u.update_ack = {.batch = update->message.u.update.batch,
                                .is_last = 1}});
    assert_int_equal(world.n_sent, 2);
    sent_at(1, 2, MESSAGE_cells_freed);
}

static void who_has_freed_a_cell_before_is_asked(void **state)
{
    const struct heap_origin place = {.file = "f.c", .line = 1};
    const struct message ask = {
        .type = MESSAGE_free_ask,
        .u.free_ask = {.token = 5, .address = cell_at(0), .is_cell = 1},
        .body = "g.c",
        .body_size = 4,
    };

    (void)state;
    make_room();
    get_slab(2);
    engine_release_freed(world.engine, cell_at(3), 0, &place, &world.waiter);
    assert_int_equal(
        sent_at(0, 0, MESSAGE_free_ask)->message.u.free_ask.is_cell, 1);
    free_cell(0);
    assert_int_equal(world.n_sent, 1);
    get(0, &ask); // behind what this node has freed: F3
    assert_int_equal(
        sent_at(1, 2, MESSAGE_cells_freed)->message.u.cells_freed.count, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_eager, close_node)
#define PATIENT(name)                                                          \
    cmocka_unit_test_setup_teardown(name, open_patient, close_node)
#define ADAPTIVE(name)                                                         \
    cmocka_unit_test_setup_teardown(name, open_adaptive, close_node)
    const struct CMUnitTest tests[] = {
        TEST(only_a_newer_hint_replaces_a_hint),
        TEST(owner_updates_of_another_life_are_ignored),
        TEST(an_owner_takes_no_hint),
        TEST(a_group_ends_with_its_block),
        TEST(a_group_is_of_pages_that_are_asked_for_at_one_node),
        TEST(a_group_leaves_out_what_is_here_and_what_is_coming),
        TEST(untouched_pages_go_where_their_block_is_placed),
        TEST(who_asks_for_a_page_gets_what_is_released),
        TEST(a_second_copy_is_ignored),
        TEST(pages_that_are_asked_back_move_no_more),
        TEST(pages_that_few_are_asked_back_of_move_on),
        TEST(pages_ahead_go_in_one_message),
        TEST(pages_of_a_message_are_taken_each_as_it_is_asked_for),
        TEST(a_push_that_a_copy_has_already_changes_nothing),
        TEST(versions_are_compared_as_numbers_that_wrap),
        TEST(pushes_wait_for_their_page_and_only_newer_are_applied),
        TEST(what_was_written_to_a_closed_block_is_not_released),
        TEST(what_comes_to_a_closed_block_goes_with_it),
        TEST(one_slab_is_asked_for_then_nothing_is_sent),
        TEST(slabs_with_a_grain_are_of_a_protocol_that_knows_it),
        TEST(of_a_cell_its_own_bytes_travel),
        TEST(who_gets_no_slab_gets_no_block),
        TEST(cells_of_others_are_freed_together),
        TEST(cells_are_sent_when_what_was_written_is_released),
        TEST(who_has_freed_a_cell_before_is_asked),
#ifdef TM_DEBUG
        PATIENT(a_wait_that_does_not_end_has_a_story),
        PATIENT(a_thread_that_misses_its_page_again_and_again_is_told),
        PATIENT(a_wait_that_is_over_is_forgotten),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Who wrote which byte last, and what is told; a page and its owner, without a network.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "mem/diff.h"
#include "pages/causality.h"
#include "protocol/protocol_rows.h"
#include "protocol/updates.h"

enum { PAGE = 1, N_PAGES = 3, N_TOLD = 8 };

static const struct protocol *const rows[] = {&protocol_eager_release,
                                              &protocol_sequential};
static const struct protocols protocols = {rows, 2};

static struct world {
    struct port port;
    struct space space;
    struct engine *engine;
    struct message_race told[N_TOLD];
    unsigned n_told;
} world;

static void keep_told(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    assert_int_equal(to, 0);
    assert_int_equal(message->type, MESSAGE_race);
    assert_true(world.n_told < N_TOLD);
    world.told[world.n_told++] = message->u.race;
}

static void ignore_found(void *owner, const struct race_found *found)
{
    (void)owner;
    (void)found;
}

static int open_page(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.port = (struct port){.self = 1, .send = keep_told};
    roster_init(&world.port.roster, 4);
    world.space.n_pages = N_PAGES;
    world.engine =
        engine_new(&world.port, &world.space, &protocols, TM_EAGER_RELEASE);
    assert_non_null(world.engine);
    assert_int_equal(engine_look_for_races(world.engine, ignore_found, NULL),
                     TM_OK);
    return 0;
}

static int close_page(void **state)
{
    const struct extent all = {.n_pages = N_PAGES};

    (void)state;
    race_forget(world.engine, &all);
    engine_free(world.engine);
    return 0;
}

// A clock of these releases of nodes 0 to 3.
struct heard {
    uint32_t of[4];
};

static uint16_t write_clock(struct heard heard, uint8_t *bytes)
{
    struct wire_writer writer = {bytes, bytes + CLOCK_BYTES_MAX, 0};

    for (unsigned i = 0; i < 4; i++) {
        if (heard.of[i] > 0) {
            wire_put_u16(&writer, (uint16_t)i);
            wire_put_u32(&writer, heard.of[i]);
        }
    }
    return (uint16_t)(writer.at - bytes);
}

// A diff of some bytes by a thread of a node, whose number is ten times that of the node.
static void write_bytes(node_id node, struct heard heard, size_t start,
                        size_t end)
{
    static const uint8_t bytes[TM_PAGE_SIZE] = {1};
    uint8_t clock[CLOCK_BYTES_MAX];
    uint8_t diff[DIFF_MAX];
    const struct update_item item = {
        .page = PAGE,
        .diff = diff,
        .size = (uint16_t)diff_of_range(bytes, start, end - start, diff),
        .writer = {.thread = node * 10u,
                   .clock = clock,
                   .size = write_clock(heard, clock)},
    };

    race_note(world.engine, node, &item);
}

static void expect_told(unsigned index, size_t start, size_t end, node_id first,
                        node_id second)
{
    const struct message_race *told = &world.told[index];

    assert_true(index < world.n_told);
    assert_int_equal(told->page, PAGE);
    assert_int_equal(told->offset, start);
    assert_int_equal(told->offset + told->length, end);
    assert_int_equal(told->node1, first);
    assert_int_equal(told->thread1, first * 10);
    assert_int_equal(told->node2, second);
    assert_int_equal(told->thread2, second * 10);
}

static void two_that_have_not_heard_of_each_other_race(void **state)
{
    (void)state;
    write_bytes(2, (struct heard){{0, 0, 5, 0}}, 100, 200);
    write_bytes(3, (struct heard){{9, 9, 4, 1}}, 150, 300);
    assert_int_equal(world.n_told, 1);
    expect_told(0, 150, 200, 2, 3);
}

static void who_has_heard_of_a_write_does_not_race(void **state)
{
    (void)state;
    write_bytes(2, (struct heard){{0, 0, 5, 0}}, 0, 4096);
    write_bytes(3, (struct heard){{0, 0, 5, 1}}, 0, 4096);
    write_bytes(1, (struct heard){{0, 1, 6, 1}}, 10, 20);
    write_bytes(1, (struct heard){{0, 2, 6, 1}}, 10, 20); // by itself
    assert_int_equal(world.n_told, 0);
}

static void only_the_last_writer_of_a_byte_counts(void **state)
{
    (void)state;
    write_bytes(2, (struct heard){{0, 0, 1, 0}}, 0, 64);
    write_bytes(3, (struct heard){{0, 0, 1, 1}}, 16, 32);
    write_bytes(0, (struct heard){{1, 0, 0, 1}}, 16,
                32); // has heard of that one
    assert_int_equal(world.n_told, 0);
    write_bytes(0, (struct heard){{2, 0, 0, 1}}, 8, 40);
    assert_int_equal(world.n_told, 2); // 16 to 32 are its own
    expect_told(0, 8, 16, 2, 0);
    expect_told(1, 32, 40, 2, 0);
}

static void neighbouring_bytes_do_not_race(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4096; i++) {
        struct heard heard = {{0}};

        heard.of[i % 4] = 1 + i / 4;
        write_bytes(i % 4, heard, i, i + 1);
    }
    assert_int_equal(world.n_told, 0);
}

static void a_word_is_told_once(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < 10; i++) {
        write_bytes(2, (struct heard){{0, 0, i, 0}}, 24, 32);
        write_bytes(3, (struct heard){{0, 0, 0, i}}, 25, 26);
    }
    assert_int_equal(world.n_told, 1);
    expect_told(0, 25, 26, 2, 3);
}

static void words_side_by_side_are_told_together(void **state)
{
    (void)state;
    for (size_t at = 0; at < 80; at += 8) { // the upper bytes stay as they are
        write_bytes(2, (struct heard){{0, 0, 1, 0}}, at, at + 3);
    }
    write_bytes(2, (struct heard){{0, 0, 1, 0}}, 200, 203);
    write_bytes(3, (struct heard){{0, 0, 0, 1}}, 0, 4096);
    assert_int_equal(world.n_told, 2);
    expect_told(0, 0, 75, 2, 3);
    expect_told(1, 200, 203, 2, 3);
}

static void what_is_forgotten_does_not_race(void **state)
{
    const struct extent all = {.n_pages = N_PAGES};

    (void)state;
    write_bytes(2, (struct heard){{0, 0, 5, 0}}, 0, 8);
    race_forget(world.engine, &all);
    write_bytes(3, (struct heard){{0, 0, 0, 1}}, 0, 8);
    assert_int_equal(world.n_told, 0);
}

static tm_status receive_clock(const void *bytes, size_t size, uint8_t way)
{
    const struct message message = {.type = MESSAGE_clock,
                                    .u.clock = {.object = 7, .way = way},
                                    .body = bytes,
                                    .body_size = (uint32_t)size};

    return engine_receive(world.engine, 2, &message);
}

static void clocks_that_make_no_sense_are_refused(void **state)
{
    uint8_t bytes[CLOCK_BYTES_MAX + 8] = {0};
    size_t size = write_clock((struct heard){{1, 2, 0, 3}}, bytes);

    (void)state;
    assert_int_equal(receive_clock(bytes, size, 3), TM_OK);
    assert_int_equal(receive_clock(bytes, size, 4), TM_EWIRE);
    assert_int_equal(receive_clock(bytes, size - 1, 0), TM_EWIRE);
    bytes[6] = 0; // node 0 for the second time
    assert_int_equal(receive_clock(bytes, size, 0), TM_EWIRE);
    bytes[6] = 1;
    bytes[8] = 0; // releases of node 1
    assert_int_equal(receive_clock(bytes, size, 0), TM_EWIRE);
    bytes[8] = 2;
    bytes[13] = 4; // node 1027
    assert_int_equal(receive_clock(bytes, size, 0), TM_EWIRE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_page, close_page)
    const struct CMUnitTest tests[] = {
        TEST(two_that_have_not_heard_of_each_other_race),
        TEST(who_has_heard_of_a_write_does_not_race),
        TEST(only_the_last_writer_of_a_byte_counts),
        TEST(neighbouring_bytes_do_not_race),
        TEST(a_word_is_told_once),
        TEST(words_side_by_side_are_told_together),
        TEST(what_is_forgotten_does_not_race),
        TEST(clocks_that_make_no_sense_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

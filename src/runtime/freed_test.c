// SPDX-License-Identifier: BSD-3-Clause
//
// What a node knows of blocks that are no more, from the messages that come to it.
#include "runtime/error_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "runtime/node.h"
#include "runtime/registry.h"

enum { PAGE = 3, N_PAGES = 2 };

static void send(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    (void)to;
    (void)message;
}

static uint64_t no_time(void *owner)
{
    (void)owner;
    return 0;
}

/* Node 1 of two, with a block. */
// The block of that number at PAGE.
static void open_block(uint32_t serial, const char *body)
{
    const struct message block = {
        .type = MESSAGE_extent_new,
        .u.extent_new = {.token = serial,
                         .page = PAGE,
                         .n_pages = N_PAGES,
                         .size = 5000,
                         .protocol = TM_SEQUENTIAL,
                         .line = 7},
        .body = body,
        .body_size = 9,
    };
    const struct message open = {
        .type = MESSAGE_extent_open,
        .u.extent_open = {.serial = serial, .page = PAGE},
    };

    node_receive(&this_node, 0, &block);
    node_receive(&this_node, 0, &open);
}

static int begin(void **state)
{
    static struct space space;

    *state = &space;
    this_node.self = 1;
    this_node.port = (struct port){.self = 1, .send = send, .now_ns = no_time};
    roster_init(&this_node.port.roster, 2);
    this_node.freed.n_blocks = 0;
    if (space_open(&space, NULL, NULL, 0, 1 << 20) != TM_OK) {
        return 1;
    }
    this_node.engine =
        engine_new(&this_node.port, &space, &all_protocols, TM_EAGER_RELEASE);
    if (this_node.engine == NULL) {
        return 1;
    }
    open_block(1, "grid\0a.c");
    return engine_extent(this_node.engine, PAGE) == NULL;
}

static int end(void **state)
{
    engine_free(this_node.engine);
    space_close(*state);
    return 0;
}

static void close_block(node_id from, page_no page)
{
    const struct message message = {
        .type = MESSAGE_extent_close,
        .u.extent_close = {.token = 2, .page = page, .line = 9},
        .body = "b.c",
        .body_size = 4,
    };

    node_receive(&this_node, from, &message);
}

static void a_freed_block_is_described(void **state)
{
    char text[512];

    (void)state;
    assert_false(freed_describe(&this_node, PAGE, text, sizeof text));
    close_block(0, PAGE);
    assert_true(
        freed_describe(&this_node, PAGE + N_PAGES - 1, text, sizeof text));
    assert_string_equal(text,
                        "in block 'grid' of 5000 bytes after it was freed, "
                        "allocated at a.c:7, freed at b.c:9");
    assert_false(freed_describe(&this_node, PAGE + N_PAGES, text, sizeof text));
}

static void of_the_blocks_at_an_address_the_latest_is_told(void **state)
{
    char text[512];

    const struct message gone = {.type = MESSAGE_extent_gone,
                                 .u.extent_gone = {.token = 3, .page = PAGE}};

    (void)state;
    close_block(0, PAGE);
    node_receive(&this_node, 0, &gone);
    open_block(2, "next\0a.c");
    close_block(0, PAGE);
    assert_true(freed_describe(&this_node, PAGE, text, sizeof text));
    assert_non_null(strstr(text, "in block 'next'"));
}

static void what_the_engine_refuses_is_not_noted(void **state)
{
    char text[512];

    (void)state;
    close_block(1, PAGE);     // not the root
    close_block(0, PAGE + 1); // not the beginning of a block
    assert_false(freed_describe(&this_node, PAGE, text, sizeof text));
    close_block(0, PAGE);
    close_block(0, PAGE); // again
    assert_int_equal(this_node.freed.n_blocks, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_freed_block_is_described, begin, end),
        cmocka_unit_test_setup_teardown(
            of_the_blocks_at_an_address_the_latest_is_told, begin, end),
        cmocka_unit_test_setup_teardown(what_the_engine_refuses_is_not_noted,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

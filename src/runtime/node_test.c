// SPDX-License-Identifier: BSD-3-Clause
//
// A node that gets messages no node sends: they change nothing, and are counted.
#include "runtime/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>

#include "runtime/registry.h"

enum { PAGE = 3, N_PAGES = 4, OTHER = 1 };

static struct space space;

/** What the node sends to itself, in its turn. */
static void send(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    if (to == this_node.self) {
        this_node.transport->send(this_node.net, to, message);
    }
}

static uint64_t no_time(void *owner)
{
    (void)owner;
    return 0;
}

static void get(const struct message *message)
{
    node_receive(&this_node, message->type == MESSAGE_extent_new ? 0 : OTHER,
                 message);
    while (this_node.transport->progress(this_node.net) > 0) {
    }
}

static uint64_t n_refused(void)
{
    struct tm_node_stats stats;

    stats_collect(&this_node, &stats);
    return stats.bad_messages;
}

/* The root of two nodes, with a block. */
static int begin(void **state)
{
    const struct ult_config workers = {
        .n_workers = 1,
        .stack_size = 64 * 1024,
        .n_slots = 4,
    };
    static const struct sync_ops ops;
    const struct net_config config = {
        .n_nodes = 1, .owner = &this_node, .receive = node_receive};
    const struct message block = {
        .type = MESSAGE_extent_new,
        .u.extent_new = {.token = 1,
                         .page = PAGE,
                         .n_pages = N_PAGES,
                         .size = N_PAGES * TM_PAGE_SIZE,
                         .protocol = TM_EAGER_RELEASE},
        .body = "grid\0a.c",
        .body_size = 9,
    };

    (void)state;
    parts_use(&this_node, all_parts);
    this_node.port = (struct port){.send = send, .now_ns = no_time};
    roster_init(&this_node.port.roster, 2);
    this_node.transport = &transport_ucx;
    this_node.sync = sync_new(&this_node.port, &ops, 4);
    if (this_node.sync == NULL ||
        transport_ucx.open(&this_node.net, &config) != TM_OK ||
        ult_open(&this_node.ult, &workers) != TM_OK ||
        space_open(&space, NULL, NULL, 0, 1 << 20) != TM_OK) {
        return 1;
    }
    this_node.engine =
        engine_new(&this_node.port, &space, &all_protocols, TM_EAGER_RELEASE);
    if (this_node.engine == NULL) {
        return 1;
    }
    get(&block);
    this_node.n_refused = 0; // no tm_alloc() waits for the block
    return engine_extent(this_node.engine, PAGE) == NULL || n_refused() != 0;
}

static int end(void **state)
{
    (void)state;
    engine_free(this_node.engine);
    space_close(&space);
    ult_stop(this_node.ult, 1000);
    ult_close(this_node.ult);
    transport_ucx.close(this_node.net);
    sync_free(this_node.sync);
    return 0;
}

static void messages_that_contradict_are_counted(void **state)
{
    static const uint8_t bytes[TM_PAGE_SIZE];
    const struct message bad[] = {
        // a page that was not asked for
        {.type = MESSAGE_page,
         .u.page = {.page = PAGE, .flags = 2},
         .body = bytes,
         .body_size = sizeof bytes},
        // pages beyond the end of the block
        {.type = MESSAGE_fetch,
         .u.fetch = {.page = PAGE, .count = N_PAGES + 1, .requester = OTHER}},
        // answers to nothing
        {.type = MESSAGE_update_ack, .u.update_ack = {.batch = 7}},
        {.type = MESSAGE_atomic_done, .u.atomic_done = {.token = 7}},
        // a block that there is already
        {.type = MESSAGE_extent_gone, .u.extent_gone = {.page = PAGE + 1}},
        // a result that nobody waits for
        {.type = MESSAGE_call_done, .u.call_done = {.token = 7}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        get(&bad[i]);
        assert_int_equal(n_refused(), i + 1);
    }
    get(&(struct message){.type = MESSAGE_beat});
    assert_int_equal(n_refused(), sizeof bad / sizeof bad[0]);
}

static void a_diff_that_makes_no_sense_is_counted(void **state)
{
    static const uint8_t diff[] = {0xff, 1, 2, 3}; // there is no encoding 0xff
    uint8_t body[64];
    struct wire_writer writer = {body, body + sizeof body, 0};
    const uint64_t before = n_refused();
    struct message update = {.type = MESSAGE_update,
                             .u.update = {.batch = 1, .origin = OTHER}};

    (void)state;
    // The root's: it is the directory of the page, and touches it.
    get(&(struct message){.type = MESSAGE_grant,
                          .u.grant = {.page = PAGE, .count = 1}});
    wire_put_u64(&writer, PAGE);
    wire_put_u32(&writer, 1);
    wire_put_u32(&writer, 1);
    wire_put_u8(&writer, 1); // to the owner
    wire_put_u16(&writer, sizeof diff);
    wire_put_bytes(&writer, diff, sizeof diff);
    update.body = body;
    update.body_size = (uint32_t)(writer.at - body);
    get(&update);
    assert_int_equal(n_refused(), before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_contradict_are_counted),
        cmocka_unit_test(a_diff_that_makes_no_sense_is_counted),
    };

    return cmocka_run_group_tests(tests, begin, end);
}

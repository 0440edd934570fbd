// SPDX-License-Identifier: BSD-3-Clause
//
// A node that gets messages no node sends: they change nothing, and are counted. And what of
// those that it sends goes in one frame.
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

// ---- frames

/** What a transport was given for other nodes. */
static struct {
    struct frame_sent {
        node_id to;
        enum message_type type;
        uint16_t count; // of a bundle
    } at[8];
    unsigned n;
} frames;

static void note_frame(struct net *net, node_id to,
                       const struct message *message)
{
    if (to == this_node.self) {
        transport_ucx.send(net, to, message);
        return;
    }
    frames.at[frames.n++] = (struct frame_sent){
        to, message->type,
        message->type == MESSAGE_bundle ? message->u.bundle.count : 0};
}

static void expect_frame(unsigned i, node_id to, enum message_type type,
                         uint16_t count)
{
    assert_int_equal(frames.at[i].to, to);
    assert_int_equal(frames.at[i].type, type);
    assert_int_equal(frames.at[i].count, count);
}

/* With the port of a node, over that transport; the lock is held. */
static int begin_frames(void **state)
{
    static struct transport noting;

    (void)state;
    noting = transport_ucx;
    noting.send = note_frame;
    frames.n = 0;
    this_node.transport = &noting;
    this_node.n_to_self = 0; // the other port has not counted
    this_node.n_nodes = 3;
    mutex_init(&this_node.lock, RANK_NODE);
    node_enter_serving(&this_node);
    return node_open_port(&this_node) != TM_OK;
}

static int end_frames(void **state)
{
    (void)state;
    this_node.transport = &transport_ucx;
    return 0;
}

static void send_beat(node_id to, int goes_along)
{
    port_send(&this_node.port, to,
              &(struct message){.type = MESSAGE_beat,
                                .goes_along = (uint8_t)goes_along});
}

static void what_goes_along_is_in_one_frame_with_what_follows(void **state)
{
    (void)state;
    send_beat(1, 1);
    send_beat(1, 1);
    assert_int_equal(frames.n, 0);
    send_beat(1, 0);
    send_beat(1, 0); // by itself
    node_leave(&this_node);
    assert_int_equal(frames.n, 2);
    expect_frame(0, 1, MESSAGE_bundle, 3);
    expect_frame(1, 1, MESSAGE_beat, 0);
}

static void what_is_held_goes_before_a_message_to_another_node(void **state)
{
    (void)state;
    send_beat(1, 1);
    send_beat(2, 0);
    send_beat(2, 1);
    send_beat(1, 1);
    node_leave(&this_node);
    assert_int_equal(frames.n, 4);
    for (unsigned i = 0; i < frames.n; i++) {
        expect_frame(i, i == 0 || i == 3 ? 1 : 2, MESSAGE_beat, 0);
    }
}

static void nothing_is_held_when_the_lock_is_given_back(void **state)
{
    (void)state;
    send_beat(1, 1);
    node_leave(&this_node);
    assert_int_equal(frames.n, 1);
    expect_frame(0, 1, MESSAGE_beat, 0);
}

static void what_is_longer_than_a_bundle_goes_behind_it(void **state)
{
    static const uint8_t bytes[BUNDLE_MAX];
    const struct message update = {.type = MESSAGE_update,
                                   .body = bytes,
                                   .body_size = sizeof bytes,
                                   .goes_along = 1};

    (void)state;
    send_beat(1, 1);
    port_send(&this_node.port, 1, &update);
    port_send(&this_node.port, 2, &update); // nothing is held then
    send_beat(1, 0);
    node_leave(&this_node);
    assert_int_equal(frames.n, 4);
    expect_frame(0, 1, MESSAGE_beat, 0);
    expect_frame(1, 1, MESSAGE_update, 0);
    expect_frame(2, 2, MESSAGE_update, 0);
    expect_frame(3, 1, MESSAGE_beat, 0);
}

static void messages_of_a_bundle_are_handled_one_by_one(void **state)
{
    static struct bundle bundle;
    const struct message done = {.type = MESSAGE_call_done,
                                 .u.call_done = {.token = 7}};
    const struct message beat = {.type = MESSAGE_beat};
    const uint64_t before = n_refused();
    const uint64_t received = this_node.n_received;
    struct message all;

    (void)state;
    bundle_add(&bundle, OTHER, &done);
    bundle_add(&bundle, OTHER, &beat);
    bundle_add(&bundle, OTHER, &done);
    bundle_take(&bundle, &all);
    get(&all);
    assert_int_equal(n_refused(), before + 2);
    assert_int_equal(this_node.n_received,
                     received + 2 + !membership_is_aside(MESSAGE_beat));
}

static void a_bundle_of_no_messages_is_counted(void **state)
{
    const uint64_t before = n_refused();

    (void)state;
    get(&(struct message){.type = MESSAGE_bundle,
                          .u.bundle = {.count = 1},
                          .body = "\1\0x",
                          .body_size = 3});
    assert_int_equal(n_refused(), before + 1);
}

#define with_frames(test)                                                      \
    cmocka_unit_test_setup_teardown(test, begin_frames, end_frames)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_contradict_are_counted),
        cmocka_unit_test(a_diff_that_makes_no_sense_is_counted),
        cmocka_unit_test(messages_of_a_bundle_are_handled_one_by_one),
        cmocka_unit_test(a_bundle_of_no_messages_is_counted),
        with_frames(what_goes_along_is_in_one_frame_with_what_follows),
        with_frames(what_is_held_goes_before_a_message_to_another_node),
        with_frames(nothing_is_held_when_the_lock_is_given_back),
        with_frames(what_is_longer_than_a_bundle_goes_behind_it),
    };

    return cmocka_run_group_tests(tests, begin, end);
}

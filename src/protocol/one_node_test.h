// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_ONE_NODE_TEST_H
#define PROTOCOL_ONE_NODE_TEST_H

/*
 * One node's engine with a block of its own, message by message: the test plays the other
 * nodes, and sees what is sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "pages/causality.h"
#include "protocol/protocol_calls.h"
#include "protocol/protocol_rows.h"
#include "protocol/updates.h"

enum {
    SELF = 1,
    N_NODES = 3,
    N_PAGES = 4 * SPACE_BLOCK, // directory nodes 0, 1, 2, 0
    SERIAL = 7,
    SENT_MAX = 64,
};

struct sent {
    node_id to;
    struct message message;
    uint8_t body[3 * TM_PAGE_SIZE];
};

static struct world {
    struct port port;
    struct space space;
    struct engine *engine;
    struct sent sent[SENT_MAX];
    unsigned n_sent;
    struct waiter waiter;
    unsigned n_woken;
} world;

static void keep_sent(void *owner, node_id to, const struct message *message)
{
    struct sent *sent = &world.sent[world.n_sent++];

    (void)owner;
    assert_true(world.n_sent <= SENT_MAX);
    assert_true(message->body_size <= sizeof sent->body);
    sent->to = to;
    sent->message = *message;
    if (message->body_size > 0) {
        memcpy(sent->body, message->body, message->body_size);
    }
    sent->message.body = sent->body;
}

static uint64_t no_time(void *owner)
{
    (void)owner;
    return 0;
}

static void count_wake(struct waiter *waiter)
{
    (void)waiter;
    world.n_woken++;
}

static inline void open_node(tm_protocol protocol, tm_sharing sharing)
{
    static const struct protocol *const rows[] = {
        &protocol_adaptive,     &protocol_eager_release, &protocol_homeless,
        &protocol_lazy_release, &protocol_scope,         &protocol_sequential};
    static const struct protocols protocols = {rows, 6};
    const struct extent block = {
        .n_pages = N_PAGES,
        .size = (uint64_t)N_PAGES * TM_PAGE_SIZE,
        .protocol = protocol,
        .sharing = sharing,
        .serial = SERIAL,
        .is_open = 1,
    };

    memset(&world, 0, sizeof world);
    world.port =
        (struct port){.self = SELF, .send = keep_sent, .now_ns = no_time};
    roster_init(&world.port.roster, N_NODES);
    world.waiter.wake = count_wake;
    assert_int_equal(
        space_open(&world.space, NULL, NULL, 0, (size_t)N_PAGES * TM_PAGE_SIZE),
        TM_OK);
    world.engine =
        engine_new(&world.port, &world.space, &protocols, TM_LAZY_RELEASE);
    assert_non_null(world.engine);
    extent_insert(world.engine, &block);
}

static inline int open_eager(void **state)
{
    (void)state;
    open_node(TM_EAGER_RELEASE, TM_SHARING_DEFAULT);
    return 0;
}

static inline int open_adaptive(void **state)
{
    (void)state;
    open_node(TM_ADAPTIVE, TM_SHARING_DEFAULT);
    return 0;
}

static int close_node(void **state)
{
    (void)state;
    engine_free(world.engine);
    space_close(&world.space);
    return 0;
}

// ---- what others send

static inline void get(node_id from, const struct message *message)
{
    assert_int_equal(engine_receive(world.engine, from, message), TM_OK);
}

static inline void get_fetch(node_id requester, page_no page, int is_write)
{
    get(requester, &(struct message){.type = MESSAGE_fetch,
                                     .u.fetch = {.page = page,
                                                 .count = 1,
                                                 .write = (uint8_t)is_write,
                                                 .requester = requester,
                                                 .id = 1}});
}

static inline void get_page(node_id from, page_no page, uint32_t version,
                            unsigned flags, uint8_t moves)
{
    static const uint8_t bytes[TM_PAGE_SIZE];

    get(from, &(struct message){.type = MESSAGE_page,
                                .u.page = {.page = page,
                                           .version = version,
                                           .epoch = 3,
                                           .flags = (uint8_t)flags,
                                           .moves = moves},
                                .body = bytes,
                                .body_size = sizeof bytes});
}

// ---- what this node does

static inline enum fault_result use_page(page_no page, int is_write)
{
    return engine_fault(world.engine, page, is_write, NULL, &world.waiter);
}

// A page comes here with its ownership.
static inline void own_page(page_no page, uint8_t moves)
{
    assert_int_equal(use_page(page, 0), FAULT_WAIT);
    get_page(2, page, 1, PAGE_WITH_CONTENTS | PAGE_WITH_OWNERSHIP, moves);
}

// A copy of another node's page comes here.
static inline void copy_page(page_no page, uint32_t version)
{
    assert_int_equal(use_page(page, 0), FAULT_WAIT);
    get_page(2, page, version, PAGE_WITH_CONTENTS, 255);
}

// It has faulted, if it must, and writes.
static inline void write_page(page_no page)
{
    if (world.space.pages[page].access != ACCESS_WRITE) {
        assert_int_equal(use_page(page, 1), FAULT_ALLOWED);
    }
    space_bytes_to_change(&world.space, page)[8]++;
}

static inline const struct sent *last_sent(node_id to, enum message_type type)
{
    const struct sent *sent;

    assert_true(world.n_sent > 0);
    sent = &world.sent[world.n_sent - 1];
    assert_int_equal(sent->message.type, type);
    assert_int_equal(sent->to, to);
    return sent;
}

#endif

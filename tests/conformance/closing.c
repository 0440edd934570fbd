// SPDX-License-Identifier: BSD-3-Clause
//
// A block is freed by who has written to it just before, and while it is being freed another
// thread there releases. The former use of a page is over before the next one begins: so no
// message is of a page that is in no block.
#include "closing.h"

#include "pages/pages.h"

static struct waiter released;
static struct waiter
    asking[N_PAGES];    // for pages that are not to be written at once
static int is_expected; // what was written is not released yet
static node_id writer;

static void do_nothing(struct waiter *waiter)
{
    (void)waiter;
}

// Pages that are not here, or cannot be written without others, are left alone.
static int may_write(const struct world *world, page_no page)
{
    const struct page *at = page_of(world->nodes[writer].engine, page);

    return at->state != PAGE_ABSENT && !at->pinned &&
           (world->protocol != TM_SEQUENTIAL || at->state == PAGE_EXCLUSIVE);
}

static void write_once_more(struct world *world, page_no page,
                            struct waiter *waiter)
{
    struct node *node = &world->nodes[writer];

    *waiter = (struct waiter){.wake = do_nothing};
    if (may_write(world, page) &&
        (node->space.pages[page].access == ACCESS_WRITE ||
         engine_fault(node->engine, page, 1, NULL, waiter) == FAULT_ALLOWED)) {
        space_bytes_to_change(&node->space, page)[3] ^= 0xff;
    }
}

void closing_begin(struct world *world, node_id node)
{
    writer = node;
    for (unsigned at = 0; at < N_PAGES; at++) {
        write_once_more(world, world->pages[at], &asking[at]);
    }
    is_expected = 1;
}

void closing_release(struct world *world)
{
    struct engine *engine = world->nodes[writer].engine;
    const struct extent *extent =
        is_expected ? extent_find(engine, world->pages[0]) : NULL;

    if (extent != NULL && extent->is_closed) {
        is_expected = 0;
        released.wake = do_nothing;
        engine_release(engine, NODE_NONE, &released);
    }
}

static void check_items(const struct engine *engine,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        CHECK(extent_find(engine, wire_get_update_item(&reader).page) != NULL);
    }
}

static void check_called(const struct engine *engine,
                         const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        CHECK(extent_find(engine, wire_get_page_number(&reader).page) != NULL);
    }
}

void closing_check(const struct world *world, node_id node,
                   const struct message *message)
{
    const struct engine *engine = world->nodes[node].engine;

    switch (message->type) {
    case MESSAGE_update:
        check_items(engine, message);
        break;
    case MESSAGE_recall:
    case MESSAGE_recalled:
        check_called(engine, message);
        break;
    case MESSAGE_fetch:
        CHECK(extent_find(engine, message->u.fetch.page) != NULL);
        break;
    case MESSAGE_page:
        CHECK(extent_find(engine, message->u.page.page) != NULL);
        break;
    case MESSAGE_grant:
        CHECK(extent_find(engine, message->u.grant.page) != NULL);
        break;
    default:
        break;
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that migrate go round with a mutex, mostly: its next holder misses them, one after the
// other, and asks for each. So those that a mutex guards (guards.c) go along with its token, in
// the same frame, and with their ownership: neither a request nor an answer is left. (The lazy hybrid
// protocol of [Dwarkadas93] sends what has changed along with a lock, to who has a copy; [Seidel97]
// sends what was written under it to who will probably lock it next. Here who that is is known, and it
// need have no copy.)
//
// Pages follow a token also through a node that does not lock the mutex, its manager perhaps.
//
// What is sent is all of the page that is not zero: what the receiver still has of it is not known.
// A request of the receiver may be out. Then the page is its own, and stays `fetching` until the
// request is answered or comes back, as I1 of fetch.c has it of grants.
//
// Q1 A page goes along only as it would to who asks for it (A8, A10), and only if no node is noted to
//    have a copy: the receiver's may be one that has stayed, which is clean (A9).
// Q2 It goes in front of the token. So whoever is ordered behind the holder has it.
// Q3 It names its block by the serial number: a page of a freed block is nobody's. (Of one that is being
//    freed it is taken: a request may still be out that finds nobody else.)
// Q4 What does not stay where it was is discarded at once: the next message may bring it back.
#include "protocol/mutex_pages.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "mem/diff.h"
#include "pages/places.h"
#include "protocol/choices.h"
#include "protocol/copies.h"
#include "protocol/guards.h"
#include "protocol/hand_on.h"
#include "protocol/migration.h"
#include "protocol/recent.h"
#include "protocol/refresh.h"

#define BODY_MAX                                                               \
    (GUARDED_MAX * (WIRE_SIZE_mutex_page + DIFF_MAX + RECENT_LINES_MAX))

// ---- the token leaves

// Q1. What waits for its thread, or for the disk, is asked for.
static int may_go(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->is_owner && migration_is_on(engine, page_number) &&
           !page->pinned && page->deferred == NULL &&
           !paging_is_away(engine, page_number) &&
           hand_on_is_free(engine, page_number, NODE_NONE);
}

static void put_page(struct engine *engine, page_no page_number,
                     struct wire_writer *writer)
{
    const struct page *page = page_of(engine, page_number);
    _Alignas(64) uint8_t zeros[TM_PAGE_SIZE] = {0};
    uint8_t diff[DIFF_MAX];
    uint8_t lines[RECENT_LINES_MAX];

    wire_put_mutex_page(
        writer, &(struct wire_mutex_page){
                    .page = page_number,
                    .serial = extent_find(engine, page_number)->serial,
                    .version = page->version,
                    .epoch = page->epoch + 1,
                    .diff = {diff, (uint16_t)diff_encode(
                                       space_bytes(engine->space, page_number),
                                       zeros, diff)},
                    .lines = {lines, (uint16_t)recent_lines(engine, page_number,
                                                            lines)},
                });
}

static void go(struct engine *engine, page_no page_number, node_id to,
               struct wire_writer *writer)
{
    choices_of(engine, page_number)->n_migrated++;
    put_page(engine, page_number, writer);
    refresh_leave(engine, page_number, to);
    steps_made(engine, page_number,
               (struct step_cause){.event = STEP_GOES_ALONG, .who = to});
}

// @return 0 nobody has written it, though the mutex was locked here
static int is_of_use(struct engine *engine, const struct guard *guard,
                     const struct guarded *item)
{
    hand_on_seal(engine, item->page); // A10
    return !guard->was_locked ||
           page_of(engine, item->page)->version != item->version;
}

static void put_pages(struct engine *engine, struct guard *guard, node_id to,
                      struct wire_writer *writer)
{
    for (unsigned i = guard->n; i-- > 0;) {
        struct guarded *item = &guard->pages[i];

        if (item->n_seen < GUARDED_SURE || !may_go(engine, item->page)) {
            continue;
        }
        if (is_of_use(engine, guard, item)) {
            go(engine, item->page, to, writer);
        } else {
            steps_made(engine, item->page,
                       (struct step_cause){.event = STEP_GOES_ALONG});
            guards_take_out(engine, guard, item);
        }
    }
}

static void send(struct engine *engine, struct guard *guard, node_id to)
{
    uint8_t *body = malloc(BODY_MAX); // a thread's stack may be small
    struct wire_writer writer = {body, body + BODY_MAX, 0};
    struct message message = {.type = MESSAGE_mutex_pages, .body = body};

    ensure_memory(body != NULL);
    put_pages(engine, guard, to, &writer);
    engine_discard_now(engine); // Q4
    message.goes_along = 1;     // Q2
    message.u.mutex_pages.mutex = guard->mutex;
    message.body_size = (uint32_t)(writer.at - body);
    if (message.body_size > 0) {
        port_send(engine->port, to, &message);
    }
    free(body);
}

void mutex_pages_send(struct engine *engine, node_id to, uint64_t mutex)
{
    struct guard *guard = guards_find(engine, mutex);

    if (guard == NULL) {
        return;
    }
    if (guard->n > 0) {
        send(engine, guard, to);
    }
    guard->was_locked = 0;
}

// ---- it comes

// Q3
static int is_of_its_block(const struct engine *engine,
                           const struct wire_mutex_page *got)
{
    const struct extent *extent = extent_has(engine, got->page, 1)
                                      ? extent_find(engine, got->page)
                                      : NULL;

    return extent != NULL && extent->serial == got->serial;
}

// A copy that has stayed is given up.
static void make_room(struct engine *engine, page_no page)
{
    struct page_list copies = {&page, 1, 1};

    copies_make_stale(engine, &copies);
}

static tm_status fill(struct engine *engine, const struct wire_mutex_page *got)
{
    _Alignas(64) uint8_t bytes[TM_PAGE_SIZE] = {0};

    if (got->diff.size > 0 &&
        diff_apply(got->diff.at, got->diff.size, bytes, NULL) != TM_OK) {
        return TM_EWIRE;
    }
    make_room(engine, got->page);
    space_fill(engine->space, got->page, 1, bytes);
    engine->stats.pages_fetched++;
    place_note(engine, got->page, PLACE_FETCH);
    return TM_OK;
}

// (A fetch that is out stays so: I1 of fetch.c.)
static void own(struct engine *engine, node_id from,
                const struct wire_refreshed_copy *copy)
{
    struct page *page = page_of(engine, copy->page);

    page->base = copy->version;
    page->subscribed = 0;
    refresh_own(engine, from, copy);
    page_use_of(page)->has_written = 1; // by who has sent it
    fetch_is_overtaken(engine, copy->page);
}

static tm_status take(struct engine *engine, node_id from, uint64_t mutex,
                      const struct wire_mutex_page *got)
{
    const struct wire_refreshed_copy copy = {
        .page = got->page,
        .version = got->version,
        .epoch = got->epoch,
        .flags = PAGE_WITH_OWNERSHIP,
        .lines = got->lines,
    };
    const struct step_cause before = steps_begin_refreshed(engine, from, &copy);
    tm_status status = TM_EWIRE;

    if (!page_of(engine, got->page)->is_owner &&
        protocol_of(engine, got->page)->refetch != NULL) {
        status = fill(engine, got);
    }
    if (status == TM_OK) {
        own(engine, from, &copy);
        guards_came_along(engine, got->page, mutex);
    }
    steps_end(engine, before, status);
    return status;
}

tm_status mutex_pages_receive(struct engine *engine, node_id from,
                              const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_mutex_page got = wire_get_mutex_page(&reader);

        if (!reader.failed && is_of_its_block(engine, &got) &&
            take(engine, from, message->u.mutex_pages.mutex, &got) != TM_OK) {
            engine_refuse_part(engine, got.page, "what goes with a mutex");
        }
    }
    return TM_OK;
}

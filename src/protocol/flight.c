// SPDX-License-Identifier: BSD-3-Clause
//
// A flight is a set of diffs that have been sent and not yet all acknowledged:
//   flush   a release of this node: its diffs to copysets and owners (release.c)
//   relay   an update of another node, passed on to copies or to the owner; its
//           sender is acknowledged when everybody here has (updates.c)
//   atomic  the result of an atomic operation, pushed to the copies (atomic.c)
// While a flight is being made its diffs are collected in one outbox a node, so
// that each node gets one message (or, over MESSAGE_BODY_MAX, a few).
//
// F1 `outstanding` is the number of UPDATE messages sent and not acknowledged, and of
//    items that are pending (pending_updates.c).
// F2 `pushing` of a page is the number of flights that push it.
// F3 `in_flight` of a page is the number of flushes that have sent its diff to the owner:
//    several, if copies are cleaned, or become stale, while a release is under way.
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "pages/places.h"
#include "protocol/updates.h"

#include <stdlib.h>
#include <string.h>

static struct flight *add_slot(struct updates *updates)
{
    struct flight *flight = calloc(1, sizeof *flight);
    size_t n = updates->n_flights + 1;

    updates->flights = realloc(updates->flights, n * sizeof(struct flight *));
    ensure_memory(flight != NULL && updates->flights != NULL);
    flight->slot = (uint32_t)updates->n_flights;
    updates->flights[updates->n_flights++] = flight;
    return flight;
}

struct flight *flight_new(struct engine *engine, const struct flight_kind *kind)
{
    struct updates *updates = engine->updates;
    struct flight *flight = NULL;

    for (size_t i = 0; i < updates->n_flights && flight == NULL; i++) {
        if (updates->flights[i]->kind == NULL) {
            flight = updates->flights[i];
        }
    }
    if (flight == NULL) {
        flight = add_slot(updates);
    }
    flight->generation++;
    flight->kind = kind;
    flight->outstanding = 0;
    flight->n_pending = 0;
    flight->sent_to = NODE_NONE;
    flight->is_followed = 0;
    flight->goes_on = 0;
    flight->n_pages = 0;
    flight->dropped.n = 0;
    flight->handed.n = 0;
    flight->left.n = 0;
    engine->n_unfinished++;
    return flight;
}

void flight_add_page(struct flight *flight, page_no page, int is_pushed,
                     int may_hand)
{
    vector_reserve(flight->pages, flight->room, flight->n_pages + 1);
    flight->pages[flight->n_pages++] = (struct flight_page){
        .page = page,
        .is_pushed = is_pushed != 0,
        .may_hand = may_hand != 0,
    };
}

void flight_tell_version(struct flight *flight, page_no page, uint32_t version)
{
    flight_add_page(flight, page, 0, 0);
    flight->pages[flight->n_pages - 1].tells = 1;
    flight->pages[flight->n_pages - 1].version = version;
}

// ---- out

static void send_outbox(struct engine *engine, struct flight *flight,
                        node_id to)
{
    struct outbox *outbox = &engine->updates->outboxes[to];
    struct message message = {
        .type = MESSAGE_update,
        .u.update = {.batch = (uint64_t)flight->generation << 32 | flight->slot,
                     .origin = flight->origin},
        .body = outbox->bytes,
        .body_size = outbox->used,
        .goes_along = (uint8_t)flight->is_followed,
    };

    if (flight->outstanding == 0) {
        flight->sent_to = to;
    } else if (flight->sent_to != to) {
        flight->sent_to = NODE_NONE;
    }
    flight->outstanding++;
    outbox->used = 0;
    port_send(engine->port, to, &message);
}

// One is empty no more: its place among those that are not.
static void note_filled(struct updates *updates, node_id to)
{
    unsigned place = updates->n_filled++;

    for (; place > 0 && updates->filled[place - 1] > to; place--) {
        updates->filled[place] = updates->filled[place - 1];
    }
    updates->filled[place] = to;
}

// Room for so many bytes in one message.
static void prepare_outbox(struct engine *engine, struct flight *flight,
                           node_id to, size_t size)
{
    struct outbox *outbox = &engine->updates->outboxes[to];

    if (outbox->bytes == NULL) {
        outbox->bytes = malloc(MESSAGE_BODY_MAX);
        ensure_memory(outbox->bytes != NULL);
    }
    if (outbox->used + size > MESSAGE_BODY_MAX) {
        send_outbox(engine, flight, to); // it stays on the list: more follows
    } else if (outbox->used == 0) {
        note_filled(engine->updates, to);
    }
}

static void add_item(struct outbox *outbox, const struct update_item *item)
{
    struct wire_writer writer = {outbox->bytes + outbox->used,
                                 outbox->bytes + MESSAGE_BODY_MAX, 0};

    wire_put_update_item(&writer, &(struct wire_update_item){
                                      .page = item->page,
                                      .version = item->version,
                                      .epoch = item->epoch,
                                      .kind = (uint8_t)item->kind,
                                      .diff = {item->diff, item->size},
                                  });
    outbox->used = (uint32_t)(writer.at - outbox->bytes);
}

static void add_writer(struct outbox *outbox, const struct race_writer *writer)
{
    const struct update_item item = {
        .page = writer->thread,
        .kind = ITEM_WRITER,
        .size = writer->size,
        .diff = writer->clock,
    };

    add_item(outbox, &item);
}

void flight_add(struct engine *engine, struct flight *flight, node_id to,
                unsigned kind, const struct update_item *item)
{
    struct outbox *outbox = &engine->updates->outboxes[to];
    const struct page *page = page_of(engine, item->page);
    struct update_item sent = *item;
    size_t size = WIRE_SIZE_update_item + item->size;

    if (item->writer.clock != NULL) {
        size += WIRE_SIZE_update_item + item->writer.size;
    }
    prepare_outbox(engine, flight, to, size);
    if (item->writer.clock != NULL) {
        add_writer(outbox, &item->writer);
    }
    sent.version = page->version;
    sent.epoch = page->epoch;
    sent.kind = kind;
    add_item(outbox, &sent);
    steps_sent(engine, item->page,
               kind == ITEM_PUSH ? STEP_SENT_PUSH : STEP_SENT_DIFF, to);
    engine->stats.updates_sent++;
    place_note(engine, item->page, PLACE_DIFF);
}

int flight_push(struct engine *engine, struct flight *flight, node_id except,
                const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);
    int n = 0;

    for (int node = copyset_next(page, 0); node >= 0;
         node = copyset_next(page, (unsigned)node + 1)) {
        if (node != except) {
            flight_add(engine, flight, (node_id)node, ITEM_PUSH, item);
            n++;
        }
    }
    if (n > 0) {
        page->pushing++; // F2
    }
    return n > 0;
}

// ---- back

int flight_goes_alone(const struct engine *engine, const struct flight *flight,
                      node_id to)
{
    (void)engine;
    (void)flight;
    (void)to;
    return 0;
}

void flight_leaves_it(struct engine *engine, const struct flight *flight)
{
    (void)engine;
    (void)flight;
}

void flight_ends_so(struct engine *engine)
{
    (void)engine;
}

static void finish(struct engine *engine, struct flight *flight)
{
    const struct flight_kind *kind = flight->kind;

    for (size_t i = 0; i < flight->n_pages; i++) {
        struct page *page = page_of(engine, flight->pages[i].page);

        if (flight->pages[i].is_pushed) {
            page->pushing--;
        } else if (kind->is_own) {
            page->in_flight--; // F3
        }
        steps_made_run(engine, flight->pages[i].page, 1, STEP_ACKNOWLEDGED);
    }
    kind->arrived(engine, flight);
    flight->kind = NULL;
    engine->n_unfinished--;
    kind->ended(engine);
    engine_finished(engine);
}

// The node that all of a flight goes to in one message; NODE_NONE: there is none.
static node_id only_receiver(const struct engine *engine,
                             const struct flight *flight)
{
    const struct updates *updates = engine->updates;

    return updates->n_filled == 1 && flight->outstanding == 0
               ? updates->filled[0]
               : NODE_NONE;
}

void flight_depart(struct engine *engine, struct flight *flight)
{
    struct updates *updates = engine->updates;
    const node_id only = only_receiver(engine, flight);

    flight->is_followed =
        only != NODE_NONE && flight->kind->has_follower(engine, flight, only);
    for (unsigned i = 0; i < updates->n_filled; i++) {
        send_outbox(engine, flight, updates->filled[i]);
    }
    updates->n_filled = 0;
    if (flight->outstanding == 0) {
        finish(engine, flight);
    } else {
        flight->kind->departed(engine, flight);
    }
}

void flight_acknowledged(struct engine *engine, struct flight *flight)
{
    if (--flight->outstanding == 0) {
        finish(engine, flight);
    }
}

void flight_forget(struct engine *engine, const struct extent *extent)
{
    for (size_t i = 0; i < engine->updates->n_flights; i++) {
        struct flight *flight = engine->updates->flights[i];
        size_t kept = 0;

        for (size_t k = 0; k < flight->n_pages; k++) {
            if (flight->pages[k].page < extent->page ||
                flight->pages[k].page >= extent->page + extent->n_pages) {
                flight->pages[kept++] = flight->pages[k];
            }
        }
        flight->n_pages = kept;
    }
}

struct flight *flight_find(const struct engine *engine, uint64_t batch)
{
    const struct updates *updates = engine->updates;
    uint32_t slot = (uint32_t)batch;
    struct flight *flight;

    if (slot >= updates->n_flights) {
        return NULL;
    }
    flight = updates->flights[slot];
    if (flight->kind == NULL || flight->generation != batch >> 32 ||
        flight->outstanding == flight->n_pending) {
        return NULL;
    }
    return flight;
}

void flights_free(struct updates *updates)
{
    for (size_t i = 0; i < updates->n_flights; i++) {
        free(updates->flights[i]->pages);
        free(updates->flights[i]->dropped.at);
        free(updates->flights[i]->handed.at);
        free(updates->flights[i]->left.at);
        free(updates->flights[i]);
    }
    free(updates->flights);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A flight is a set of diffs that have been sent and not yet all acknowledged:
//   flush   a release of this node: its diffs to copysets and owners
//   relay   an update of another node, passed on to copies or to the owner; its
//           sender is acknowledged when everybody here has
//   atomic  the result of an atomic operation, pushed to the copies
// While a flight is being made its diffs are collected in one outbox a node, so
// that each node gets one message (or, over MESSAGE_BODY_MAX, a few).
//
// F1 `outstanding` is the number of UPDATE messages sent and not acknowledged, and of
//    items that are late (late.c).
// F2 `pushing` of a page is the number of flights that push it.
#include "base/ensure.h"
#include "base/log.h"
#include "proto/engine_priv.h"

#include <stdlib.h>
#include <string.h>

#define ITEM_HEADER 19u // page, version, epoch, kind, length
#define DROPPED_ITEM 9u // page, what
#define HANDED_ITEM 50u // the same, version, epoch, moves, copyset

static struct flight *add_slot(struct engine *engine)
{
    struct flight *flight = calloc(1, sizeof *flight);
    size_t n = engine->n_flights + 1;

    engine->flights = realloc(engine->flights, n * sizeof(struct flight *));
    ensure_memory(flight != NULL && engine->flights != NULL);
    flight->slot = (uint32_t)engine->n_flights;
    engine->flights[engine->n_flights++] = flight;
    return flight;
}

struct flight *flight_new(struct engine *engine, enum flight_kind kind)
{
    struct flight *flight = NULL;

    for (size_t i = 0; i < engine->n_flights && flight == NULL; i++) {
        if (!engine->flights[i]->is_used) {
            flight = engine->flights[i];
        }
    }
    if (flight == NULL) {
        flight = add_slot(engine);
    }
    flight->is_used = 1;
    flight->generation++;
    flight->kind = kind;
    flight->outstanding = 0;
    flight->n_late = 0;
    flight->sent_to = NODE_NONE;
    flight->goes_on = 0;
    flight->n_pages = 0;
    flight->dropped.n = 0;
    flight->handed.n = 0;
    engine->n_flying++;
    return flight;
}

void flight_add_page(struct flight *flight, page_no page, int is_pushed,
                     int may_hand)
{
    if (flight->n_pages == flight->room) {
        flight->room = flight->room == 0 ? 64 : flight->room * 2;
        flight->pages =
            realloc(flight->pages, flight->room * sizeof *flight->pages);
        ensure_memory(flight->pages != NULL);
    }
    flight->pages[flight->n_pages++] = (struct flight_page){
        .page = page,
        .is_pushed = is_pushed != 0,
        .may_hand = may_hand != 0,
    };
}

// ---- out

static void send_outbox(struct engine *engine, struct flight *flight,
                        node_id to)
{
    struct outbox *outbox = &engine->outboxes[to];
    struct message message = {
        .type = MESSAGE_update,
        .u.update = {.batch = (uint64_t)flight->generation << 32 | flight->slot,
                     .origin = flight->origin},
        .body = outbox->bytes,
        .body_size = outbox->used,
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

// Room for so many bytes in one message.
static void prepare_outbox(struct engine *engine, struct flight *flight,
                           node_id to, size_t size)
{
    struct outbox *outbox = &engine->outboxes[to];

    if (outbox->bytes == NULL) {
        outbox->bytes = malloc(MESSAGE_BODY_MAX);
        ensure_memory(outbox->bytes != NULL);
    }
    if (outbox->used + size > MESSAGE_BODY_MAX) {
        send_outbox(engine, flight, to);
    }
}

static void add_item(struct outbox *outbox, const struct update_item *item)
{
    struct wire_writer writer = {outbox->bytes + outbox->used,
                                 outbox->bytes + MESSAGE_BODY_MAX, 0};

    wire_put_u64(&writer, item->page);
    wire_put_u32(&writer, item->version);
    wire_put_u32(&writer, item->epoch);
    wire_put_u8(&writer, (uint8_t)item->kind);
    wire_put_u16(&writer, item->size);
    wire_put_bytes(&writer, item->diff, item->size);
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
    struct outbox *outbox = &engine->outboxes[to];
    const struct page *page = page_of(engine, item->page);
    struct update_item sent = *item;
    size_t size = ITEM_HEADER + item->size;

    if (item->writer.clock != NULL) {
        size += ITEM_HEADER + item->writer.size;
    }
    prepare_outbox(engine, flight, to, size);
    if (item->writer.clock != NULL) {
        add_writer(outbox, &item->writer);
    }
    sent.version = page->version;
    sent.epoch = page->epoch;
    sent.kind = kind;
    add_item(outbox, &sent);
    engine->stats.updates_sent++;
}

int flight_push(struct engine *engine, struct flight *flight, node_id except,
                const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);
    int n = 0;

    if (page->copyset == NULL) {
        return 0;
    }
    for (int node = node_set_next(page->copyset, 0); node >= 0;
         node = node_set_next(page->copyset, (unsigned)node + 1)) {
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

// Ownership goes to the sender of the update with its acknowledgement.
static void hand_over(struct engine *engine, struct wire_writer *writer,
                      page_no page_number, node_id to)
{
    struct page *page = page_of(engine, page_number);

    if (page->access != ACCESS_NONE) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
    }
    copyset_remove(engine, page, to);
    page->epoch++;
    wire_put_u64(writer, page_number);
    wire_put_u8(writer, ACK_HANDED);
    wire_put_u32(writer, page->version);
    wire_put_u32(writer, page->epoch);
    wire_put_u8(writer, page->moves);
    for (unsigned i = 0; i < 4; i++) {
        wire_put_u64(writer,
                     page->copyset == NULL ? 0 : page->copyset->words[i]);
    }
    copyset_clear(engine, page);
    page->is_owner = 0;
    page->hint = (uint16_t)(to + 1);
    page->state = PAGE_ABSENT;
    engine_discard_later(engine, page_number);
}

static void send_ack(struct engine *engine, const struct flight *flight,
                     const uint8_t *body, const struct wire_writer *writer,
                     int is_last)
{
    struct message message = {
        .type = MESSAGE_update_ack,
        .u.update_ack = {.batch = flight->batch, .is_last = is_last != 0},
        .body = body,
        .body_size = (uint32_t)(writer->at - body),
    };

    port_send(engine->port, flight->reply_to, &message);
}

// A part of the acknowledgement that is full goes.
static void make_room(struct engine *engine, const struct flight *flight,
                      uint8_t *body, struct wire_writer *writer, size_t size)
{
    if ((size_t)(writer->end - writer->at) < size) {
        send_ack(engine, flight, body, writer, 0);
        writer->at = body;
    }
}

// What is told at once. Copies given up here: the next request for such a page must
// not overtake the news that it was dropped (E2). Pages that go to the origin without
// having been changed here: nobody may be served from the old bytes.
static void report_early(struct engine *engine, struct flight *flight)
{
    uint8_t body[4096];
    struct wire_writer writer = {body, body + sizeof body, 0};

    for (size_t i = 0; i < flight->dropped.n; i++) {
        make_room(engine, flight, body, &writer, DROPPED_ITEM);
        wire_put_u64(&writer, flight->dropped.at[i]);
        wire_put_u8(&writer, ACK_DROPPED);
    }
    for (size_t i = 0; i < flight->handed.n; i++) {
        if (!page_of(engine, flight->handed.at[i])->is_owner) {
            continue; // the update named it twice, and it has gone
        }
        make_room(engine, flight, body, &writer, HANDED_ITEM);
        hand_over(engine, &writer, flight->handed.at[i], flight->origin);
    }
    if (writer.at > body) {
        send_ack(engine, flight, body, &writer, 0);
    }
    flight->dropped.n = 0;
    flight->handed.n = 0;
}

static void acknowledge(struct engine *engine, struct flight *flight)
{
    uint8_t body[4096];
    struct wire_writer writer = {body, body + sizeof body, 0};

    for (size_t i = 0; i < flight->n_pages; i++) {
        const struct flight_page *item = &flight->pages[i];

        if (item->may_hand &&
            eager_may_hand(engine, item->page, flight->origin)) {
            make_room(engine, flight, body, &writer, HANDED_ITEM);
            hand_over(engine, &writer, item->page, flight->origin);
        }
    }
    send_ack(engine, flight, body, &writer, 1);
}

static void finish(struct engine *engine, struct flight *flight)
{
    for (size_t i = 0; i < flight->n_pages; i++) {
        struct page *page = page_of(engine, flight->pages[i].page);

        if (flight->pages[i].is_pushed) {
            page->pushing--;
        } else if (flight->kind == FLIGHT_FLUSH) {
            page->in_flight = 0;
        }
    }
    if (flight->kind == FLIGHT_RELAY) {
        acknowledge(engine, flight);
    } else if (flight->kind == FLIGHT_ATOMIC) {
        atomic_finish(engine, flight);
    }
    flight->is_used = 0;
    engine->n_flying--;
    if (flight->kind == FLIGHT_FLUSH) {
        release_flushed(engine);
    }
    if (engine->n_flying == 0) {
        blocks_check_all(engine);
    }
}

void flight_depart(struct engine *engine, struct flight *flight)
{
    const struct roster *roster = &engine->port->roster;

    report_early(engine, flight);
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (engine->outboxes[roster->live[i]].used > 0) {
            send_outbox(engine, flight, roster->live[i]);
        }
    }
    if (flight->outstanding == 0) {
        finish(engine, flight);
    } else if (flight->kind == FLIGHT_FLUSH) {
        release_sent(engine, flight);
    }
}

void flight_forget(struct engine *engine, const struct extent *extent)
{
    for (size_t i = 0; i < engine->n_flights; i++) {
        struct flight *flight = engine->flights[i];
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

static struct flight *find(struct engine *engine, uint64_t batch)
{
    uint32_t slot = (uint32_t)batch;
    struct flight *flight;

    if (slot >= engine->n_flights) {
        return NULL;
    }
    flight = engine->flights[slot];
    if (!flight->is_used || flight->generation != batch >> 32 ||
        flight->outstanding == flight->n_late) {
        return NULL;
    }
    return flight;
}

static void read_handed(struct engine *engine, struct wire_reader *reader,
                        page_no page, node_id from)
{
    uint32_t version = wire_get_u32(reader);
    uint32_t epoch = wire_get_u32(reader);
    uint8_t moves = wire_get_u8(reader);
    struct node_set copyset;

    for (unsigned i = 0; i < 4; i++) {
        copyset.words[i] = wire_get_u64(reader);
    }
    if (extent_is_of(engine, page, TM_EAGER_RELEASE)) {
        eager_take(engine, page, from, version, epoch, moves, &copyset);
    }
}

static void read_items(struct engine *engine, node_id from,
                       struct wire_reader *reader)
{
    while (reader->at < reader->end) {
        page_no page = wire_get_u64(reader);

        if (wire_get_u8(reader) == ACK_HANDED) {
            read_handed(engine, reader, page, from);
        } else if (extent_is_of(engine, page, TM_EAGER_RELEASE) &&
                   page_of(engine, page)->is_owner) {
            copyset_remove(engine, page_of(engine, page), from);
        }
    }
}

static int is_well_formed(const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (reader.at < reader.end && !reader.failed) {
        unsigned what;

        wire_get_u64(&reader); // the page
        what = wire_get_u8(&reader);
        if (what == ACK_HANDED) {
            wire_get_bytes(&reader, HANDED_ITEM - DROPPED_ITEM);
        } else if (what != ACK_DROPPED) {
            return 0;
        }
    }
    return !reader.failed;
}

tm_status flight_receive_ack(struct engine *engine, node_id from,
                             const struct message *message)
{
    struct flight *flight = find(engine, message->u.update_ack.batch);
    struct wire_reader reader = wire_read_body(message);

    if (flight == NULL || !is_well_formed(message)) {
        return TM_EWIRE;
    }
    read_items(engine, from, &reader);
    if (message->u.update_ack.is_last && --flight->outstanding == 0) {
        finish(engine, flight);
    }
    return TM_OK;
}

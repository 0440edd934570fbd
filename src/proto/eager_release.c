// SPDX-License-Identifier: BSD-3-Clause
//
// eager-release (protocols.md, section 3): several nodes write a page at once,
// each against its twin; at a release the differing bytes go to all copies. How
// the release collects them is in release.c; here is what a fault, a fetch, and
// an update that arrives do to a page.
//
//   absent     -> exclusive   arrived, with ownership
//              -> clean       arrived
//   clean      -> dirty       local_fault, write, others hold it: twin
//              -> exclusive   local_fault, write, nobody else holds it
//              -> absent      drop_copy (unused), hand_over (flight.c)
//   dirty      -> clean, exclusive   release.c
//   exclusive  -> clean       serve: a copy goes out
//              -> absent      serve: the page moves
#include "mem/diff.h"
#include "proto/engine_priv.h"

#include <stdlib.h>
#include <string.h>

// An exclusive page moves to the node that asks so often; later it is shared.
#define READ_MOVES 1u
#define WRITE_MOVES 3u

#define PROBE_MAX 64u

static void begin_writing(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (engine->race != NULL) {
        race_begin_writing(engine, page_number, engine->faulter);
    }
    if (page->is_owner && copyset_is_empty(page) && engine->race == NULL) {
        page->state = PAGE_EXCLUSIVE;
    } else {
        page->twin = twin_pool_get(&engine->space->twins);
        memcpy(page->twin, space_bytes(engine->space, page_number),
               TM_PAGE_SIZE);
        page->state = PAGE_DIRTY;
        engine->stats.twins++;
        release_list(engine, page_number);
    }
    space_set_access(engine->space, page_number, 1, ACCESS_WRITE);
}

// A page that was unmapped to see whether it is used, is: look less often.
static void note_use(struct page *page)
{
    unsigned every = page->probe_every * 2u;

    page->probe_every = (uint8_t)(every == 0          ? 1
                                  : every > PROBE_MAX ? PROBE_MAX
                                                      : every);
    page->probe_in = page->probe_every;
    page->unread = 0;
}

static int local_fault(struct engine *engine, page_no page_number, int is_write)
{
    struct page *page = page_of(engine, page_number);

    switch (page->state) {
    case PAGE_CLEAN:
        if (page->access == ACCESS_NONE) {
            note_use(page);
        }
        if (is_write) {
            begin_writing(engine, page_number);
        } else {
            space_set_access(engine->space, page_number, 1, ACCESS_READ);
        }
        return 1;
    case PAGE_DIRTY:
    case PAGE_EXCLUSIVE:
        space_set_access(engine->space, page_number, 1, ACCESS_WRITE);
        return 1;
    default:
        return 0;
    }
}

static unsigned most_moves(const struct engine *engine, page_no page,
                           const struct fetch_request *request)
{
    if (paging_is_unwanted(engine, page)) {
        return UNWANTED_MOVES;
    }
    return request->is_write ? WRITE_MOVES : READ_MOVES;
}

static enum serve_result serve(struct engine *engine, page_no page_number,
                               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (page->state == PAGE_EXCLUSIVE) {
        if (page->access != ACCESS_NONE) {
            space_set_access(engine->space, page_number, 1, ACCESS_NONE);
        }
        if (page->moves < most_moves(engine, page_number, request) &&
            page->pushing == 0) {
            page->moves++;
            fetch_send_away(engine, page_number, request->requester, 1);
            return SERVED;
        }
        page->state = PAGE_CLEAN;
    }
    fetch_send_copy(engine, page_number, request->requester);
    return SERVED;
}

static int is_newer(uint32_t version, uint32_t base)
{
    return (int32_t)(version - base) > 0;
}

static void apply(struct engine *engine, page_no page_number, const void *diff,
                  size_t size)
{
    struct page *page = page_of(engine, page_number);

    engine->stats.updates_received++;
    if (diff_apply(diff, size,
                   space_bytes_to_change(engine->space, page_number),
                   page->twin) != TM_OK) {
        engine_refuse_part(engine, page_number, "a malformed diff");
        return;
    }
    space_changed(engine->space, page_number, diff, size);
}

static void apply_kept(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    while (page->deferred != NULL) {
        struct deferred *kept = page->deferred;

        page->deferred = kept->next;
        if (is_newer(kept->version, page->base)) {
            apply(engine, page_number, kept->diff, kept->size);
        }
        free(kept);
    }
}

static void arrived(struct engine *engine, page_no page_number, int want_write)
{
    const struct page *page = page_of(engine, page_number);

    apply_kept(engine, page_number);
    // Which of its threads writes is not known here: race.c.
    if (page->state == PAGE_CLEAN && want_write && engine->race == NULL) {
        begin_writing(engine, page_number);
    } else {
        engine_map(engine, page_number);
    }
}

// ---- updates

// @return 0 there is none, or it is malformed
static int read_one(struct wire_reader *reader, struct update_item *item)
{
    item->page = wire_get_u64(reader);
    item->version = wire_get_u32(reader);
    item->epoch = wire_get_u32(reader);
    item->kind = wire_get_u8(reader);
    item->size = wire_get_u16(reader);
    item->diff = wire_get_bytes(reader, item->size);
    item->writer = (struct race_writer){0};
    return !reader->failed && item->kind <= ITEM_WRITER;
}

// The same, with what is said of its writer before it.
static int read_item(struct wire_reader *reader, struct update_item *item)
{
    struct race_writer writer;

    if (!read_one(reader, item) || item->kind != ITEM_WRITER) {
        return !reader->failed && item->kind < ITEM_WRITER;
    }
    writer = (struct race_writer){item->page, item->diff, item->size};
    if (!read_one(reader, item) || item->kind == ITEM_WRITER) {
        return 0;
    }
    item->writer = writer;
    return 1;
}

// Its writer is named if races are looked for, and only then; but for what atomic
// operations have written.
static int has_good_writer(const struct engine *engine,
                           const struct update_item *item)
{
    if (item->writer.clock == NULL) {
        return engine->race == NULL || item->kind == ITEM_PUSH;
    }
    return engine->race != NULL &&
           clock_bytes_are_good(item->writer.clock, item->writer.size);
}

static int is_well_formed(const struct engine *engine,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct update_item item;

    while (reader.at < reader.end) {
        if (!read_item(&reader, &item) || !has_good_writer(engine, &item)) {
            return 0;
        }
    }
    return 1;
}

static void keep_diff(struct page *page, const struct update_item *item)
{
    struct deferred *kept = deferred_add(&page->deferred, item->size);

    kept->message.type = MESSAGE_update;
    kept->version = item->version;
    kept->size = item->size;
    memcpy(kept->diff, item->diff, item->size);
}

// Is this copy of use? It is unmapped now and then, and dropped if it then stays
// so. @return 1 if it was dropped
static int look_for_use(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->state != PAGE_CLEAN || page->is_owner || page->in_flight) {
        return 0;
    }
    if (page->access != ACCESS_NONE) {
        if (page->probe_in > 0) {
            page->probe_in--;
        } else {
            space_set_access(engine->space, page_number, 1, ACCESS_NONE);
            page->unread = 0;
        }
        return 0;
    }
    if (++page->unread < UNREAD_MAX) {
        return 0;
    }
    page->state = PAGE_ABSENT;
    engine->stats.copies_dropped++;
    engine_discard_later(engine, page_number);
    return 1;
}

static void receive_push(struct engine *engine, struct flight *flight,
                         node_id from, const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);

    hint_set(page, from, item->epoch);
    if (page->pending) {
        keep_diff(page, item);
        return;
    }
    if (!is_newer(item->version, page->base)) {
        return; // may be a former owner's: not to be told of a drop
    }
    if (paging_gives_up(engine, item->page)) {
        page_list_add(&flight->dropped, item->page);
        return;
    }
    if (page->state == PAGE_ABSENT || late_keeps(engine, flight, from, item)) {
        return;
    }
    if (engine->race != NULL) {
        race_meet(engine, flight->origin, item);
    }
    apply(engine, item->page, item->diff, item->size);
    if (look_for_use(engine, item->page)) {
        page_list_add(&flight->dropped, item->page);
    }
}

// Nothing is under way for the page that is of this owner's doing, and that node has
// a copy.
static int is_calm(const struct engine *engine, const struct page *page,
                   node_id to)
{
    return page->is_owner && engine->race == NULL &&
           page->state == PAGE_CLEAN && page->pushing == 0 && !page->pending &&
           page->copyset != NULL && node_set_has(page->copyset, to);
}

// The page's bytes are in the swap file, and the node that has changed it has the only
// copy: they need not be read only to be given up.
static int may_hand_at_once(const struct engine *engine, page_no page_number,
                            node_id to)
{
    const struct page *page = page_of(engine, page_number);

    return paging_is_out(engine, page_number) && is_calm(engine, page, to) &&
           copyset_is_only(page, to);
}

static void receive_to_owner(struct engine *engine, struct flight *flight,
                             node_id from, const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);
    node_id route = fetch_route(engine, item->page);
    int is_pushed;

    if (!page->is_owner) {
        if (route != engine->port->self) { // else nobody has a copy to change
            flight_add(engine, flight, route, ITEM_TO_OWNER, item);
        }
        return;
    }
    if (from == flight->origin && may_hand_at_once(engine, item->page, from)) {
        page->version++;
        page_list_add(&flight->handed, item->page);
        return;
    }
    if (late_keeps(engine, flight, from, item)) {
        return;
    }
    if (engine->race != NULL) {
        race_note(engine, flight->origin, item);
        race_meet(engine, flight->origin, item);
    }
    apply(engine, item->page, item->diff, item->size);
    page->version++;
    is_pushed = flight_push(engine, flight, flight->origin, item);
    flight_add_page(flight, item->page, is_pushed, from == flight->origin);
}

void eager_receive_item(struct engine *engine, struct flight *flight,
                        node_id from, const struct update_item *item)
{
    if (!extent_is_of(engine, item->page, TM_EAGER_RELEASE)) {
        return; // the program has freed what it still wrote to
    }
    stall_note_item(engine, (struct stall_note){.type = MESSAGE_update,
                                                .page = item->page,
                                                .version = item->version,
                                                .epoch = item->epoch,
                                                .node = from,
                                                .who = flight->origin,
                                                .flags = (uint8_t)item->kind});
    if (item->kind == ITEM_PUSH) {
        receive_push(engine, flight, from, item);
    } else {
        receive_to_owner(engine, flight, from, item);
    }
}

tm_status eager_receive_update(struct engine *engine, node_id from,
                               const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct flight *flight;
    struct update_item item;

    if (!roster_has(&engine->port->roster, message->u.update.origin) ||
        !is_well_formed(engine, message)) {
        return TM_EWIRE;
    }
    flight = flight_new(engine, FLIGHT_RELAY);
    flight->reply_to = from;
    flight->origin = message->u.update.origin;
    flight->batch = message->u.update.batch;
    while (reader.at < reader.end && read_item(&reader, &item)) {
        eager_receive_item(engine, flight, from, &item);
    }
    late_bring(engine);
    flight_depart(engine, flight);
    return TM_OK;
}

// ---- hand-over

int eager_may_hand(const struct engine *engine, page_no page_number, node_id to)
{
    const struct page *page = page_of(engine, page_number);

    return is_calm(engine, page, to) &&
           (page->access == ACCESS_NONE ||
            paging_is_unwanted(engine, page_number));
}

void eager_take(struct engine *engine, page_no page_number, node_id from,
                uint32_t version, uint32_t epoch, uint8_t moves,
                const struct node_set *copyset)
{
    struct page *page = page_of(engine, page_number);

    if (page->is_owner || page->state == PAGE_ABSENT) {
        engine_refuse_part(engine, page_number,
                           "ownership where there is no copy");
        return;
    }
    page->is_owner = 1;
    page->hint = (uint16_t)(engine->port->self + 1);
    page->epoch = epoch;
    page->version = version;
    page->moves = moves;
    copyset_add_others(engine, page, copyset);
    engine->stats.pages_moved_in++;
    news_announce(engine, page_number, from);
}

const struct protocol protocol_eager_release = {
    .name = "eager-release",
    .id = TM_EAGER_RELEASE,
    .local_fault = local_fault,
    .serve = serve,
    .arrived = arrived,
    .holds_pages = 0,
};

// SPDX-License-Identifier: BSD-3-Clause
//
// implicit (protocols.md; implicit-invalidate of Filaments, [Freeh94]): several nodes
// write a page at once, each copy against its twin. A release sends the differing bytes
// to the page's owner and to nobody else; at each acquire a node drops the copies that
// it has. So owners keep no copyset, write without a twin, and pay for nothing.
//
//   absent     -> exclusive   granted, or given by a node that leaves: it stays the owner
//              -> clean       arrived
//   clean      -> dirty       local_fault, write: twin
//              -> absent      acquired
//   dirty      -> clean       release.c; updates.c, frozen
//              -> absent      acquired: its diff is on the way
//
// M1 An owner's page is exclusive, whoever has copies of it.
// M2 An owner stays one, but for a change of members: diffs and requests of a node go to
//    it directly, on one way, so a request never overtakes a diff. An owner applies a
//    diff at once, also one to a page that is on the disk.
// M3 What was asked for before an acquire is not used after it.
// M4 A dirty copy that is dropped, or is to be dirty no more, is diffed: C1.
// M5 Each copy is on the list `copies`.
// M6 When nodes come or go no copy is dirty; when they have there is none at all.
#include "protocol/copies.h"
#include "protocol/protocol_rows.h"
#include "protocol/updates.h"

static void begin_writing(struct engine *engine, page_no page_number)
{
    if (race_of(engine) != NULL) {
        race_begin_writing(engine, page_number, engine->faulter);
    }
    release_make_twin(engine, page_number);
    space_set_access(engine->space, page_number, 1, ACCESS_WRITE);
}

static int local_fault(struct engine *engine, page_no page_number, int is_write)
{
    const struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_CLEAN && is_write) {
        begin_writing(engine, page_number);
    } else {
        space_set_access(engine->space, page_number, 1,
                         page->state == PAGE_CLEAN ? ACCESS_READ
                                                   : ACCESS_WRITE);
    }
    return 1;
}

static enum serve_result serve(struct engine *engine, page_no page_number,
                               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    page->moves = 1; // not unmapped to be served again
    fetch_send_copy(engine, page_number, request->requester, 0);
    return SERVED;
}

// M3
static int is_fresh(const struct engine *engine, page_no page, uint32_t version)
{
    (void)version;
    return (int32_t)(page_of(engine, page)->fetch -
                     engine->updates->acquired_fetch) > 0;
}

static void arrived(struct engine *engine, page_no page_number, int want_write)
{
    const struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_CLEAN) {
        page_list_add(&engine->updates->copies, page_number); // M5
    }
    if (page->state == PAGE_CLEAN && want_write && race_of(engine) == NULL &&
        !engine->is_frozen) { // M6
        begin_writing(engine, page_number);
    } else {
        engine_map(engine, page_number);
    }
}

// ---- acquires

static void acquired(struct engine *engine)
{
    engine->updates->acquired_fetch = engine->last_fetch;
    if (engine->updates->copies.n > 0) {
        copies_drop(engine, &engine->updates->copies);
    }
}

// ---- updates

static void receive_to_owner(struct engine *engine, struct flight *flight,
                             node_id from, const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);
    node_id route = fetch_route(engine, item->page);

    if (!page->is_owner) {
        if (route != engine->port->self) { // else nobody has a copy to change
            flight_add(engine, flight, route, ITEM_TO_OWNER, item);
        }
        return;
    }
    if (pending_updates_keep(engine, flight, from, item)) {
        return;
    }
    if (update_apply(engine, item->page, item->diff, item->size)) {
        page->version++;
    }
}

static const struct update_rules rules = {
    .to_owner = receive_to_owner,
    // may_hand: M2
};

const struct protocol protocol_implicit = {
    .name = "implicit",
    .id = TM_IMPLICIT,
    .base = &updates_base,
    .updates = &rules,
    .local_fault = local_fault,
    .serve = serve,
    .is_fresh = is_fresh,
    .arrived = arrived,
    .acquired = acquired,
    .state_alone = protocol_state_alone, // M1
    // evicted: its owner knows of no copy.
};

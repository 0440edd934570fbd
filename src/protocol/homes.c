// SPDX-License-Identifier: BSD-3-Clause
//
// Pages whose owner is their home (lazy_release.c, scope.c): several nodes write a page at
// once, each copy against its twin. A release sends the differing bytes to the page's owner
// and to nobody else.
//
//   absent     -> exclusive   granted, or arrived with ownership
//              -> clean       arrived
//   clean      -> dirty       local_fault, write, a copy: twin
//              -> exclusive   local_fault, write, the owner: the next release looks at it
//              -> dirty       the same, if it is followed what changes (recent.c): twin
//   dirty      -> clean       release.c
//   exclusive  -> clean       serve: a copy goes out
//              -> absent      serve, the first time: the page moves
//
// Z3 A copy whose version is older than what was heard is not used: it is asked for again.
// Z6 An owner's page is clean while there may be copies of its version; when it is written
//    then, the next release makes a new version.
// Z7 An owner stays one once there have been copies, but for a change of members: diffs
//    and requests of a node go to it directly, on one way, so a request never overtakes a
//    diff.
#include "protocol/homes.h"

#include "protocol/notices.h"
#include "protocol/recent.h"

// `moves` of a page that has an owner for good: Z7.
#define STAYS UINT8_MAX

int homes_stays(const struct engine *engine, page_no page)
{
    return page_of(engine, page)->moves == STAYS;
}

static void begin_writing(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->is_owner && !recent_is_followed(engine, page_number)) {
        page->state = PAGE_EXCLUSIVE;
        release_look_at(engine, page_number); // Z6
    } else {
        if (race_of(engine) != NULL) {
            race_begin_writing(engine, page_number, engine->faulter);
        }
        release_make_twin(engine, page_number);
    }
    space_set_access(engine->space, page_number, 1, ACCESS_WRITE);
}

int homes_local_fault(struct engine *engine, page_no page_number, int is_write)
{
    struct page *page = page_of(engine, page_number);

    if (page->access == ACCESS_NONE) {
        update_note_use(page);
    }
    if (page->state == PAGE_CLEAN && is_write) {
        begin_writing(engine, page_number);
    } else {
        space_set_access(engine->space, page_number, 1,
                         page->state == PAGE_CLEAN ? ACCESS_READ
                                                   : ACCESS_WRITE);
    }
    return 1;
}

int homes_move(struct engine *engine, page_no page_number,
               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_EXCLUSIVE && page->moves == 0 && !page->listed &&
        !extent_asks_back(engine, page_number) && race_of(engine) == NULL) {
        page->moves++;
        fetch_send_away(engine, page_number, request->requester, 1);
        return 1;
    }
    page->moves = STAYS;
    if (page->state == PAGE_EXCLUSIVE && page->access == ACCESS_WRITE) {
        space_set_access(engine->space, page_number, 1, ACCESS_READ); // Z6
    }
    return 0;
}

// Z3
int homes_is_fresh(const struct engine *engine, page_no page, uint32_t version)
{
    return !notices_are_newer(engine, page, version);
}

void homes_arrived(struct engine *engine, page_no page_number, int want_write)
{
    const struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_CLEAN && want_write && race_of(engine) == NULL &&
        !engine->is_frozen) { // Z8
        begin_writing(engine, page_number);
    } else {
        engine_map(engine, page_number);
    }
}

void homes_to_owner(struct engine *engine, struct flight *flight, node_id from,
                    const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);

    if (!page->is_owner) {
        engine_refuse_part(engine, item->page, "a diff to who is no owner");
        return;
    }
    if (pending_updates_keep(engine, flight, from, item)) {
        return;
    }
    if (update_apply(engine, item->page, item->diff, item->size)) {
        page->version++;
        recent_changed(engine, item->page, item->diff, item->size);
        flight_tell_version(flight, item->page, page->version);
    }
}

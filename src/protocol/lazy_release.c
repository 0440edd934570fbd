// SPDX-License-Identifier: BSD-3-Clause
//
// lazy-release (protocols.md; the consistency of TreadMarks, [Keleher92], with a home for
// each page, its owner, as in HLRC, [Zhou96]): several nodes write a page at once, each
// copy against its twin. A release sends the differing bytes to the page's owner and to
// nobody else; which pages were written is told by write notices (notices.c), which travel
// in front of all that lets other threads go on. A copy that is named by one is dropped.
// What was not written is kept, and what is used by one node only costs nothing.
//
//   absent     -> exclusive   granted, or arrived with ownership
//              -> clean       arrived
//   clean      -> dirty       local_fault, write, a copy: twin
//              -> exclusive   local_fault, write, the owner: a notice at the next release
//              -> absent      noticed
//   dirty      -> clean       release.c, frozen
//              -> absent      noticed: its diff is on the way
//   exclusive  -> clean       serve: a copy goes out
//              -> absent      serve, the first time: the page moves
//
// Z1 Who is ordered after a release hears its notices first: N2.
// Z2 The owner has the diffs before anybody hears of them: N1.
// Z3 A copy whose version is older than what was heard is not used: it is asked for again.
// Z4 A dirty copy that is named is diffed when it can be written no more, then dropped.
// Z5 A writer's copy is of the version that its diff has made if it was of the one before;
//    else it lacks what others have written meanwhile, and is dropped: no notice would
//    name these versions to a node that has made a later one.
// Z6 An owner's page is clean while there may be copies of its version; when it is written
//    then, the next release makes a new version.
// Z7 An owner stays one once there have been copies, but for a change of members: diffs
//    and requests of a node go to it directly, on one way, so a request never overtakes a
//    diff.
// Z8 While nodes may come or go no copy is dirty; when they have there is none at all, and
//    no notice.
#include "protocol/copies.h"
#include "protocol/notices.h"
#include "protocol/protocol_rows.h"
#include "protocol/recent.h"
#include "protocol/refresh.h"

// `moves` of a page that has an owner for good: Z7.
#define STAYS UINT8_MAX

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

static int local_fault(struct engine *engine, page_no page_number, int is_write)
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

static enum serve_result serve(struct engine *engine, page_no page_number,
                               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (page->state == PAGE_EXCLUSIVE && page->moves == 0 && !page->listed &&
        race_of(engine) == NULL) {
        page->moves++;
        fetch_send_away(engine, page_number, request->requester, 1);
        return SERVED;
    }
    page->moves = STAYS;
    if (page->state == PAGE_EXCLUSIVE) {
        if (page->access == ACCESS_WRITE) {
            space_set_access(engine->space, page_number, 1, ACCESS_READ); // Z6
        }
        update_seal(engine, page_number);
        page->state = PAGE_CLEAN;
    }
    refresh_send_copy(engine, page_number, request, 0);
    return SERVED;
}

// Z3
static int is_fresh(const struct engine *engine, page_no page, uint32_t version)
{
    return !notices_are_newer(engine, page, version);
}

static void arrived(struct engine *engine, page_no page_number, int want_write)
{
    const struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_CLEAN && want_write && race_of(engine) == NULL &&
        !engine->is_frozen) { // Z8
        begin_writing(engine, page_number);
    } else {
        engine_map(engine, page_number);
    }
}

// ---- notices

// Z6
static void wrote(struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    if (page->moves == STAYS) {
        notices_note(engine, page_number, page->version, engine->port->self);
    }
}

static void noticed(struct engine *engine, struct page_list *pages)
{
    copies_make_stale(engine, pages); // Z4
}

// ---- nodes come and go

static void frozen(struct engine *engine)
{
    copies_clean_all(engine, TM_LAZY_RELEASE); // Z8
}

static void roster_changed(struct engine *engine)
{
    copies_drop_all(engine, TM_LAZY_RELEASE); // Z8
}

// ---- updates

static void receive_to_owner(struct engine *engine, struct flight *flight,
                             node_id from, const struct update_item *item)
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

static const struct update_rules rules = {
    .to_owner = receive_to_owner,
    // may_hand: Z7
    .applied = copies_applied, // Z5
    .wrote = wrote,
    .noticed = noticed,
};

const struct protocol protocol_lazy_release = {
    .name = "lazy-release",
    .id = TM_LAZY_RELEASE,
    .base = &updates_base,
    .updates = &rules,
    .local_fault = local_fault,
    .serve = serve,
    .is_fresh = is_fresh,
    .refetch = refresh_ask,
    .arrived = arrived,
    .frozen = frozen,
    .roster_changed = roster_changed,
    .state_alone = protocol_state_alone,
};

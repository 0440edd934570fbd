// SPDX-License-Identifier: BSD-3-Clause
//
// homeless (protocols.md; lazy release consistency, [Keleher92], as [TreadMarks] has it;
// called "homeless" beside that with homes, [Zhou96]): several nodes write a page at once,
// each copy against its twin, and a release sends nothing at all. The writer keeps the diff,
// under a stamp (kept.c). Write notices (notices.c) name page, writer and stamp. A copy that
// one names is stale; who uses it asks for the diffs (gather.c), and applies
// them in the order of their stamps.
//
//   absent     -> exclusive   granted, or arrived with ownership
//              -> clean       a copy has come, and the diffs that it lacked
//   stale      -> clean       the diffs have come
//              -> absent      a writer has dropped its diffs: the page is asked for
//   clean      -> dirty       local_fault, write: twin
//   dirty      -> clean       release.c
//   exclusive  -> clean       serve: the first copy goes out
//              -> absent      serve, the first time: the page moves
//   copies: clean, dirty -> absent, stale      noticed
//   the owner's: clean, dirty -> clean without access ("old")      noticed
//
// A page's owner is no home: it gives the first copy to who has none, and its own may be as old
// as any. But diffs do not stay with their writers for ever. Who keeps more of a page than
// the page is long, or is short of memory, asks the owner to get them all, and drops its own
// then (kept_bound.c); who comes for them later is sent to the owner. (TreadMarks collects its
// garbage at a barrier, with all pages at once.)
//
// Diffs are made at the release, by what all protocols with twins have in common (release.c): a
// page that is written again and again stays writable, and a notice is only sent of what has
// changed. TreadMarks makes them when they are asked for; that saves diffs that nobody asks for,
// and costs a fault for each page and release, since a page whose twin waits must not be written.
//
// Z11 The bytes of a page at a node are those of a cut: with a diff they have all that happened
//    before it. So a writer is never asked for more than its notices say, and what has come of
//    several is applied at once.
// Z12 Diffs are applied by stamp: of two that the program orders the later has the higher one.
// Z13 Bytes that lack what their node has heard of are not used: a copy is stale, an owner's page
//    has no access.
// Z14 A dirty page that a notice names is diffed when it can be written no more.
// Z15 A writer drops diffs when the owner has them; from then on the owner is asked.
// Z16 An owner stays one once there have been copies, but for a change of members (Z7).
// Z17 While nodes may come or go all diffs are brought home; when they have, none is kept, there
//    are no copies, and no notices.
// Z18 An atomic operation is performed by an owner whose page lacks nothing.
#include "protocol/copies.h"
#include "protocol/gather.h"
#include "protocol/homes.h"
#include "protocol/kept_bound.h"
#include "protocol/notice_list.h"
#include "protocol/notices.h"
#include "protocol/protocol_rows.h"

// ---- writing

static void begin_writing(struct engine *engine, page_no page)
{
    release_make_twin(engine, page);
    space_set_access(engine->space, page, 1, ACCESS_WRITE);
}

static int local_fault(struct engine *engine, page_no page_number, int is_write)
{
    const struct page *page = page_of(engine, page_number);

    if (page->is_owner && gather_is_old(engine, page_number)) { // Z13
        return 0;
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

static void arrived(struct engine *engine, page_no page_number, int want_write)
{
    if (page_of(engine, page_number)->state == PAGE_CLEAN && want_write &&
        !engine->is_frozen) { // Z17
        begin_writing(engine, page_number);
    } else {
        engine_map(engine, page_number);
    }
}

// Slot keep of update_rules.
static void keep(struct engine *engine, page_no page, const void *diff,
                 size_t size)
{
    struct kept_page *record;
    uint64_t stamp;

    if (page_of(engine, page)->state == PAGE_EXCLUSIVE ||
        kept_is_of_freed(engine, page)) {
        return; // nobody else has it, or uses it any more
    }
    record = kept_of(engine, page);
    stamp = notices_next_stamp(engine);
    kept_add(record, engine->port->self, stamp, diff, size);
    kept_set(record, engine->port->self, stamp);
    notices_note_writer(engine, page, stamp);
    kept_bound(engine, record);
}

// ---- a copy for who has none

static void send_copy(struct engine *engine, page_no page_number, node_id to)
{
    const struct page *page = page_of(engine, page_number);
    const struct kept_page *record = kept_of(engine, page_number);
    uint8_t body[TM_MAX_NODES * WIRE_SIZE_kept_part + TM_PAGE_SIZE];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_copy,
        .u.copy = {.page = page_number,
                   .epoch = page->epoch,
                   .count = (uint16_t)record->n_parts},
        .body = body,
    };

    for (unsigned i = 0; i < record->n_parts; i++) {
        wire_put_kept_part(&writer,
                           &(struct wire_kept_part){record->parts[i].writer,
                                                    record->parts[i].stamp});
    }
    // What is released: a byte written and set back before the release is in no diff.
    wire_put_bytes(&writer,
                   page->state == PAGE_DIRTY
                       ? page->twin
                       : space_bytes(engine->space, page_number),
                   TM_PAGE_SIZE);
    message.body_size = (uint32_t)(writer.at - body);
    engine->stats.pages_served++;
    steps_sent(engine, page_number, STEP_SENT_COPY, to);
    port_send(engine->port, to, &message);
}

static enum serve_result serve(struct engine *engine, page_no page_number,
                               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (homes_move(engine, page_number, request)) {
        return SERVED;
    }
    if (page->state == PAGE_EXCLUSIVE) {
        page->state = PAGE_CLEAN;
    }
    send_copy(engine, page_number, request->requester);
    return SERVED;
}

// ---- notices

// Slot is_behind of update_rules.
static int is_behind(const struct engine *engine, page_no page, node_id writer,
                     uint64_t stamp)
{
    const struct kept_page *record = kept_find(engine, page);

    return record != NULL && stamp > kept_has(record, writer);
}

// Z14: what an owner has written is diffed, and its page has no access.
static void make_old(struct engine *engine, page_no page)
{
    struct page_list one = {&page, 1, 1};

    if (page_of(engine, page)->access != ACCESS_NONE) {
        space_set_access(engine->space, page, 1, ACCESS_NONE);
    }
    steps_made_run(engine, page, 1, STEP_HEARD);
    release_now(engine, &one);
}

static void noticed(struct engine *engine, struct page_list *pages)
{
    engine_finish_batch(engine); // else it would map what is old by then
    for (size_t i = 0; i < pages->n; i++) {
        if (page_of(engine, pages->at[i])->is_owner) {
            make_old(engine, pages->at[i]);
        }
    }
    copies_make_stale(engine, pages); // Z13, Z14
}

// Slot puts_off of update_rules: Z18.
static int puts_off(struct engine *engine, page_no page_number, node_id from,
                    const struct message *message)
{
    struct page *page = page_of(engine, page_number);

    if (!gather_is_old(engine, page_number)) {
        return 0;
    }
    page->busy = 1;
    page_defer(engine, page_number, from, message);
    gather_begin(engine, page_number);
    return 1;
}

// Copies do not come as pages.
static int is_fresh(const struct engine *engine, page_no page, uint32_t version)
{
    (void)engine;
    (void)page;
    (void)version;
    return 0;
}

static void refuse(struct engine *engine, struct flight *flight, node_id from,
                   const struct update_item *item)
{
    (void)flight;
    (void)from;
    engine_refuse_part(engine, item->page, "a diff that nobody has asked for");
}

static void describe(const struct engine *engine, page_no page,
                     struct step_record *to)
{
    const struct kept_page *record = kept_find(engine, page);

    if (record != NULL) {
        to->kept = (uint16_t)kept_count(record);
        to->asked = (uint16_t)record->n_asked;
        to->awaited = (uint16_t)record->n_waiting;
        to->lacks = gather_lacks(engine, record) != 0;
        to->goes_home = record->is_going_home;
    }
}

static const struct update_rules rules = {
    .to_owner = refuse,
    .keep = keep,
    .noticed = noticed,
    .is_behind = is_behind,
    .puts_off = puts_off,
};

const struct protocol protocol_homeless = {
    .name = "homeless",
    .id = TM_HOMELESS,
    .base = &updates_base,
    .updates = &rules,
    .local_fault = local_fault,
    .serve = serve,
    .is_fresh = is_fresh,
    .refetch = gather_ask,
    .arrived = arrived,
    .state_alone = protocol_state_alone,
    .describe = describe,
    .why_unsaved = "what threads write stays where it was written "
                   "(--protocol=homeless, TM_HOMELESS)",
};

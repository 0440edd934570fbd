// SPDX-License-Identifier: BSD-3-Clause
//
// adaptive (protocols.md): for each copy of a page its owner chooses between what
// eager-release and what lazy-release do. Several nodes write a page at once, each against
// its twin; a release sends the differing bytes to the owner. A copy is either subscribed:
// the owner pushes each version to it, and the release ends when it has it (pushes.c); or
// it is not, and write notices (notices.c) make it stale before its node's threads
// go on; what has changed of it is then asked for (refresh.c). Which of the two it is is
// chosen when it is asked for (readers.c), and stays so until then. While all copies of a
// page are subscribed there are no notices of it, and all is as with eager-release.
//
//   absent     -> exclusive   granted, or arrived with ownership
//              -> clean       arrived
//   clean      -> dirty       local_fault, write, a copy, or its owner while others are
//                             subscribed: twin
//              -> exclusive   local_fault, write, its owner while nobody is
//              -> absent      subscribed: unread, handed over (pushes.c); else noticed
//   dirty      -> clean       release.c; updates.c, frozen
//              -> exclusive   release.c: nobody is subscribed any more
//              -> absent      noticed, stale: its diff is on the way
//   exclusive  -> clean       serve: a copy goes out
//              -> absent      serve: the page moves
//
// A1 While a node may have a copy that is not subscribed its owner knows of it (V1), and
//    each version that is made meanwhile makes a write notice, by who made it, before the
//    release ends.
// A2 A subscribed copy has each version before anybody is ordered after it, so notices say
//    nothing to it: it is never dropped with a diff on the way.
// A3 Ownership stays while A1 has a node: its diffs and requests go to the owner directly,
//    on one way, and it is noted until it asks again, behind all its diffs. It may go to
//    that node, if there is no other, it has missed no version, and has not been called: it may
//    give up its copy then.
// A4 A copy that is not subscribed and older than what its node has heard of is stale, or
//    not used when it comes.
// A5 An owner's page is clean, or has a twin, while there may be copies of its version; if
//    it is written then, it is listed, and the next release makes a version.
// A6 When nodes come or go no copy is dirty that is not subscribed; when they have
//    there is no such copy, and no notice.
// A7 A copy that a node does not want to be pushed to any more has the version of the last
//    push that has come. Until the owner hears of it pushes come as before, and count, and one
//    that finds it unused drops it still. When it does, it notes the copy: A1.
#include "protocol/copies.h"
#include "protocol/hand_on.h"
#include "protocol/migration.h"
#include "protocol/mutex_pages.h"
#include "protocol/notices.h"
#include "protocol/protocol_rows.h"
#include "protocol/pushes.h"
#include "protocol/readers.h"
#include "protocol/recent.h"
#include "protocol/refresh.h"
#include "protocol/sharing.h"

// A copy is looked at after so many periods in which there were pushes.
#define PERIODS 4u
#define PUSHES_MAX 31u

// Pushes to a copy that was chosen to be pushed to, as its node writes it again and again,
// until it is looked at whether it is used.
#define PATIENCE 4u

// Where races are looked for all writes must be seen, as diffs.
static int is_to_subscribe(struct engine *engine, page_no page_number,
                           const struct fetch_request *request)
{
    const struct page *page = page_of(engine, page_number);
    const enum subscription subscribes =
        sharing_rule_of(engine, page_number)->subscribes;

    if (race_of(engine) != NULL || subscribes == SUBSCRIBES_ALL ||
        copyset_has(page, request->requester)) {
        return 1;
    }
    if (subscribes == SUBSCRIBES_NOBODY) {
        readers_note_copy(engine, page_number, request->requester);
        return 0;
    }
    return readers_subscribe(engine, page_number, request->requester);
}

static enum serve_result serve(struct engine *engine, page_no page,
                               const struct fetch_request *request)
{
    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (page_of(engine, page)->pinned) {
        return request->is_ahead ? REFUSED : DEFERRED;
    }
    if (request->is_ahead && sharing_is_for_need(engine, page)) {
        return REFUSED;
    }
    if (!hand_on(engine, page, request) &&
        !pushes_move(engine, page, request,
                     sharing_rule_of(engine, page))) { // A3
        refresh_send_copy(engine, page, request,
                          is_to_subscribe(engine, page, request));
    }
    return SERVED;
}

static int local_fault(struct engine *engine, page_no page, int is_write)
{
    return !(is_write && hand_on_gives_up(engine, page)) &&
           pushes_local_fault(engine, page, is_write);
}

// A4
static int is_fresh(const struct engine *engine, page_no page, uint32_t version)
{
    return page_of(engine, page)->subscribed ||
           !notices_are_newer(engine, page, version);
}

// It is this node's, and will be written, and then go to another one.
static int migrates(const struct engine *engine, page_no page)
{
    return page_of(engine, page)->is_owner && migration_is_on(engine, page);
}

// Its copies go to others when they ask, if there are any.
static int pins(const struct engine *engine, page_no page)
{
    return migrates(engine, page) || (sharing_rule_of(engine, page)->stays &&
                                      page_of(engine, page)->is_owner);
}

static void arrived(struct engine *engine, page_no page_number, int want_write)
{
    struct page *page = page_of(engine, page_number);
    const struct sharing_rule *rule = sharing_rule_of(engine, page_number);

    if (page->is_owner) {
        hand_on_arrived(engine, page_number);
    }
    if (page->subscribed && want_write) {
        page_use_of(page)->probe_in = PATIENCE;
    }
    pushes_arrived(engine, page_number,
                   (want_write || migrates(engine, page_number)) &&
                       !rule->is_read_only &&                     // G1
                       (page->subscribed || !engine->is_frozen)); // A6
    if (pins(engine, page_number)) {
        pin_page(engine, page_number);
    }
}

// A1
static void wrote(struct engine *engine, page_no page)
{
    readers_note_version(engine, page, engine->port->self);
    page_use_of(page_of(engine, page))->has_written = 1;
    if (readers_have_copies(engine, page) ||
        migration_has_begun(engine, page)) { // A9
        notices_note(engine, page, page_of(engine, page)->version,
                     engine->port->self);
    }
}

// ---- pushes

static void acquired(struct engine *engine)
{
    engine->updates->n_acquires++;
}

// Threads here see what others have written when they go on after an acquire. Has much more
// been pushed, of late, than one version between two of these?
static int is_pushed_too_much(const struct engine *engine, struct page_use *use)
{
    const uint8_t period = engine->updates->n_acquires % 4;
    int is_too_much = 0;

    if (use->n_pushes == 0 || use->period != period) {
        is_too_much = use->n_periods == PERIODS && use->n_pushes > 2 * PERIODS;
        if (use->n_periods == PERIODS) {
            use->n_periods = 0;
            use->n_pushes = 0;
        }
        use->period = period;
        use->n_periods++;
    }
    if (use->n_pushes < PUSHES_MAX) {
        use->n_pushes++;
    }
    return is_too_much;
}

// Not if the program has said that who reads it is to be pushed to.
static int may_leave(const struct engine *engine, page_no page)
{
    return sharing_rule_of(engine, page)->subscribes == SUBSCRIBES_READERS;
}

// A7
static void leave(struct engine *engine, struct flight *flight,
                  page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct page_list copies = {&page_number, 1, 1};

    page->subscribed = 0;
    page_list_add(&flight->left, page_number);
    if (notices_are_newer(engine, page_number, page->base)) { // A4
        steps_so_far(engine, page_number);
        copies_make_stale(engine, &copies);
    }
}

static void pushed(struct engine *engine, struct flight *flight, node_id from,
                   const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);
    const int is_new = (int32_t)(item->version - page->base) > 0;

    pushes_receive(engine, flight, from, item);
    if (page->state == PAGE_ABSENT || page->is_owner || page->fetching ||
        page->updates_pending || !is_new || page->in_flight ||
        race_of(engine) != NULL) {
        return;
    }
    page->base = item->version;
    if (page->subscribed && !engine->is_frozen && // A6
        may_leave(engine, item->page) &&
        is_pushed_too_much(engine, page_use_of(page))) {
        leave(engine, flight, item->page);
    }
}

// A7
static void left(struct engine *engine, page_no page, node_id node)
{
    readers_leave(engine, page, node);
    recent_given(engine, page);
}

// What the program has said to be pushed to nobody has a home. What migrates goes to who has the
// last copy, and is given to nobody else meanwhile.
static enum handing may_hand(const struct engine *engine, page_no page,
                             node_id to)
{
    if (migration_is_on(engine, page)) {
        return pushes_is_calm(engine, page, to) &&
                       copyset_is_empty(page_of(engine, page))
                   ? HAND_AND_DROP
                   : HAND_NOT;
    }
    return sharing_rule_of(engine, page)->subscribes == SUBSCRIBES_NOBODY
               ? HAND_NOT
               : pushes_may_hand_on(engine, page, to);
}

static void called(struct engine *engine, struct page_list *pages, int to_read)
{
    if (to_read) {
        hand_on_called(engine, pages);
    } else {
        copies_make_stale(engine, pages);
    }
}

static const struct update_rules rules = {
    .pushed = pushed,
    .to_owner = pushes_to_owner,
    .may_hand = may_hand,
    .dropped = readers_end_subscription,
    .left = left,
    .called = called,
    .recalled = readers_called_back,
    .applied = copies_applied,
    .wrote = wrote,
    .noticed = copies_make_stale, // A4
    .token_goes = mutex_pages_send,
    .came_along = mutex_pages_receive,
};

const struct protocol protocol_adaptive = {
    .name = "adaptive",
    .id = TM_ADAPTIVE,
    .base = &updates_base,
    .updates = &rules,
    .pins = pins,
    .local_fault = local_fault,
    .serve = serve,
    .is_fresh = is_fresh,
    .refetch = refresh_ask,
    .arrived = arrived,
    .acquired = acquired,
    .forbids_write = sharing_forbids_write,
    .state_alone = pushes_state_alone,
    .evicted = pushes_evicted,
    .advised = pushes_advised,
};

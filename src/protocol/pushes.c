// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that their owner pushes to (protocols.md, section 3): what faults and pushes do to
// such a copy, when it is given up, and what makes its owner another node.
//
//   absent     -> exclusive   arrived, with ownership
//              -> clean       arrived
//   clean      -> dirty       local_fault, write, others are pushed to: twin
//              -> exclusive   local_fault, write, nobody is pushed to
//              -> absent      look_for_use (unused), hand_over (updates.c)
//   dirty      -> clean, exclusive   release.c
//   exclusive  -> clean       move: a copy goes out
//              -> absent      move
//
// Other nodes may have copies that nobody pushes to (readers.c). The page does not move
// while they may, and each version of it is to be known: A1, A3 and A5 of adaptive.c.
#include "protocol/pushes.h"
#include "protocol/migration.h"
#include "protocol/readers.h"
#include "protocol/recent.h"

#include <stdlib.h>
#include <string.h>

// ---- faults

static void begin_writing(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (race_of(engine) != NULL) {
        race_begin_writing(engine, page_number, engine->faulter);
    }
    if (page->is_owner && copyset_is_empty(page) && race_of(engine) == NULL &&
        !recent_is_followed(engine, page_number)) {
        page->state = PAGE_EXCLUSIVE;
        if (protocol_of(engine, page_number)->refetch != NULL) {
            release_look_at(engine, page_number); // A5
        }
    } else {
        release_make_twin(engine, page_number);
    }
    space_set_access(engine->space, page_number, 1, ACCESS_WRITE);
}

int pushes_local_fault(struct engine *engine, page_no page_number, int is_write)
{
    struct page *page = page_of(engine, page_number);

    switch (page->state) {
    case PAGE_CLEAN:
        if (page->access == ACCESS_NONE) {
            update_note_use(page);
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

// ---- a page is asked for, and comes

// An exclusive page moves to the node that asks so often; later it is shared.
static unsigned most_moves(const struct engine *engine, page_no page,
                           const struct fetch_request *request,
                           const struct sharing_rule *rule)
{
    const unsigned most =
        request->is_write ? rule->write_moves : rule->read_moves;

    if (most < UNWANTED_MOVES && paging_is_unwanted(engine, page)) {
        return UNWANTED_MOVES;
    }
    return most < MOVES_ALWAYS && extent_asks_back(engine, page) ? 0 : most;
}

int pushes_move(struct engine *engine, page_no page_number,
                const struct fetch_request *request,
                const struct sharing_rule *rule)
{
    struct page *page = page_of(engine, page_number);

    if (page->state != PAGE_EXCLUSIVE) {
        return 0;
    }
    if (page->access != ACCESS_NONE) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
    }
    if (page->moves < most_moves(engine, page_number, request, rule) &&
        page->pushing == 0 && !readers_have_copies(engine, page_number)) {
        page->moves += page->moves < MOVES_MIGRATES - 1;
        fetch_send_away(engine, page_number, request->requester, 1);
        return 1;
    }
    update_seal(engine, page_number);
    page->state = PAGE_CLEAN;
    return 0;
}

static int is_newer(uint32_t version, uint32_t base)
{
    return (int32_t)(version - base) > 0;
}

static void apply_kept(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    while (page->deferred != NULL) {
        struct deferred *kept = page->deferred;

        page->deferred = kept->next;
        if (is_newer(kept->version, page->base)) {
            (void)update_apply(engine, page_number, kept->diff, kept->size);
        }
        free(kept);
    }
}

void pushes_arrived(struct engine *engine, page_no page_number, int want_write)
{
    const struct page *page = page_of(engine, page_number);

    apply_kept(engine, page_number);
    // Which of its threads writes is not known here: race.c.
    if (page->state == PAGE_CLEAN && want_write && race_of(engine) == NULL) {
        begin_writing(engine, page_number);
    } else {
        engine_map(engine, page_number);
    }
}

// ---- a push comes

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
    struct page_use *use = page_use_of(page);

    if (page->state != PAGE_CLEAN || page->is_owner || page->in_flight) {
        return 0;
    }
    if (page->access != ACCESS_NONE) {
        if (use->probe_in > 0) {
            use->probe_in--;
        } else {
            space_set_access(engine->space, page_number, 1, ACCESS_NONE);
            use->unread = 0;
        }
        return 0;
    }
    if (++use->unread < UNREAD_MAX) {
        return 0;
    }
    page->state = PAGE_ABSENT;
    engine->stats.copies_dropped++;
    engine_discard_later(engine, page_number);
    return 1;
}

void pushes_receive(struct engine *engine, struct flight *flight, node_id from,
                    const struct update_item *item)
{
    struct page *page = page_of(engine, item->page);

    hint_set(page, from, item->epoch);
    if (page->fetching) {
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
    if (page->state == PAGE_ABSENT ||
        pending_updates_keep(engine, flight, from, item)) {
        return;
    }
    if (race_of(engine) != NULL) {
        race_meet(engine, flight->origin, item);
    }
    (void)update_apply(engine, item->page, item->diff, item->size);
    if (look_for_use(engine, item->page)) {
        page_list_add(&flight->dropped, item->page);
    }
}

// ---- another node's diff comes

// That node has a copy of the page's version, and no node has one that may be old.
static int has_good_copy(const struct engine *engine, page_no page_number,
                         node_id node)
{
    const struct page *page = page_of(engine, page_number);

    if (readers_have_copies(engine, page_number)) {
        return readers_have_only(engine, page_number, node); // A3
    }
    return copyset_has(page, node);
}

// Nothing is under way for the page that is of this owner's doing, and that node has
// a copy.
int pushes_is_calm(const struct engine *engine, page_no page_number, node_id to)
{
    const struct page *page = page_of(engine, page_number);

    return page->is_owner && race_of(engine) == NULL &&
           page->state == PAGE_CLEAN && page->pushing == 0 && !page->fetching &&
           has_good_copy(engine, page_number, to);
}

// The page's bytes are in the swap file, and the node that has changed it has the only
// copy: they need not be read only to be given up.
static int may_hand_at_once(const struct engine *engine, page_no page_number,
                            node_id to)
{
    return paging_is_out(engine, page_number) &&
           pushes_is_calm(engine, page_number, to) &&
           copyset_is_only(page_of(engine, page_number), to);
}

void pushes_to_owner(struct engine *engine, struct flight *flight, node_id from,
                     const struct update_item *item)
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
    if (pending_updates_keep(engine, flight, from, item)) {
        return;
    }
    if (race_of(engine) != NULL) {
        race_note(engine, flight->origin, item);
        race_meet(engine, flight->origin, item);
    }
    (void)update_apply(engine, item->page, item->diff, item->size);
    page->version++;
    if (engine->updates->recent != NULL) {
        recent_changed(engine, item->page, item->diff, item->size);
    }
    is_pushed = flight_push(engine, flight, flight->origin, item);
    flight_add_page(flight, item->page, is_pushed, from == flight->origin);
    if (readers_have_copies(engine, item->page) ||
        migration_has_begun(engine, item->page)) { // A1, A9
        flight_tell_version(flight, item->page, page->version);
    }
    readers_note_version(engine, item->page, flight->origin);
}

enum handing pushes_may_hand(const struct engine *engine, page_no page_number,
                             node_id to)
{
    const struct page *page = page_of(engine, page_number);

    return pushes_is_calm(engine, page_number, to) &&
                   (page->access == ACCESS_NONE ||
                    paging_is_unwanted(engine, page_number))
               ? HAND_AND_DROP
               : HAND_NOT;
}

enum handing pushes_may_hand_on(const struct engine *engine,
                                page_no page_number, node_id to)
{
    const enum handing handing = pushes_may_hand(engine, page_number, to);

    return handing == HAND_NOT && pushes_is_calm(engine, page_number, to) &&
                   readers_write_alone(engine, page_number, to)
               ? HAND_AND_KEEP
               : handing;
}

// ---- what others know

// T1 of race.c: writes are to be seen.
enum page_state pushes_state_alone(const struct engine *engine, page_no page)
{
    (void)page;
    return race_of(engine) != NULL ? PAGE_CLEAN : PAGE_EXCLUSIVE;
}

// The next push says nothing to an absent page, as ever; its answer tells the owner.
void pushes_evicted(struct engine *engine, page_no page)
{
    page_of(engine, page)->untold = 1;
}

static void forget_use(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct page_use *use = page_use_of(page);

    if (page->state == PAGE_CLEAN && page->access != ACCESS_NONE &&
        !page->fetching && !page->pinned) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
        use->probe_in = 0;
        use->probe_steps = 0;
        use->unread = UNREAD_MAX - 1; // the next push finds it unused
    }
}

void pushes_advised(struct engine *engine, page_no page,
                    enum page_advice advice)
{
    if (!migration_has_begun(engine, page)) { // A9
        page_of(engine, page)->moves = 0;     // it may follow its threads again
    }
    extent_forget_asked_back(engine, page);
    if (advice == ADVICE_UNUSED) {
        forget_use(engine, page);
    }
}

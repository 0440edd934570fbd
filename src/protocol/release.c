// SPDX-License-Identifier: BSD-3-Clause
//
// A release pushes what this node's threads have written to pages that others
// hold. One is under way at a time; those asked for meanwhile are carried out
// together as the next (protocols.md, section 3): so two diffs of a page never
// overtake each other.
//
//   idle      nothing under way                    engine_release -> active
//   active    diffs sent, `flush_waiters` wait     flushed -> idle, or
//             `next_waiters` wait for the next     active again for the next
//
// Diffs of release_now() count for the next release if one is under way, else they are
// the one under way: however often some are sent, each release ends.
//
// Some of `flush_waiters` wait for less than the end: who only wants to tell the one
// node that all diffs went to (sent). The release stays active.
//
// A page that releases keep finding written stays writable: its diff is taken
// against the twin without protecting it, which saves a fault and two calls of
// the system a release. Releases that find it unchanged protect it, but not the
// first: many pages are written between every second or third pair of releases
// only (one colour of two, one copy of two), and to compare a page a few times
// costs less than a fault.
//
// R1 A page is on the list `dirty` exactly if `listed`; all dirty pages are.
// R2 Of a copy that its node may go on using there is one diff under way: what is dirty when the node
//    stops, for others to come or go, is diffed when no release is under way. The answer to a diff may bring
//    the page (A3): one behind it would go to the former owner, come back from there, and set back
//    what has been written since, if all go on without a change.
#include "base/ensure.h"
#include "mem/diff.h"
#include "pages/causality.h"
#include "protocol/copies.h"
#include "protocol/kept_bound.h"
#include "protocol/protocol_calls.h"
#include "protocol/recall.h"
#include "protocol/recent.h"
#include "protocol/scopes.h"
#include "protocol/updates.h"

#include <stdlib.h>
#include <string.h>

// So many releases in a row find a hot page unchanged before it is protected.
#define HOT_RELEASES 8u

void release_look_at(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (!page->listed) {
        page->listed = 1;
        page_list_add(&engine->updates->dirty, page_number);
    }
}

void release_make_twin(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page->twin = twin_pool_get(&engine->space->twins);
    memcpy(page->twin, space_bytes(engine->space, page_number), TM_PAGE_SIZE);
    page->state = PAGE_DIRTY;
    engine->stats.twins++;
    release_look_at(engine, page_number);
}

void release_drop_twin(struct engine *engine, struct page *page)
{
    twin_pool_put(&engine->space->twins, page->twin);
    page->twin = NULL;
    page_use_of(page)->hot = 0;
}

static void release_no_more(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page->listed = 0;
    if (page->state == PAGE_DIRTY) {
        release_drop_twin(engine, page);
        page->state = PAGE_CLEAN;
    }
}

void release_leave_out(struct engine *engine, const struct extent *extent)
{
    struct page_list *dirty = &engine->updates->dirty;

    for (size_t i = 0; i < dirty->n; i++) {
        if (extent_find(engine, dirty->at[i]) == extent) {
            release_no_more(engine, dirty->at[i]);
        }
    }
    page_list_leave_out(dirty, extent);
    scopes_forget(engine, extent);
}

// Do diffs of the page stay here?
static int is_kept(const struct engine *engine, page_no page)
{
    const struct update_rules *rules = update_rules_of(engine, page);

    return rules != NULL && rules->keep != NULL;
}

static void send_diff(struct engine *engine, struct flight *flight,
                      page_no page_number, const void *diff, size_t size)
{
    struct page *page = page_of(engine, page_number);
    struct update_item item = {
        .page = page_number,
        .size = (uint16_t)size,
        .diff = diff,
    };

    if (is_kept(engine, page_number)) {
        update_wrote(engine, page_number, diff, size);
        return;
    }
    if (race_of(engine) != NULL) {
        item.writer = race_writer(engine, page_number);
    }
    if (page->is_owner) {
        if (race_of(engine) != NULL) {
            race_note(engine, engine->port->self, &item);
        }
        update_wrote(engine, page_number, diff, size);
        if (flight_push(engine, flight, NODE_NONE, &item)) {
            flight_add_page(flight, page_number, 1, 0);
        }
        return;
    }
    page->in_flight++;
    flight->goes_on = 1;
    flight_add_page(flight, page_number, 0, 0);
    flight_add(engine, flight, fetch_route(engine, page_number), ITEM_TO_OWNER,
               &item);
}

static size_t take_diff(struct engine *engine, page_no page_number, void *diff)
{
    return diff_encode(space_bytes(engine->space, page_number),
                       page_of(engine, page_number)->twin, diff);
}

// A hot page whose diff is empty cools down. When it is cold: protect it, and look
// once more for what was written before it was protected.
static size_t cool_down(struct engine *engine, page_no page_number, void *diff)
{
    struct page_use *use = page_use_of(page_of(engine, page_number));

    use->hot--;
    if (use->hot > 0) {
        return 0;
    }
    space_set_access(engine->space, page_number, 1, ACCESS_READ);
    return take_diff(engine, page_number, diff);
}

// One dirty page; protected already unless it is hot.
static void release_page(struct engine *engine, struct flight *flight,
                         page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct page_use *use = page_use_of(page);
    uint8_t diff[DIFF_MAX];
    size_t size = take_diff(engine, page_number, diff);

    if (size == 0 && page->access == ACCESS_WRITE) {
        size = cool_down(engine, page_number, diff);
    }
    if (size > 0) {
        send_diff(engine, flight, page_number, diff, size);
    }
    if (page->access == ACCESS_WRITE) {
        use->hot = size > 0 ? HOT_RELEASES : use->hot;
        return; // stays dirty and listed
    }
    release_drop_twin(engine, page);
    use->hot = size > 0 && race_of(engine) == NULL ? HOT_RELEASES : 0;
    page->state = PAGE_CLEAN;
}

// Nobody else holds it any more.
static void make_exclusive(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    release_drop_twin(engine, page);
    page->state = PAGE_EXCLUSIVE;
}

static int to_be_protected(const struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    return page->state == PAGE_DIRTY &&
           (!page_use_of(page)->hot || engine->is_short);
}

// Protect the pages that are not hot, neighbours in one call.
static void protect_runs(struct engine *engine)
{
    const struct page_list *dirty = &engine->updates->dirty;
    size_t i = 0;

    while (i < dirty->n) {
        size_t n = 0;

        while (i + n < dirty->n && dirty->at[i + n] == dirty->at[i] + n &&
               to_be_protected(engine, dirty->at[i + n])) {
            n++;
        }
        if (n > 0) {
            space_set_access(engine->space, dirty->at[i], n, ACCESS_READ);
        }
        i += n > 0 ? n : 1;
    }
}

// Has its owner written what no version has? (What is clean was sealed when it was given to
// others, but for pages of scope.)
static int is_unversioned(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);
    const struct update_rules *rules = update_rules_of(engine, page_number);

    return page->is_owner &&
           (page->state != PAGE_CLEAN || (rules != NULL && rules->is_scoped));
}

// A page that is not dirty, or not any more.
static void take_off(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page->listed = 0;
    if (is_unversioned(engine, page_number)) {
        update_wrote(engine, page_number, NULL, 0);
    }
    steps_made(engine, page_number,
               (struct step_cause){.event = STEP_RELEASED});
}

// Take pages off the list that are not dirty or need no diff.
static void sort_out(struct engine *engine)
{
    struct page_list *dirty = &engine->updates->dirty;
    size_t kept = 0;

    for (size_t i = 0; i < dirty->n; i++) {
        struct page *page = page_of(engine, dirty->at[i]);

        if (page->state == PAGE_DIRTY && page->is_owner &&
            copyset_is_empty(page) && race_of(engine) == NULL &&
            !recent_is_followed(engine, dirty->at[i]) &&
            !is_kept(engine, dirty->at[i])) {
            make_exclusive(engine, dirty->at[i]);
        }
        if (page->state == PAGE_DIRTY) {
            dirty->at[kept++] = dirty->at[i];
        } else {
            take_off(engine, dirty->at[i]);
        }
    }
    dirty->n = kept;
}

static void start_flush(struct engine *engine);

// The release under way is over, if all of it is.
static void flushed(struct engine *engine)
{
    struct updates *updates = engine->updates;
    struct waiter *done = updates->flush_waiters;

    if (updates->n_flushes > 0) {
        return;
    }
    updates->release++;
    updates->n_flushes = updates->n_next;
    updates->n_next = 0;
    updates->flush_waiters = updates->next_waiters;
    updates->next_waiters = NULL;
    if (updates->flush_waiters != NULL) {
        start_flush(engine);
    }
    waiter_wake_all(done);
    if (engine->is_frozen && updates->n_flushes == 0) {
        copies_clean_all(engine); // R2
    }
}

// All diffs are this one node's. May it be told of the release before it has acknowledged them?
// Only if it has nobody to pass them on to.
static int ends_there(const struct engine *engine, const struct flight *flight,
                      node_id to)
{
    return to != NODE_NONE && engine->updates->n_flushes == 1 &&
           (!flight->goes_on || engine->port->roster.n_live == 2);
}

static int is_to_be_told(const struct engine *engine,
                         const struct flight *flight, node_id to)
{
    const struct waiter *waiter = engine->updates->flush_waiters;

    if (!ends_there(engine, flight, to)) {
        return 0;
    }
    while (waiter != NULL && waiter->result2 != to) {
        waiter = waiter->next;
    }
    return waiter != NULL;
}

static void sent(struct engine *engine, const struct flight *flight)
{
    struct waiter **link = &engine->updates->flush_waiters;
    struct waiter *ready = NULL;
    struct waiter **last = &ready;

    if (!ends_there(engine, flight, flight->sent_to)) {
        return;
    }
    while (*link != NULL) {
        struct waiter *waiter = *link;

        if (waiter->result2 == flight->sent_to) {
            *link = waiter->next;
            waiter->next = NULL;
            *last = waiter;
            last = &waiter->next;
        } else {
            link = &waiter->next;
        }
    }
    waiter_wake_all(ready);
}

static void flush_arrived(struct engine *engine, struct flight *flight)
{
    struct updates *updates = engine->updates;

    if (flight->release == updates->release) {
        updates->n_flushes--;
    } else {
        updates->n_next--;
    }
}

static const struct flight_kind flush = {
    .has_follower = is_to_be_told,
    .departed = sent,
    .arrived = flush_arrived,
    .ended = flushed,
    .is_own = 1,
};

static const struct flight_kind flush_now = {
    .has_follower = flight_goes_alone,
    .departed = flight_leaves_it,
    .arrived = flush_arrived,
    .ended = flushed,
    .is_own = 1,
};

static struct flight *begin_flush(struct engine *engine,
                                  const struct flight_kind *kind, int is_next)
{
    struct updates *updates = engine->updates;
    struct flight *flight = flight_new(engine, kind);

    if (race_of(engine) != NULL) {
        causality_begin_release(engine); // before any diff of it is made: O2
    }
    flight->origin = engine->port->self;
    flight->release = updates->release + (is_next != 0);
    if (is_next) {
        updates->n_next++;
    } else {
        updates->n_flushes++;
    }
    return flight;
}

static void start_flush(struct engine *engine)
{
    struct flight *flight;
    struct page_list *dirty = &engine->updates->dirty;
    size_t kept = 0;

    if (engine->updates->scopes != NULL) {
        scopes_begin_release(engine); // U2
    }
    sort_out(engine);
    qsort(dirty->at, dirty->n, sizeof *dirty->at, page_no_compare);
    protect_runs(engine);
    flight = begin_flush(engine, &flush, 0);
    for (size_t i = 0; i < dirty->n; i++) {
        struct page *page = page_of(engine, dirty->at[i]);

        release_page(engine, flight, dirty->at[i]);
        if (page->state == PAGE_DIRTY) {
            dirty->at[kept++] = dirty->at[i];
        } else {
            page->listed = 0;
        }
        steps_made(engine, dirty->at[i],
                   (struct step_cause){.event = STEP_RELEASED});
    }
    dirty->n = kept;
    engine->stats.releases++;
    flight_depart(engine, flight);
    recall_send(engine);
}

void release_now(struct engine *engine, const struct page_list *pages)
{
    struct flight *flight = NULL;

    for (size_t i = 0; i < pages->n; i++) {
        if (page_of(engine, pages->at[i])->state != PAGE_DIRTY) {
            continue;
        }
        if (flight == NULL) {
            flight =
                begin_flush(engine, &flush_now, engine->updates->n_flushes > 0);
        }
        release_page(engine, flight, pages->at[i]);
        steps_made(engine, pages->at[i],
                   (struct step_cause){.event = STEP_RELEASED});
    }
    if (flight != NULL) {
        flight_depart(engine, flight);
    }
}

void release_early(struct engine *engine)
{
    const struct updates *updates = engine->updates;

    if (engine->is_short && !engine->is_frozen) {
        kept_relieve(engine);
    }
    if (updates->n_flushes == 0 && updates->dirty.n > 0 && !engine->is_frozen) {
        start_flush(engine);
    }
}

int engine_has_released(const struct engine *engine)
{
    return engine->updates->n_flushes == 0 && engine->updates->dirty.n == 0;
}

void engine_release(struct engine *engine, node_id next, struct waiter *waiter)
{
    struct updates *updates = engine->updates;

    waiter->result2 = next; // for sent()
    if (updates->n_flushes > 0) {
        list_push(updates->next_waiters, waiter);
        return;
    }
    if (updates->dirty.n == 0) {
        waiter_wake(waiter, TM_OK, 0);
        return;
    }
    waiter->next = NULL;
    updates->flush_waiters = waiter;
    start_flush(engine);
}

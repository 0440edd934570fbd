// SPDX-License-Identifier: BSD-3-Clause
//
// Write notices. An owner counts the versions of its page, so one number orders all that
// was written to it, by whomever, and a notice needs no vector. Nor does what a node has
// heard: the latest notice of each page is in one list (notice_list.c). Who hears of
// something passes it on with all that it orders: so notices follow what the program
// orders, over any number of nodes. Those of a protocol that is scoped do not go with the
// tokens of mutexes, but for what scopes.c adds.
//
// N1 A notice speaks of a version that the page's owner has.
// N2 Who is let go on by a node has heard before of all that this one had; with a mutex's
//    token, of all but what is scoped.
// N5 What one node tells at once is heard at once, though it comes in several messages: before, a
//    node might have heard of a diff, and not of one that came before it.
#include "protocol/notices.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/vector.h"
#include "protocol/migration.h"
#include "protocol/notice_list.h"
#include "protocol/scopes.h"

#define PARTS_KEPT                                                             \
    64u // so much room stays: there are many of them at the start

struct notices {
    struct notice_list list;
    struct notice *parts; ///< of what nodes have told, but not to its end: N5
    uint32_t n_parts;
    uint32_t room;
    struct page_list stale; ///< pages that one message names
    struct page_list alike; ///< of these, those of one protocol
};

static struct notices *notices_of(struct engine *engine)
{
    struct updates *updates = engine->updates;

    if (updates->notices == NULL) {
        updates->notices = calloc(1, sizeof *updates->notices);
        ensure_memory(updates->notices != NULL);
    }
    return updates->notices;
}

void notices_note(struct engine *engine, page_no page, uint32_t version,
                  node_id from)
{
    const struct extent *extent = extent_find(engine, page);
    const struct page *at = page_of(engine, page);
    const struct notice notice = {
        .page = page,
        .version = version,
        .serial = extent == NULL ? 0 : extent->serial,
        .from = from,
        .owner = at->is_owner && migration_is_on(engine, page)
                     ? (uint16_t)(engine->port->self + 1)
                     : 0,
        .epoch = at->epoch,
        .is_scoped = (uint8_t)scopes_have(engine, page),
    };

    if (extent != NULL) {
        (void)notice_list_add(&notices_of(engine)->list, &notice);
    }
}

int notices_are_newer(const struct engine *engine, page_no page,
                      uint32_t version)
{
    const struct notices *notices = engine->updates->notices;
    const struct extent *extent = extent_find(engine, page);
    const struct notice *notice =
        notices == NULL ? NULL : notice_list_find(&notices->list, page, 0);

    return notice != NULL && extent != NULL &&
           notice->serial == extent->serial && // N4
           version_is_newer((uint32_t)notice->version, version);
}

// ---- of writers that keep their diffs

uint64_t notices_next_stamp(struct engine *engine)
{
    return ++engine->updates->stamp;
}

void notices_note_writer(struct engine *engine, page_no page, uint64_t stamp)
{
    const struct extent *extent = extent_find(engine, page);
    const struct notice notice = {
        .page = page,
        .version = stamp,
        .serial = extent == NULL ? 0 : extent->serial,
        .from = engine->port->self,
        .writer = (uint16_t)(engine->port->self + 1),
    };

    if (extent != NULL) {
        (void)notice_list_add(&notices_of(engine)->list, &notice);
    }
}

uint64_t notices_stamp(const struct engine *engine, page_no page,
                       node_id writer)
{
    const struct notices *notices = engine->updates->notices;
    const struct extent *extent = extent_find(engine, page);
    const struct notice *notice =
        notices == NULL ? NULL
                        : notice_list_find(&notices->list, page, writer + 1u);

    return notice != NULL && extent != NULL && notice->serial == extent->serial
               ? notice->version
               : 0; // N4
}

// A node's stamps are above all that it has heard of: Z12.
static void hear_stamp(struct engine *engine, uint64_t stamp)
{
    if (stamp > engine->updates->stamp) {
        engine->updates->stamp = stamp;
    }
}

// ---- telling

// What goes with a mutex's token, and with no other message.
static struct notice_list *list_of(struct engine *engine, uint64_t mutex)
{
    const struct notices *notices = engine->updates->notices;

    return mutex == NO_MUTEX
               ? NULL
               : scopes_list(engine, mutex,
                             notices == NULL ? NULL : &notices->list);
}

void notices_send(struct engine *engine, node_id to, uint64_t mutex)
{
    struct notices *notices = engine->updates->notices;
    struct notice_list *list = list_of(engine, mutex);
    const unsigned most = engine->updates->notices_most;

    if (notices != NULL) {
        notice_list_send(engine->port, &notices->list, to, NO_MUTEX,
                         mutex != NO_MUTEX, most);
    }
    if (list != NULL) {
        notice_list_send(engine->port, list, to, mutex, 0, most);
    }
}

// ---- hearing

// NULL: the page's protocol wants to hear of none.
static const struct update_rules *listener(const struct engine *engine,
                                           page_no page)
{
    const struct update_rules *rules = update_rules_of(engine, page);

    return rules != NULL && rules->noticed != NULL ? rules : NULL;
}

static int is_behind_writer(const struct engine *engine,
                            const struct notice *notice)
{
    const struct update_rules *rules = listener(engine, notice->page);
    const struct extent *extent = extent_find(engine, notice->page);

    return extent != NULL && extent->serial == notice->serial && // N4
           page_of(engine, notice->page)->state != PAGE_ABSENT &&
           rules != NULL && rules->is_behind != NULL &&
           rules->is_behind(engine, notice->page, notice->writer - 1u,
                            notice->version);
}

// An old copy is here.
static int is_stale(const struct engine *engine, const struct notice *notice)
{
    const page_no page_number = notice->page;
    const struct page *page = page_of(engine, page_number);

    if (notice->writer != 0) {
        return is_behind_writer(engine, notice);
    }
    return page->state != PAGE_ABSENT && !page->is_owner && !page->subscribed &&
           listener(engine, page_number) != NULL &&
           notices_are_newer(engine, page_number, page->base);
}

// Who had written the page owned it: to be asked for it, if this node has nothing of it to
// tell another one (A3).
static void follow_owner(struct engine *engine, const struct notice *notice)
{
    struct page *page = page_of(engine, notice->page);
    const struct extent *extent = extent_find(engine, notice->page);

    if (notice->writer == 0 && notice->owner != 0 &&
        notice->owner != engine->port->self + 1 &&
        notice->epoch > page->epoch && // H2: also where a hint was cleared
        roster_has(&engine->port->roster, notice->owner - 1u) &&
        (page->state == PAGE_ABSENT || page_use_of(page)->is_left) &&
        !page->is_owner && !page->fetching && page->in_flight == 0 &&
        extent != NULL && extent->serial == notice->serial &&
        listener(engine, notice->page) != NULL) {
        hint_set(page, notice->owner - 1u, notice->epoch);
        steps_made(engine, notice->page,
                   (struct step_cause){.event = STEP_NOTICED,
                                       .from = notice->owner - 1u,
                                       .epoch = notice->epoch});
    }
}

static void hear(struct engine *engine, const struct notice *notice,
                 uint64_t mutex)
{
    struct notices *notices = notices_of(engine);

    if (mutex != NO_MUTEX) {
        scopes_hear(engine, mutex, notice);
    }
    if (notice->writer != 0) {
        hear_stamp(engine, notice->version);
    }
    if (!notice_list_add(&notices->list, notice)) {
        return;
    }
    steps_made_run(engine, notice->page, notice->writer != 0, STEP_HEARD);
    if (is_stale(engine, notice)) {
        page_list_add(&notices->stale, notice->page);
    }
    follow_owner(engine, notice);
}

// Those that one protocol listens for leave the list.
static void take_alike(struct engine *engine, struct page_list *stale,
                       struct page_list *alike)
{
    const struct update_rules *rules = listener(engine, stale->at[0]);
    size_t kept = 0;

    alike->n = 0;
    for (size_t i = 0; i < stale->n; i++) {
        if (listener(engine, stale->at[i]) == rules) {
            page_list_add(alike, stale->at[i]);
        } else {
            stale->at[kept++] = stale->at[i];
        }
    }
    stale->n = kept;
}

// All at once, to each that listens.
static void tell_stale(struct engine *engine)
{
    struct notices *notices = notices_of(engine);

    while (notices->stale.n > 0) {
        take_alike(engine, &notices->stale, &notices->alike);
        listener(engine, notices->alike.at[0])
            ->noticed(engine, &notices->alike);
    }
}

static void hear_list(struct engine *engine, const struct notice_list *list,
                      uint64_t mutex, int but_scoped)
{
    for (uint32_t i = 0; list != NULL && i < list->n; i++) {
        if (!list->at[i].is_past && !(but_scoped && list->at[i].is_scoped)) {
            hear(engine, &list->at[i], mutex);
        }
    }
}

void notices_hear(struct engine *engine, struct engine *before, uint64_t mutex)
{
    const struct notices *theirs = before->updates->notices;

    if (theirs == NULL) {
        return;
    }
    hear_list(engine, &theirs->list, NO_MUTEX, mutex != NO_MUTEX);
    hear_list(engine, list_of(before, mutex), mutex, 0);
    tell_stale(engine);
}

static struct notice notice_of(const struct engine *engine, node_id from,
                               const struct wire_notice_entry *entry,
                               uint64_t mutex)
{
    struct notice notice = {
        .page = entry->page,
        .version = entry->version,
        .serial = entry->serial,
        .from = from,
        .is_scoped =
            (uint8_t)(mutex != NO_MUTEX || scopes_have(engine, entry->page)),
    };

    if (entry->owner & NOTICE_OF_WRITER) {
        notice.writer = entry->owner & ~NOTICE_OF_WRITER;
        notice.version |= (uint64_t)entry->epoch << 32;
    } else {
        notice.owner = entry->owner;
        notice.epoch = entry->epoch;
    }
    return notice;
}

// N5: those of a node, which have come in order.
static void hear_parts(struct engine *engine, node_id from, uint64_t mutex)
{
    struct notices *notices = notices_of(engine);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < notices->n_parts; i++) {
        if (notices->parts[i].from == from) {
            hear(engine, &notices->parts[i], mutex);
        } else {
            notices->parts[kept++] = notices->parts[i];
        }
    }
    notices->n_parts = kept;
    if (kept == 0 && notices->room > PARTS_KEPT) {
        free(notices->parts);
        notices->parts = NULL;
        notices->room = 0;
    }
    tell_stale(engine);
}

tm_status notices_receive(struct engine *engine, node_id from,
                          const struct message *message)
{
    const uint64_t mutex = message->u.notices.mutex;
    struct notices *notices = notices_of(engine);
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_notice_entry entry = wire_get_notice_entry(&reader);

        if (entry.page < engine->space->n_pages &&
            (entry.owner & ~NOTICE_OF_WRITER) <= TM_MAX_NODES) {
            vector_reserve(notices->parts, notices->room, notices->n_parts + 1);
            notices->parts[notices->n_parts++] =
                notice_of(engine, from, &entry, mutex);
        }
    }
    if (!message->u.notices.more) {
        hear_parts(engine, from, mutex);
    }
    return TM_OK;
}

// ---- forgetting

void notices_forget(struct engine *engine, const struct extent *extent)
{
    if (engine->updates->notices != NULL) {
        notice_list_forget(&engine->updates->notices->list, extent);
    }
}

void notices_free(struct updates *updates)
{
    struct notices *notices = updates->notices;

    if (notices == NULL) {
        return;
    }
    notice_list_release(&notices->list);
    free(notices->parts);
    free(notices->stale.at);
    free(notices->alike.at);
    free(notices);
    updates->notices = NULL;
}

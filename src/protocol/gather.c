// SPDX-License-Identifier: BSD-3-Clause
//
// What a page lacks is asked of those who keep it (homeless.c). While a page is `fetching`:
//
//   asked the owner        the page's bytes are to come (`copy`), with whose diffs are in them
//   asked who wrote last   it sends its diffs, and those of others that it has applied
//   asked writers          for what is still missing, each for its own
//   go_on                  nothing is missing any more: what has come is applied, in order
//
// So data that go from node to node come from the last one, and what many have written side by
// side from each of them. (TreadMarks knows beforehand who has whose diffs, by vectors.)
//
// A writer that has dropped its diffs says so, and the page is asked of its owner, who has them
// (Z15). A page's owner asks writers as others do: for a thread, for an atomic operation, or because
// a writer wants to drop its diffs (`home`).
#include "protocol/gather.h"

#include "base/list.h"
#include "mem/diff.h"
#include "pages/places.h"
#include "protocol/kept_answer.h"
#include "protocol/kept_bound.h"
#include "protocol/notice_list.h"
#include "protocol/notices.h"

#include <stdlib.h>
#include <string.h>

// Of a page no more of others' diffs are kept, for who asks this node.
#define OTHERS_MAX DIFF_MAX

// ---- what a page lacks

// The stamp up to which it is to have a writer's diffs. 0: none. (What this node keeps no more
// the owner has, and so who has the page from there.)
static uint64_t wanted_of(const struct engine *engine,
                          const struct kept_page *record, node_id writer)
{
    return writer == engine->port->self
               ? kept_newest(record)
               : notices_stamp(engine, record->page, writer);
}

static int lacks_of(const struct engine *engine, const struct kept_page *record,
                    node_id writer)
{
    return wanted_of(engine, record, writer) > kept_has(record, writer);
}

int gather_lacks(const struct engine *engine, const struct kept_page *record)
{
    const struct roster *roster = &engine->port->roster;
    unsigned i = 0;

    while (i < roster->n_live && !lacks_of(engine, record, roster->live[i])) {
        i++;
    }
    return i < roster->n_live;
}

int gather_is_old(const struct engine *engine, page_no page)
{
    const struct kept_page *record = kept_find(engine, page);

    return record != NULL && gather_lacks(engine, record);
}

// ---- asking writers

static void take_own(const struct engine *engine, struct kept_page *record)
{
    const node_id self = engine->port->self;
    const uint64_t since = kept_has_or_gets(record, self);

    for (const struct kept_diff *at = record->own; at != NULL; at = at->next) {
        if (at->stamp > since) {
            kept_come(record, self, at->stamp, at->bytes, at->size);
        }
    }
}

// What neither is here nor has come of others.
static unsigned find_wanted(const struct engine *engine,
                            const struct kept_page *record,
                            struct wire_kept_wanted *wanted)
{
    const struct roster *roster = &engine->port->roster;
    unsigned n = 0;

    for (unsigned i = 0; i < roster->n_live; i++) {
        const node_id writer = roster->live[i];
        const uint64_t since = kept_has_or_gets(record, writer);
        const uint64_t until = wanted_of(engine, record, writer);

        if (writer != engine->port->self && until > since) {
            wanted[n++] = (struct wire_kept_wanted){writer, since, until};
        }
    }
    return n;
}

static void ask(struct engine *engine, struct kept_page *record, node_id to,
                const struct wire_kept_wanted *wanted, unsigned n)
{
    uint8_t body[TM_MAX_NODES * WIRE_SIZE_kept_wanted];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_diffs_ask,
        .u.diffs_ask = {.page = record->page, .count = (uint16_t)n},
        .body = body,
    };

    for (unsigned i = 0; i < n; i++) {
        wire_put_kept_wanted(&writer, &wanted[i]);
    }
    message.body_size = (uint32_t)(writer.at - body);
    record->n_asked++;
    steps_sent(engine, record->page, STEP_SENT_ASK_DIFFS, to);
    port_send(engine->port, to, &message);
}

// Who has written last may have what all others have written before.
static node_id last_of(const struct wire_kept_wanted *wanted, unsigned n)
{
    unsigned last = 0;

    for (unsigned i = 1; i < n; i++) {
        if (wanted[i].until > wanted[last].until) {
            last = i;
        }
    }
    return wanted[last].writer;
}

// The page is `fetching`, and what else it is waiting for does not end that any more.
// @return 1 somebody has been asked
static int ask_writers(struct engine *engine, struct kept_page *record)
{
    struct wire_kept_wanted wanted[TM_MAX_NODES];
    unsigned n;

    page_of(engine, record->page)->fetch = ++engine->last_fetch;
    take_own(engine, record);
    n = find_wanted(engine, record, wanted);
    if (n > 0 && !record->was_asked) {
        record->was_asked = 1;
        ask(engine, record, last_of(wanted, n), wanted, n);
        return 1;
    }
    for (unsigned i = 0; i < n; i++) {
        ask(engine, record, wanted[i].writer, &wanted[i], 1);
    }
    return n > 0;
}

static int is_here(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->is_owner ||
           (page->stale && (engine->space->pager == NULL || page->exists));
}

// An owner may have a request of its own out, from before it was granted the page.
void gather_begin(struct engine *engine, page_no page)
{
    struct kept_page *record = kept_find(engine, page);

    if (!page_of(engine, page)->fetching) {
        fetch_begin(engine, extent_find(engine, page), page);
    }
    if (record->n_asked == 0) {
        (void)ask_writers(engine, record);
    }
}

void gather_ask(struct engine *engine, page_no page, int is_write)
{
    struct extent *extent = extent_find(engine, page);

    if (!is_here(engine, page) || !gather_is_old(engine, page)) {
        page_of(engine, page)->stale = 0;
        fetch_start(engine, extent, page, is_write, NULL);
        return;
    }
    gather_begin(engine, page);
    steps_made(engine, page,
               (struct step_cause){.event = STEP_ASKS,
                                   .facts = is_write ? STEP_WRITE : 0});
}

static void tell_at_home(struct engine *engine, struct kept_page *record)
{
    for (unsigned i = 0; i < record->n_waiting; i++) {
        kept_send_home(engine, record->page, record->waiting[i], 1,
                       kept_has(record, record->waiting[i]));
    }
    record->n_waiting = 0;
}

// ---- diffs have come

static void change_bytes(struct engine *engine, page_no page,
                         const struct kept_diff *diff)
{
    engine->stats.updates_received++;
    if (diff_apply(diff->bytes, diff->size,
                   space_bytes_to_change(engine->space, page), NULL) != TM_OK) {
        engine_refuse_part(engine, page, "a malformed diff");
        return;
    }
    space_changed(engine->space, page, diff->bytes, diff->size);
}

// An empty one says that the owner has all up to there.
static void apply(struct engine *engine, struct kept_page *record)
{
    const uint32_t most = engine->is_short ? 0 : OTHERS_MAX;

    list_take_each (diff, record->come) {
        const struct kept_part part = {diff->stamp, diff->writer};

        if (diff->size > 0) {
            change_bytes(engine, record->page, diff);
        }
        if (diff->size > 0 && part.writer != engine->port->self) {
            kept_pass_on(record, diff, most);
        } else {
            free(diff);
        }
        kept_set(record, part.writer, part.stamp);
    }
}

static void settle_owner(struct engine *engine, struct kept_page *record)
{
    struct page *page = page_of(engine, record->page);

    if (!gather_lacks(engine, record)) {
        protocol_of(engine, record->page)
            ->arrived(engine, record->page, page->want_write);
    }
    page->busy = 0; // Z18
    tell_at_home(engine, record);
    engine_settle(engine, record->page);
}

static void settle_copy(struct engine *engine, struct kept_page *record)
{
    struct page *page = page_of(engine, record->page);

    if (gather_lacks(engine, record)) {
        page->stale = 1; // as before
        engine_settle(engine, record->page);
        return;
    }
    fetch_install_copy(engine, record->page, (node_id)(page->hint - 1),
                       page->epoch, 1);
}

// Z15: a writer has dropped what was asked for; the page's owner has it.
static void ask_owner(struct engine *engine, struct kept_page *record)
{
    record->is_lost = 0;
    record->was_asked = 0;
    kept_drop_come(record);
    page_of(engine, record->page)->stale = 0;
    engine_discard_later(engine, record->page);
    fetch_ask_again(engine, record->page);
}

// All who were asked have answered. What has come is applied when nothing is missing: Z11.
static void go_on(struct engine *engine, struct kept_page *record)
{
    const struct page *page = page_of(engine, record->page);

    if (record->is_lost && !page->is_owner) {
        ask_owner(engine, record);
        return;
    }
    record->is_lost = 0;
    if (ask_writers(engine, record)) {
        return; // or more has been heard of meanwhile
    }
    record->was_asked = 0;
    apply(engine, record);
    if (page->is_owner) {
        settle_owner(engine, record);
    } else {
        settle_copy(engine, record);
    }
}

static tm_status receive_diffs(struct engine *engine, node_id from,
                               const struct message *message)
{
    struct kept_page *record = kept_find(engine, message->u.diffs.page);
    struct wire_reader reader = wire_read_body(message);

    if (record == NULL || record->n_asked == 0 ||
        !page_of(engine, record->page)->fetching) {
        return TM_EWIRE;
    }
    while (wire_has_more(&reader)) {
        const struct wire_kept_diff got = wire_get_kept_diff(&reader);

        if (!reader.failed && (got.diff.size > 0 || got.writer == from)) {
            kept_come(record, got.writer, got.stamp, got.diff.at,
                      got.diff.size);
        }
    }
    if (message->u.diffs.what == DIFFS_MORE) {
        return TM_OK;
    }
    record->is_lost |= message->u.diffs.what == DIFFS_DROPPED;
    record->n_asked--;
    if (record->n_asked == 0) {
        go_on(engine, record);
    }
    return TM_OK;
}

static tm_status receive_copy(struct engine *engine, node_id from,
                              const struct message *message)
{
    const struct message_copy *copy = &message->u.copy;
    struct wire_reader reader = wire_read_body(message);
    struct page *page = page_of(engine, copy->page);
    struct kept_page *record = kept_of(engine, copy->page);

    if (!page->fetching || page->state != PAGE_ABSENT || page->stale ||
        record->n_asked > 0 ||
        message->body_size !=
            copy->count * (size_t)WIRE_SIZE_kept_part + TM_PAGE_SIZE) {
        return TM_EWIRE;
    }
    record->n_parts = 0;
    for (unsigned i = 0; i < copy->count; i++) {
        const struct wire_kept_part part = wire_get_kept_part(&reader);

        kept_set(record, part.writer, part.stamp);
    }
    space_fill(engine->space, copy->page, 1,
               wire_get_bytes(&reader, TM_PAGE_SIZE));
    engine->stats.pages_fetched++;
    place_note(engine, copy->page, PLACE_FETCH);
    memset(page->own, 0, sizeof page->own);
    hint_set(page, from, copy->epoch);
    if (!ask_writers(engine, record)) {
        go_on(engine, record);
    }
    return TM_OK;
}

// ---- what others ask for

static tm_status receive_home_ask(struct engine *engine, node_id from,
                                  const struct message *message)
{
    const page_no page = message->u.home.page;
    struct kept_page *record = kept_of(engine, page);

    if (!page_of(engine, page)->is_owner) {
        return TM_EWIRE;
    }
    if (record->n_asked > 0) {
        kept_await(record, from);
    } else if (!gather_lacks(engine, record)) {
        kept_await(record, from);
        tell_at_home(engine, record);
    } else if (!paging_parks(engine, from, message)) {
        kept_await(record, from);
        gather_begin(engine, page);
    }
    return TM_OK;
}

// Do writers of the page keep their diffs?
static int are_kept(const struct engine *engine, page_no page)
{
    const struct update_rules *rules =
        extent_has(engine, page, 1) ? update_rules_of(engine, page) : NULL;

    return rules != NULL && rules->keep != NULL;
}

tm_status gather_receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    const struct message_home *home = &message->u.home;

    switch (message->type) {
    case MESSAGE_copy:
        return are_kept(engine, message->u.copy.page)
                   ? receive_copy(engine, from, message)
                   : TM_EWIRE;
    case MESSAGE_diffs_ask:
        return are_kept(engine, message->u.diffs_ask.page)
                   ? kept_answer(engine, from, message)
                   : TM_EWIRE;
    case MESSAGE_diffs:
        return are_kept(engine, message->u.diffs.page)
                   ? receive_diffs(engine, from, message)
                   : TM_EWIRE;
    default:
        if (!extent_has(engine, home->page, 1)) {
            return TM_OK; // its block is gone meanwhile
        }
        if (!are_kept(engine, home->page)) {
            return TM_EWIRE;
        }
        return home->is_there
                   ? kept_receive_home(engine, home->page, home->stamp)
                   : receive_home_ask(engine, from, message);
    }
}

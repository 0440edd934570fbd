// SPDX-License-Identifier: BSD-3-Clause
//
// Stale copies. A notice makes a copy stale (copies.c): its diff is on the way, if it has
// one, it is absent, and its bytes are kept. A fault on it asks the owner for what has
// changed since (recent.c), and for the same of other stale pages of that owner which
// follow in the block and were of use before: one message there, one back.
//
//   clean, dirty -> absent, stale   copies_make_stale(): a notice has come
//   stale        -> clean           refreshed has come, or the page; perhaps with ownership
//                -> absent          memory is short (the pager discards), or nodes have come
//                                   or gone
//
// A copy that was refreshed ahead may be of no use. It is left unmapped now and then; one
// that becomes stale again before anybody has touched it is not refreshed ahead any more
// until a thread waits for it. (pushes.c finds out the same of copies that are pushed to.)
//
// Y1 A stale copy is absent. Its bytes are those of its page's version `base`, but where
//    something has changed since.
// Y2 What this node has written to it is on its way to the owner, and the request comes
//    behind: the owner of pages of which there are such copies stays (A3, Z7). So nothing
//    that was written here is set back by what comes.
// Y5 The page that is needed is answered by its owner, whoever was asked; what was asked for ahead by who was asked.
#include "protocol/refresh.h"
#include "base/ensure.h"
#include "mem/diff.h"
#include "mem/pager.h"
#include "pages/places.h"
#include "protocol/migration.h"
#include "protocol/recent.h"

#include <stdlib.h>
#include <string.h>

// So far behind a page others are looked for that are refreshed with it.
#define AHEAD_MAX 256u

// Answers that are collected for one node.
struct refresh_answer {
    node_id to;
    uint32_t id;
    uint32_t used;
    uint8_t bytes[MESSAGE_BODY_MAX];
};

int refresh_keeps(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return protocol_of(engine, page_number)->refetch != NULL &&
           !engine->is_short &&
           (engine->space->pager == NULL || (page->exists && page->io == 0));
}

// The pager may have discarded it.
static int is_here(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->stale && (engine->space->pager == NULL || page->exists);
}

void refresh_discard(struct engine *engine, page_no page)
{
    if (page_of(engine, page)->stale) {
        page_of(engine, page)->stale = 0;
        engine_discard_later(engine, page);
    }
}

// ---- asking

static int is_wanted_ahead(const struct engine *engine, page_no page_number,
                           uint16_t hint)
{
    struct page *page = page_of(engine, page_number);

    return is_here(engine, page_number) && !page->fetching &&
           page->hint == hint && page_use_of(page)->unread == 0;
}

static void add_wanted(struct engine *engine, struct extent *extent,
                       struct wire_writer *writer, page_no page)
{
    fetch_begin(engine, extent, page);
    wire_put_stale_copy(
        writer, &(struct wire_stale_copy){page, page_of(engine, page)->base});
}

void refresh_ask(struct engine *engine, page_no page_number, int is_write)
{
    struct extent *extent = extent_find(engine, page_number);
    const page_no end = extent->page + extent->n_pages;
    struct page *page = page_of(engine, page_number);
    uint8_t body[FETCH_GROUP_MAX * WIRE_SIZE_stale_copy];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_refresh, .body = body};

    if (!is_here(engine, page_number)) {
        page->stale = 0;
        fetch_start(engine, extent, page_number, is_write, NULL);
        return;
    }
    page_use_of(page)->unread = 0;
    engine->last_fetch++;
    add_wanted(engine, extent, &writer, page_number);
    for (page_no at = page_number + 1;
         at < end && at < page_number + AHEAD_MAX && writer.at < writer.end;
         at++) {
        if (is_wanted_ahead(engine, at, page->hint)) {
            add_wanted(engine, extent, &writer, at);
        }
    }
    steps_asked(engine, body, (size_t)(writer.at - body), is_write);
    message.body_size = (uint32_t)(writer.at - body);
    message.u.refresh.write = is_write != 0;
    message.u.refresh.id = engine->last_fetch;
    port_send(engine->port, fetch_route(engine, page_number), &message);
}

// ---- answering

static void send_answer(struct engine *engine, struct refresh_answer *answer)
{
    const struct message message = {
        .type = MESSAGE_refreshed,
        .u.refreshed.id = answer->id,
        .body = answer->bytes,
        .body_size = answer->used,
    };

    if (answer->used > 0) {
        port_send(engine->port, answer->to, &message);
    }
    answer->used = 0;
}

// Behind what it says already.
static void put_copy(struct engine *engine, struct refresh_answer *answer,
                     const struct wire_refreshed_copy *copy)
{
    struct wire_writer writer;

    if (sizeof answer->bytes - answer->used <
        (size_t)WIRE_SIZE_refreshed_copy + copy->diff.size + copy->lines.size) {
        send_answer(engine, answer);
    }
    writer = (struct wire_writer){answer->bytes + answer->used,
                                  answer->bytes + sizeof answer->bytes, 0};
    wire_put_refreshed_copy(&writer, copy);
    answer->used = (uint32_t)(writer.at - answer->bytes);
}

// What has changed of a page.
static void add_to_answer(struct engine *engine, page_no page_number,
                          const struct fetch_request *request, unsigned flags,
                          struct wire_bytes lines)
{
    const struct page *page = page_of(engine, page_number);
    uint8_t diff[DIFF_MAX];
    struct wire_refreshed_copy copy = {
        .page = page_number,
        .version = page->version,
        .epoch = page->epoch + (flags & PAGE_WITH_OWNERSHIP ? 1 : 0),
        .flags = (uint8_t)flags,
        .diff = {diff, 0},
        .lines = lines,
    };
    int is_all;

    copy.diff.size = (uint16_t)recent_diff(
        engine, page_number, request->base,
        page->state == PAGE_DIRTY ? page->twin
                                  : space_bytes(engine->space, page_number),
        diff, &is_all);
    put_copy(engine, request->answer, &copy);
    engine->stats.pages_served += (uint64_t)is_all;
}

void refresh_send_copy(struct engine *engine, page_no page_number,
                       const struct fetch_request *request, int is_subscribed)
{
    recent_given(engine, page_number);
    if (request->answer == NULL) {
        fetch_send_copy(engine, page_number, request->requester, is_subscribed);
        return;
    }
    if (is_subscribed) {
        copyset_add(engine, page_of(engine, page_number), request->requester);
    }
    add_to_answer(engine, page_number, request,
                  is_subscribed ? PAGE_SUBSCRIBED : 0, (struct wire_bytes){0});
    steps_sent(engine, page_number, STEP_SENT_COPY, request->requester);
}

// What stays is a copy of the version that goes, if there is room.
static void leave_copy(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page->base = page->version;
    page->subscribed = 0;
    memset(page->own, 0, sizeof page->own);
    page_use_of(page)->is_left = 1;
    if (!refresh_keeps(engine, page_number)) {
        if (page->access != ACCESS_NONE) {
            space_set_access(engine->space, page_number, 1, ACCESS_NONE);
        }
        page->state = PAGE_ABSENT;
        engine_discard_later(engine, page_number);
    }
}

static void end_ownership(struct engine *engine, page_no page, node_id to)
{
    page_of(engine, page)->epoch++;
    steps_sent(engine, page, STEP_SENT_AWAY, to);
    fetch_end_ownership(engine, page, to);
}

void refresh_send_away(struct engine *engine, page_no page_number,
                       const struct fetch_request *request)
{
    uint8_t lines[RECENT_LINES_MAX];

    if (request->answer == NULL) {
        fetch_send_ownership(engine, page_number, request->requester, 1,
                             MOVES_MIGRATES);
    } else {
        const struct wire_bytes known = {
            lines, (uint16_t)recent_lines(engine, page_number, lines)};

        add_to_answer(engine, page_number, request, PAGE_WITH_OWNERSHIP, known);
        end_ownership(engine, page_number, request->requester);
    }
    leave_copy(engine, page_number);
}

void refresh_leave(struct engine *engine, page_no page, node_id to)
{
    end_ownership(engine, page, to);
    leave_copy(engine, page);
}

static struct refresh_answer *answer_to(struct engine *engine, node_id to,
                                        uint32_t id)
{
    struct updates *updates = engine->updates;

    if (updates->answer == NULL) {
        updates->answer = malloc(sizeof *updates->answer);
        ensure_memory(updates->answer != NULL);
    }
    updates->answer->to = to;
    updates->answer->id = id;
    updates->answer->used = 0;
    return updates->answer;
}

// Y5. What is needed comes whole, from whoever owns it by then.
static void serve_later(struct engine *engine, page_no page,
                        const struct fetch_request *request)
{
    if (request->is_ahead) {
        put_copy(engine, request->answer,
                 &(struct wire_refreshed_copy){.page = page,
                                               .flags = PAGE_WILL_NOT_COME});
    } else {
        fetch_serve_whole(engine, page, request);
    }
}

static void serve_one(struct engine *engine, const struct wire_stale_copy *copy,
                      struct fetch_request *request)
{
    const struct step_cause before = steps_begin(
        engine, (struct step_cause){
                    .event = STEP_FETCH,
                    .page = copy->page,
                    .who = request->requester,
                    .facts = (uint16_t)((request->is_write ? STEP_WRITE : 0) |
                                        (request->is_ahead ? STEP_AHEAD : 0))});

    request->base = copy->version;
    if (!page_of(engine, copy->page)->is_owner ||
        paging_is_away(engine, copy->page) ||
        protocol_of(engine, copy->page)->serve(engine, copy->page, request) !=
            SERVED) {
        serve_later(engine, copy->page, request);
    }
    steps_end(engine, before, TM_OK);
}

static int names_good_copies(const struct engine *engine,
                             const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    unsigned n = 0;

    while (wire_has_more(&reader)) {
        const page_no page = wire_get_stale_copy(&reader).page;

        if (++n > FETCH_GROUP_MAX || !extent_has(engine, page, 1) ||
            protocol_of(engine, page)->refetch == NULL) {
            return 0;
        }
    }
    return !reader.failed;
}

static tm_status receive_ask(struct engine *engine, node_id from,
                             const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct fetch_request request = {
        .requester = from,
        .is_write = message->u.refresh.write,
        .id = message->u.refresh.id,
    };

    if (from == engine->port->self || !names_good_copies(engine, message)) {
        return TM_EWIRE;
    }
    request.answer = answer_to(engine, from, request.id);
    while (wire_has_more(&reader)) {
        const struct wire_stale_copy copy = wire_get_stale_copy(&reader);

        serve_one(engine, &copy, &request);
        request.is_ahead = 1;
    }
    send_answer(engine, request.answer);
    return TM_OK;
}

// ---- the answer comes

// It has come ahead. Is it to stay unmapped, to see whether it is used?
static int is_probed(struct page *page)
{
    struct page_use *use = page_use_of(page);

    if (page->subscribed || page->waiters != NULL) {
        return 0;
    }
    if (use->probe_in > 0) {
        use->probe_in--;
        return 0;
    }
    use->unread = 1;
    return 1;
}

void refresh_own(struct engine *engine, node_id from,
                 const struct wire_refreshed_copy *copy)
{
    struct page *page = page_of(engine, copy->page);
    const int want_write = page->want_write;

    page->version = copy->version;
    page->untold = 0;
    page->stale = 0;
    page->moves = MOVES_MIGRATES;
    page->state = PAGE_CLEAN;
    memset(page->own, 0, sizeof page->own);
    fetch_take_ownership(engine, copy->page, from, copy->epoch);
    recent_take(engine, copy->page, &copy->lines);
    protocol_of(engine, copy->page)->arrived(engine, copy->page, want_write);
}

static void install(struct engine *engine, node_id from,
                    const struct wire_refreshed_copy *copy)
{
    struct page *page = page_of(engine, copy->page);
    const struct protocol *protocol = protocol_of(engine, copy->page);

    page->base = copy->version;
    page->subscribed = (copy->flags & PAGE_SUBSCRIBED) != 0;
    page_use_of(page)->is_left = 0;
    if (copy->flags & PAGE_WITH_OWNERSHIP) {
        refresh_own(engine, from, copy);
        engine_settle(engine, copy->page);
        return;
    }
    if (!protocol->is_fresh(engine, copy->page, copy->version)) {
        fetch_ask_again(engine, copy->page); // it is stale as before
        return;
    }
    if (page->subscribed) {
        memset(page->own, 0, sizeof page->own);
    }
    fetch_install_copy(engine, copy->page, from, copy->epoch, !is_probed(page));
}

// @return 0 the message contradicts what is known
static int take(struct engine *engine, node_id from,
                const struct wire_refreshed_copy *copy)
{
    const struct page *page;

    if (!extent_has(engine, copy->page, 1)) {
        return 0;
    }
    page = page_of(engine, copy->page);
    if (!page->fetching || !is_here(engine, copy->page) || page->is_owner ||
        protocol_of(engine, copy->page)->refetch == NULL) {
        return 0;
    }
    if (copy->diff.size > 0 &&
        diff_apply(copy->diff.at, copy->diff.size,
                   space_bytes_to_change(engine->space, copy->page),
                   NULL) != TM_OK) {
        return 0;
    }
    if (diff_count(copy->diff.at, copy->diff.size) == TM_PAGE_SIZE) {
        engine->stats.pages_fetched++;
        place_note(engine, copy->page, PLACE_FETCH);
    }
    install(engine, from, copy);
    return 1;
}

static int take_step(struct engine *engine, node_id from,
                     const struct wire_refreshed_copy *copy)
{
    const struct step_cause before = steps_begin_refreshed(engine, from, copy);
    const int is_good = take(engine, from, copy);

    steps_end(engine, before, is_good ? TM_OK : TM_EWIRE);
    return is_good;
}

// It stays as it is, and is not asked for ahead again until it has been needed.
static int will_not_come(struct engine *engine, page_no page_number,
                         uint32_t id)
{
    struct page *page;

    if (!extent_has(engine, page_number, 1)) {
        return 0;
    }
    page = page_of(engine, page_number);
    if (page->fetching && page->fetch == id) { // I1
        page_use_of(page)->unread = 1;
        fetch_ask_again(engine, page_number);
    }
    return 1;
}

static tm_status receive_answer(struct engine *engine, node_id from,
                                const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_refreshed_copy copy =
            wire_get_refreshed_copy(&reader);

        if (!(copy.flags & PAGE_WILL_NOT_COME
                  ? will_not_come(engine, copy.page, message->u.refreshed.id)
                  : take_step(engine, from, &copy))) {
            engine_refuse_part(engine, copy.page,
                               "what has changed of what is not stale");
        }
    }
    return TM_OK;
}

tm_status refresh_receive(struct engine *engine, node_id from,
                          const struct message *message)
{
    return message->type == MESSAGE_refresh
               ? receive_ask(engine, from, message)
               : receive_answer(engine, from, message);
}

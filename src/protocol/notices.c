// SPDX-License-Identifier: BSD-3-Clause
//
// Write notices. An owner counts the versions of its page, so one number orders all that
// was written to it, by whomever, and a notice needs no vector. Nor does what a node has
// heard: the latest notice of each page is in one list, in the order in which they came,
// and how far along it each other node has been told is exact, since messages between two
// nodes keep their order. Who hears of something passes it on with all that it orders: so
// notices follow what the program orders, over any number of nodes.
//
// N1 A notice speaks of a version that the page's owner has.
// N2 Who is let go on by a node has heard before of all that this one had.
// N3 Of a page the list has one entry that counts, the latest; those that it has
//    replaced stay until half of the list is such.
// N4 A notice of a block that is no more means nothing: it names the extent by its serial
//    number, and these rise.
#include "protocol/notices.h"

#include "base/map.h"
#include "base/vector.h"

#include <string.h>

#define ENTRIES_MAX 1024u ///< of a message

struct notice {
    page_no page;
    uint32_t version;
    uint32_t serial; ///< of its extent
    node_id from;
    uint8_t is_past; ///< N3
};

struct notices {
    struct notice *list;
    uint32_t n;
    uint32_t room;
    uint32_t n_past;
    struct map by_page;          ///< to indices of `list`
    uint32_t told[TM_MAX_NODES]; ///< of `list`
    struct page_list stale;      ///< pages that one message names
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

static int is_newer(uint32_t version, uint32_t than)
{
    return (int32_t)(version - than) > 0;
}

// ---- the list

static void make_past(struct notices *notices, uint32_t index)
{
    (void)map_take(&notices->by_page, notices->list[index].page);
    notices->list[index].is_past = 1;
    notices->n_past++;
}

// N3
static void compact(struct notices *notices)
{
    uint32_t *counts; // [n + 1]: those before each place that count

    if (notices->n_past <= notices->n / 2 || notices->n_past < 64) {
        return;
    }
    counts = malloc((notices->n + 1) * sizeof *counts);
    ensure_memory(counts != NULL);
    counts[0] = 0;
    for (uint32_t i = 0; i < notices->n; i++) {
        counts[i + 1] = counts[i];
        if (!notices->list[i].is_past) {
            (void)map_take(&notices->by_page, notices->list[i].page);
            map_add_index(&notices->by_page, notices->list[i].page, counts[i]);
            notices->list[counts[i + 1]++] = notices->list[i];
        }
    }
    for (unsigned k = 0; k < TM_MAX_NODES; k++) {
        notices->told[k] = counts[notices->told[k]];
    }
    notices->n = counts[notices->n];
    notices->n_past = 0;
    free(counts);
}

// @return whether it says more than was known
static int add(struct notices *notices, const struct notice *notice)
{
    const uint32_t index = map_find_index(&notices->by_page, notice->page);

    if (index != MAP_NONE) {
        const struct notice *known = &notices->list[index];

        if (notice->serial < known->serial ||
            (notice->serial == known->serial &&
             !is_newer(notice->version, known->version))) {
            return 0;
        }
        make_past(notices, index);
    }
    compact(notices);
    vector_reserve(notices->list, notices->room, notices->n + 1);
    map_add_index(&notices->by_page, notice->page, notices->n);
    notices->list[notices->n++] = *notice;
    return 1;
}

void notices_note(struct engine *engine, page_no page, uint32_t version,
                  node_id from)
{
    const struct extent *extent = extent_find(engine, page);

    if (extent != NULL) {
        (void)add(notices_of(engine), &(struct notice){.page = page,
                                                       .version = version,
                                                       .serial = extent->serial,
                                                       .from = from});
    }
}

int notices_are_newer(const struct engine *engine, page_no page,
                      uint32_t version)
{
    const struct notices *notices = engine->updates->notices;
    const struct extent *extent = extent_find(engine, page);
    const uint32_t index =
        notices == NULL ? MAP_NONE : map_find_index(&notices->by_page, page);

    return index != MAP_NONE && extent != NULL &&
           notices->list[index].serial == extent->serial && // N4
           is_newer(notices->list[index].version, version);
}

// ---- telling

static void send_some(struct engine *engine, node_id to, const uint8_t *body,
                      const struct wire_writer *writer)
{
    struct message message = {
        .type = MESSAGE_notices,
        .body = body,
        .body_size = (uint32_t)(writer->at - body),
    };

    message.u.notices.count =
        (uint16_t)(message.body_size / WIRE_SIZE_notice_entry);
    if (message.body_size > 0) {
        port_send(engine->port, to, &message);
    }
}

void notices_send(struct engine *engine, node_id to)
{
    struct notices *notices = engine->updates->notices;
    uint8_t body[ENTRIES_MAX * WIRE_SIZE_notice_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};

    if (notices == NULL || notices->told[to] == notices->n) {
        return;
    }
    for (uint32_t i = notices->told[to]; i < notices->n; i++) {
        const struct notice *it = &notices->list[i];

        if (it->is_past || it->from == to) {
            continue;
        }
        wire_put_notice_entry(&writer, &(struct wire_notice_entry){
                                           it->page, it->version, it->serial});
        if (writer.at == writer.end) {
            send_some(engine, to, body, &writer);
            writer.at = body;
        }
    }
    send_some(engine, to, body, &writer);
    notices->told[to] = notices->n;
}

// ---- hearing

// NULL: the page's protocol wants to hear of none.
static const struct update_rules *listener(const struct engine *engine,
                                           page_no page)
{
    const struct update_rules *rules = update_rules_of(engine, page);

    return rules != NULL && rules->noticed != NULL ? rules : NULL;
}

// An old copy is here.
static int is_stale(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->state != PAGE_ABSENT && !page->is_owner && !page->subscribed &&
           listener(engine, page_number) != NULL &&
           notices_are_newer(engine, page_number, page->base);
}

static void hear(struct engine *engine, const struct notice *notice)
{
    struct notices *notices = notices_of(engine);

    if (add(notices, notice) && is_stale(engine, notice->page)) {
        page_list_add(&notices->stale, notice->page);
    }
}

// All at once, to one that listens: what is done to one page is done to any.
static void tell_stale(struct engine *engine)
{
    struct page_list *stale = &notices_of(engine)->stale;

    if (stale->n > 0) {
        listener(engine, stale->at[0])->noticed(engine, stale);
        stale->n = 0;
    }
}

void notices_hear(struct engine *engine, const struct engine *before)
{
    const struct notices *theirs = before->updates->notices;

    for (uint32_t i = 0; theirs != NULL && i < theirs->n; i++) {
        if (!theirs->list[i].is_past) {
            hear(engine, &theirs->list[i]);
        }
    }
    if (theirs != NULL) {
        tell_stale(engine);
    }
}

tm_status notices_receive(struct engine *engine, node_id from,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_notice_entry entry = wire_get_notice_entry(&reader);

        if (entry.page < engine->space->n_pages) {
            hear(engine, &(struct notice){.page = entry.page,
                                          .version = entry.version,
                                          .serial = entry.serial,
                                          .from = from});
        }
    }
    tell_stale(engine);
    return TM_OK;
}

// ---- forgetting

void notices_forget(struct engine *engine, const struct extent *extent)
{
    struct notices *notices = engine->updates->notices;

    for (uint32_t i = 0; notices != NULL && i < notices->n; i++) {
        const page_no page = notices->list[i].page;

        if (!notices->list[i].is_past && page >= extent->page &&
            page < extent->page + extent->n_pages &&
            notices->list[i].serial <= extent->serial) {
            make_past(notices, i);
        }
    }
}

void notices_forget_all(struct engine *engine)
{
    notices_free(engine->updates);
}

void notices_free(struct updates *updates)
{
    struct notices *notices = updates->notices;

    if (notices == NULL) {
        return;
    }
    free(notices->list);
    free(notices->stale.at);
    map_release(&notices->by_page);
    free(notices);
    updates->notices = NULL;
}

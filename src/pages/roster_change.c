// SPDX-License-Identifier: BSD-3-Clause
//
// The pages' part of a change of who takes part (docs/protocols.md, section 5). All
// of it happens while nothing else does, on no node: no fetch, flight or message
// about a page is on its way, and threads wait (reconfig/membership.c).
//
//   engine_freeze          from now on nothing begins by itself
//   engine_roster_changed  nodes forget the one that has left: it is in no copyset and
//                          no hint, as if it had never had a copy
//   engine_spread          each owner tells a page's new directory node; the node
//                          that has left gives its pages away, GIVEN_MAX at a
//                          time: PAGE_GIVEN, answered by PAGE_TAKEN when there
//                          is room for the next; its slabs are the root's then
//
// K1 A page that is given away is as it was released: its owner has no thread, so no
//    write is unreleased. Copies elsewhere have the same bytes, and stay.
// K2 The new owner's epoch is one higher, so hints to it replace all others.
// K3 A hint that named the node that has left is none (0) until an owner update comes: the page
//    is then asked for at its directory node, which hears of every owner before
//    threads go on. The epoch stays: who has lost a hint does not take the page as
//    untouched (fetch_has_lost_owner).
#include "base/ensure.h"
#include "base/log.h"
#include "pages/places.h"
#include "pages/small_blocks.h"

#include <stdlib.h>
#include <string.h>

/** Of page_given. */
#define GIVEN_BODY_MAX (WIRE_SIZE_nodes + NODE_SET_BYTES_MAX + TM_PAGE_SIZE)

// ---- standing still

void engine_freeze(struct engine *engine, int is_frozen)
{
    const struct roster *roster = &engine->port->roster;

    if (is_frozen && roster->leaving == engine->port->self) {
        bases_release_early(
            engine); // hot pages may hold what nobody has asked for
    }
    if (is_frozen) {
        bases_frozen(engine);
    }
    engine->is_frozen = is_frozen;
}

static int has_owner_updates(const struct engine *engine)
{
    const struct roster *roster = &engine->port->roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (engine->owner_updates[roster->live[i]].n > 0) {
            return 1;
        }
    }
    return 0;
}

int engine_is_still(struct engine *engine)
{
    owner_updates_send(engine);
    return engine_is_quiet(engine) && !has_owner_updates(engine) &&
           engine->pinned.n == 0 && engine->allocations == NULL &&
           !engine->giving.is_active && small_blocks_are_still(engine);
}

// ---- forgetting a node

static void forget_node(struct engine *engine, struct page *page, node_id gone)
{
    copyset_remove(engine, page, gone);
    if (!page->is_owner && page->hint == gone + 1) {
        page->hint = 0; // K3; the epoch stays
    }
}

void engine_roster_changed(struct engine *engine, const struct roster *before)
{
    const struct roster *now = &engine->port->roster;

    engine->before = *before;
    small_blocks_roster_changed(engine);
    bases_roster_changed(engine);
    for (unsigned i = 0; i < before->n_live; i++) {
        node_id gone = before->live[i];

        if (roster_has(now, gone) || gone == engine->port->self) {
            continue;
        }
        for (size_t k = 0; k < engine->n_extents; k++) {
            const struct extent *extent = &engine->extents[k];

            for (page_no at = extent->page; at < extent->page + extent->n_pages;
                 at++) {
                forget_node(engine, page_of(engine, at), gone);
            }
            steps_made_run(engine, extent->page, extent->n_pages, STEP_FORGETS);
        }
    }
}

// ---- the directory is dealt anew

static void tell_directory(struct engine *engine, page_no page)
{
    node_id was = roster_pick(&engine->before, page / SPACE_BLOCK);

    if (page_of(engine, page)->is_owner && directory_of(engine, page) != was) {
        owner_updates_announce(engine, page, NODE_NONE);
    }
}

static void tell_directories(struct engine *engine)
{
    for (size_t k = 0; k < engine->n_extents; k++) {
        const struct extent *extent = &engine->extents[k];

        for (page_no at = extent->page; at < extent->page + extent->n_pages;
             at++) {
            tell_directory(engine, at);
        }
    }
    owner_updates_send(engine);
}

// ---- pages are given away

// Who has a copy already, as far as is known; else who will be asked for it.
static node_id heir_of(const struct engine *engine, page_no page)
{
    const int node = copyset_next(page_of(engine, page), 0);

    return node >= 0 ? (node_id)node : directory_of(engine, page);
}

// @param[out] body  [GIVEN_BODY_MAX] @return its bytes
static uint32_t put_given(const struct engine *engine, page_no page,
                          uint8_t *body)
{
    const struct node_set copies = copyset_of(page_of(engine, page));
    struct wire_writer writer = {body, body + GIVEN_BODY_MAX, 0};
    uint8_t set[NODE_SET_BYTES_MAX];
    struct message contents;

    page_put_bytes(engine, page, space_bytes(engine->space, page), &contents);
    wire_put_nodes(
        &writer,
        &(struct wire_nodes){{set, (uint16_t)node_set_encode(&copies, set)}});
    wire_put_bytes(&writer, contents.body, contents.body_size);
    return (uint32_t)(writer.at - body);
}

static void give(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    node_id heir = heir_of(engine, page_number);
    struct message message = {.type = MESSAGE_page_given};
    uint8_t body[GIVEN_BODY_MAX];

    if (page->access != ACCESS_NONE) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
    }
    if (page->twin != NULL) { // the same bytes: K1
        twin_pool_put(&engine->space->twins, page->twin);
        page->twin = NULL;
    }
    page->epoch++; // K2
    message.u.page_given = (struct message_page_given){
        .page = page_number,
        .version = page->version,
        .epoch = page->epoch,
    };
    message.body = body;
    message.body_size = put_given(engine, page_number, body);
    port_send(engine->port, heir, &message);
    engine->stats.pages_served++;
    page->state = PAGE_ABSENT;
    page->is_owner = 0;
    page->hint = (uint16_t)(heir + 1);
    copyset_clear(engine, page);
    engine_discard_later(engine, page_number);
    steps_sent(engine, page_number, STEP_SENT_GIVEN, heir);
    steps_made(engine, page_number,
               (struct step_cause){.event = STEP_GIVES, .who = heir});
}

// @return 0 there is no page to give from `giving.at` on
static int find_owned(struct engine *engine)
{
    struct giving *giving = &engine->giving;

    while (giving->extent < engine->n_extents) {
        const struct extent *extent = &engine->extents[giving->extent];

        if (giving->at < extent->page) {
            giving->at = extent->page;
        }
        for (; giving->at < extent->page + extent->n_pages; giving->at++) {
            if (page_of(engine, giving->at)->is_owner) {
                return 1;
            }
        }
        giving->extent++;
    }
    return 0;
}

static void go_on_giving(struct engine *engine)
{
    struct giving *giving = &engine->giving;

    while (giving->n_out < GIVEN_MAX && find_owned(engine)) {
        give(engine, giving->at);
        giving->n_out++;
    }
    engine_discard_now(engine);
    giving->is_active = giving->n_out > 0;
}

void engine_spread(struct engine *engine)
{
    if (roster_has(&engine->port->roster, engine->port->self)) {
        tell_directories(engine);
    } else {
        small_blocks_give(engine);
        engine->giving = (struct giving){.is_active = 1};
        go_on_giving(engine);
    }
}

void roster_change_go_on(struct engine *engine)
{
    while (engine->given != NULL && paging_takes(engine, 0)) {
        struct deferred *given = engine->given;
        const struct message taken = {
            .type = MESSAGE_page_taken,
            .u.page_taken = {.page = given->message.u.page_given.page}};

        engine->given = given->next;
        port_send(engine->port, given->from, &taken);
        free(given);
    }
}

static tm_status receive_given(struct engine *engine, node_id from,
                               const struct message *message)
{
    const struct message_page_given *given = &message->u.page_given;
    struct page *page = page_of(engine, given->page);
    struct wire_reader reader = wire_read_body(message);
    const struct wire_bytes set = wire_get_nodes(&reader).set;
    const struct node_set copies = node_set_decode(set.at, set.size);
    const void *bytes =
        wire_get_bytes(&reader, space_part(engine->space, given->page).size);

    if (bytes == NULL || wire_has_more(&reader) || !engine->is_frozen ||
        page->is_owner || page->fetching) {
        return TM_EWIRE;
    }
    if (page->state == PAGE_ABSENT) {
        space_fill(engine->space, given->page, 1, bytes);
        page->state = PAGE_CLEAN;
        memset(page->own, 0, sizeof page->own);
        engine->stats.pages_fetched++;
        place_note(engine, given->page, PLACE_FETCH);
    }
    copyset_add_others(engine, page, &copies);
    if (page->state == PAGE_CLEAN && copyset_is_empty(page)) {
        page->state = (uint8_t)protocol_of(engine, given->page)
                          ->state_alone(engine, given->page);
    }
    page->is_owner = 1;
    page->hint = (uint16_t)(engine->port->self + 1);
    page->epoch = given->epoch;
    page->version = given->version;
    page->base = given->version;
    page->moves = 0; // it follows the first who asks
    page->untold = 0;
    engine->stats.pages_moved_in++;
    owner_updates_announce(engine, given->page, from);
    deferred_keep(&engine->given, from, message);
    roster_change_go_on(engine);
    return TM_OK;
}

// ---- a node comes

void engine_describe_blocks(struct engine *engine, node_id to)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        const struct extent *extent = &engine->extents[i];

        if (extent->serial != 0) { // those of TM_SHARED it has
            blocks_describe(engine->port, extent, to);
        }
    }
}

tm_status roster_change_receive(struct engine *engine, node_id from,
                                const struct message *message)
{
    if (message->type == MESSAGE_page_given) {
        return receive_given(engine, from, message);
    }
    if (engine->giving.n_out == 0) {
        return TM_EWIRE;
    }
    engine->giving.n_out--;
    go_on_giving(engine);
    return TM_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: entry of faults and messages. The rest of what all protocols share is in
//   fetch.c          how a page is fetched, granted and sent
//   page.c           what a node knows of one page: its owner, its copies, its view, who waits
//   answers.c        threads that wait for an answer of another node go on
//   owner_updates.c  directory nodes hear of new owners
//   pinning.c        pages that stay for a thread, and messages that wait meanwhile
//   extents.c        which pages are whose block
//   blocks.c         blocks are allocated and freed; blocks_root.c: the root's part
//   small_blocks.c   blocks below a page; free_done.c: what comes of tm_free()
//   globals.c        the TM_SHARED variables
//   advice.c         what is known of pages whose threads move
//   pager_host.c     what the pager asks, and may do
//   residence.c      copies that are given up, requests that wait for the disk
//   roster_change.c  nodes come and go
//   causality.c      what comes after what
//   protocols.c      the table of protocols
//   stall.c          threads that wait for a page for ever, in debug builds
//   page_steps.c     for who watches what pages do, in debug builds
// and each protocol is in src/protocol/, behind the table of protocol.h. Nothing here asks
// which one it is. docs/protocols.md says what all of them do together.
//
// Everything here runs under the node lock. Calls of threads (engine_fault and
// the like) only send and queue; whatever needs another node comes back as a
// message, also when that node is this one.
#include "pages/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "mem/snapshot.h"
#include "pages/causality.h"
#include "pages/places.h"
#include "pages/read_ahead.h"
#include "pages/small_blocks.h"

enum fault_result engine_fault(struct engine *engine, page_no page_number,
                               int is_write, struct fault_history *history,
                               struct waiter *waiter)
{
    struct extent *extent = extent_find(engine, page_number);
    struct page *page = page_of(engine, page_number);
    const struct protocol *protocol;

    ensure(!engine->is_frozen);
    if (extent == NULL || extent->is_closed) {
        return FAULT_OUTSIDE;
    }
    protocol = extent->row;
    if (is_write && protocol->forbids_write != NULL &&
        protocol->forbids_write(engine, page_number)) {
        return FAULT_READ_ONLY;
    }
    if (is_write && page->in_snapshot) {
        snapshot_keep_run(engine->space, page_number);
    }
    if (page->access >= (is_write ? ACCESS_WRITE : ACCESS_READ)) {
        space_restore(engine->space, page_number, 1);
        return FAULT_ALLOWED; // another thread was first, or the kernel
    }
    if (is_write) {
        engine->faulter = waiter->thread;
        engine->stats.write_faults++;
    } else {
        engine->stats.read_faults++;
    }
    place_note(engine, page_number,
               is_write ? PLACE_WRITE_FAULT : PLACE_READ_FAULT);
    if (protocol->admit != NULL) {
        return protocol->admit(engine, page_number, is_write, waiter->thread);
    }
    if (page->state != PAGE_ABSENT &&
        protocol->local_fault(engine, page_number, is_write)) {
        steps_made(engine, page_number,
                   (struct step_cause){.event = STEP_FAULT,
                                       .facts = is_write ? STEP_WRITE : 0});
        return FAULT_ALLOWED;
    }
    if (!page->fetching) {
        fetch_start(engine, extent, page_number, is_write, history);
    }
    page->want_write |= (uint8_t)(is_write != 0);
    waiter->is_late = history != NULL && history->missed == page_number + 1;
    stall_begin(engine, page_number, waiter, history);
    waiter->next = page->waiters;
    page->waiters = waiter;
    if (history != NULL) {
        pinning_await(engine, page_number, history);
    }
    engine->stats.remote_faults++;
    return FAULT_WAIT;
}

static tm_status hand_on(struct engine *engine, node_id from,
                         const struct message *message)
{
    const struct protocol_base *base = engine->base_of[message->type];

    if (base != NULL) {
        return base->receive(engine, from, message);
    }
    switch (message->type) {
    case MESSAGE_fetch:
    case MESSAGE_page:
    case MESSAGE_pages:
    case MESSAGE_fetch_done:
    case MESSAGE_grant:
        return fetch_receive(engine, from, message);
    case MESSAGE_owner_is:
        return owner_updates_receive(engine, from, message);
    case MESSAGE_page_given:
    case MESSAGE_page_taken:
        return roster_change_receive(engine, from, message);
    case MESSAGE_clock:
        return causality_receive(engine, message);
    default:
        return blocks_receive(engine, from, message);
    }
}

static tm_status dispatch(struct engine *engine, node_id from,
                          const struct message *message)
{
    const struct step_cause before = steps_begin_message(engine, from, message);
    const tm_status status = hand_on(engine, from, message);

    steps_end(engine, before, status);
    return status;
}

static int have_owners(const struct engine *engine, page_no page, page_no n)
{
    return extent_has(engine, page, n) && !engine_needs_lock(engine, page);
}

// So many bytes are all that are its own.
static int has_contents(const struct engine *engine, page_no page,
                        uint32_t body_size)
{
    return body_size == space_part(engine->space, page).size;
}

static int are_good_pages(const struct engine *engine,
                          const struct message *message)
{
    struct message pages[PAGES_MAX];
    const unsigned n = page_batch_read(message, pages);

    for (unsigned i = 0; i < n; i++) {
        if (!have_owners(engine, pages[i].u.page.page, 1) ||
            !has_contents(engine, pages[i].u.page.page, pages[i].body_size)) {
            return 0;
        }
    }
    return n > 0;
}

// They lie in one block.
static int names_good_run(const struct engine *engine,
                          const struct message_fetch *fetch)
{
    const page_no last =
        stride_page(fetch->page, (int32_t)fetch->stride, fetch->count - 1u);
    const page_no low = last < fetch->page ? last : fetch->page;
    const page_no high = last < fetch->page ? fetch->page : last;

    return (fetch->stride != 0 || fetch->count == 1) &&
           have_owners(engine, low, high - low + 1);
}

static page_no last_of_done(const struct message_fetch_done *done)
{
    return stride_page(done->page, (int32_t)done->stride,
                       done->count > 0 ? done->count - 1u : 0);
}

// The pages that a message names, so that none outside the space is looked up.
static int names_good_pages(const struct engine *engine,
                            const struct message *message)
{
    page_no n_pages = engine->space->n_pages;

    switch (message->type) {
    case MESSAGE_fetch:
        return message->u.fetch.count >= 1 &&
               message->u.fetch.count <= FETCH_GROUP_MAX &&
               message->u.fetch.hops < hops_max(engine) &&
               roster_has(&engine->port->roster, message->u.fetch.requester) &&
               names_good_run(engine, &message->u.fetch) &&
               (message->u.fetch.count == 1 ||
                space_grain(engine->space, message->u.fetch.page) == NULL) &&
               !fetch_has_lost_owner(engine, message->u.fetch.page);
    case MESSAGE_page:
        return have_owners(engine, message->u.page.page, 1) &&
               (!(message->u.page.flags & PAGE_WITH_CONTENTS) ||
                has_contents(engine, message->u.page.page, message->body_size));
    case MESSAGE_pages:
        return are_good_pages(engine, message);
    case MESSAGE_fetch_done:
        return message->u.fetch_done.page < n_pages &&
               last_of_done(&message->u.fetch_done) < n_pages;
    case MESSAGE_grant:
        return message->u.grant.count >= 1 &&
               have_owners(engine, message->u.grant.page,
                           message->u.grant.count);
    case MESSAGE_atomic:
        return !engine_needs_lock(engine, message->u.atomic.page);
    case MESSAGE_page_given:
        return have_owners(engine, message->u.page_given.page, 1);
    default:
        return 1; // bodies are checked where they are read
    }
}

// The page that a message is about, or first about; n_pages: none.
static page_no named_page(const struct engine *engine,
                          const struct message *message)
{
    switch (message->type) {
    case MESSAGE_fetch:
        return message->u.fetch.page;
    case MESSAGE_page:
        return message->u.page.page;
    case MESSAGE_grant:
        return message->u.grant.page;
    case MESSAGE_page_given:
        return message->u.page_given.page;
    default:
        return engine->space->n_pages;
    }
}

tm_status engine_receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    tm_status status;

    if (!names_good_pages(engine, message)) {
        return TM_EWIRE;
    }
    stall_receive(engine, from, message);
    status = dispatch(engine, from, message);
    engine_discard_now(engine);
    engine_check_page(engine, named_page(engine, message));
    return status;
}

int engine_tick(struct engine *engine)
{
    owner_updates_send(engine);
    small_blocks_tick(engine);
    engine_let_go(engine);
    return engine->pinned.n > 0;
}

void engine_stats(const struct engine *engine, struct tm_node_stats *stats)
{
    *stats = engine->stats;
}

page_no engine_n_pages(const struct engine *engine)
{
    page_no n = 0;

    for (size_t i = 0; i < engine->n_extents; i++) {
        n += engine->extents[i].n_pages;
    }
    return n;
}

struct engine *engine_new(const struct port *port, struct space *space,
                          const struct protocols *protocols,
                          tm_protocol default_protocol)
{
    struct engine *engine = calloc(1, sizeof *engine);

    if (engine == NULL) {
        return NULL;
    }
    engine->port = port;
    engine->space = space;
    engine->protocols = protocols;
    engine->default_protocol = default_protocol;
    engine->default_row = protocol_by_id(protocols, default_protocol);
    engine->last = &engine->last_found;
    engine->deliver = dispatch;
    tokens_init(&engine->tokens);
    copysets_init(engine);
    pinning_open(engine);
    if (bases_open(engine) != TM_OK || blocks_open(engine) != TM_OK) {
        engine_free(engine);
        return NULL;
    }
    return engine;
}

static void free_page_records(struct engine *engine)
{
    for (size_t i = 0; i < engine->n_extents; i++) {
        const struct extent *extent = &engine->extents[i];

        for (page_no at = extent->page; at < extent->page + extent->n_pages;
             at++) {
            deferred_drop(&page_of(engine, at)->deferred);
        }
    }
}

void engine_free(struct engine *engine)
{
    if (engine == NULL) {
        return;
    }
    free_page_records(engine);
    bases_close(engine);
    causality_close(engine);
    blocks_close(engine);
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        free(engine->owner_updates[i].at);
    }
    copysets_release(engine);
    pinning_close(engine);
    page_batch_close(engine);
    deferred_drop(&engine->parked);
    deferred_drop(&engine->given);
    stall_close(&engine->stall);
    steps_close_watch(engine);
    tokens_release(&engine->tokens);
    free(engine->places);
    free(engine);
}

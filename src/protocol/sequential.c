// SPDX-License-Identifier: BSD-3-Clause
//
// sequential (protocols.md, section 4): one writer or many readers of a page.
//
//   absent     -> clean       arrived
//              -> exclusive   arrived, with ownership
//   clean      -> exclusive   local_fault (owner, no copies), transfer to itself
//              -> absent      receive_invalidate, transfer
//   exclusive  -> clean       serve, read
//              -> absent      serve: transfer
//
// While the owner waits for invalidations the page is busy: `pushing` counts the
// acknowledgements to come, and the request that caused it is the first of the
// page's deferred messages; others queue behind it.
//
// A page that came for a thread is pinned, and messages that would take it away are
// deferred; a node that will own a page defers requests of others: pinning.c.
//
// Q1 busy implies is_owner and pushing > 0.
// Q2 pushing > 0 implies busy.
#include "base/ensure.h"
#include "pages/pages.h"
#include "protocol/protocol_rows.h"

#include <stdlib.h>

#define AHEAD_MOVES 3u

static int local_fault(struct engine *engine, page_no page_number, int is_write)
{
    struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_ABSENT) {
        return 0;
    }
    if (page->state == PAGE_CLEAN && is_write) {
        if (!page->is_owner || !copyset_is_empty(page) || page->busy) {
            return 0;
        }
        page->state = PAGE_EXCLUSIVE;
    }
    space_set_access(engine->space, page_number, 1,
                     page->state == PAGE_EXCLUSIVE ? ACCESS_WRITE
                                                   : ACCESS_READ);
    return 1;
}

static void arrived(struct engine *engine, page_no page_number, int want_write)
{
    (void)want_write;
    engine_map(engine, page_number);
    pin_page(engine, page_number);
}

// Nobody but the requester and this node has a copy.
// @param has_copy  the requester says so: a copy may have been given up, without a
//                  word, before it asked; or have been invalidated since
static void transfer(struct engine *engine, page_no page_number,
                     node_id requester, int has_copy)
{
    struct page *page = page_of(engine, page_number);

    has_copy = has_copy && copyset_has(page, requester);

    if (requester == engine->port->self) {
        page->state = PAGE_EXCLUSIVE;
        arrived(engine, page_number, 1);
        engine_settle(engine, page_number);
        return;
    }
    if (page->moves < UINT8_MAX) {
        page->moves++;
    }
    fetch_send_away(engine, page_number, requester, !has_copy);
}

// @return the number of copies to wait for
static unsigned invalidate_others(struct engine *engine, page_no page_number,
                                  node_id requester)
{
    const struct page *page = page_of(engine, page_number);
    struct message message = {
        .type = MESSAGE_invalidate,
        .u.invalidate = {.page = page_number},
    };
    unsigned n = 0;

    for (int node = copyset_next(page, 0); node >= 0;
         node = copyset_next(page, (unsigned)node + 1)) {
        if (node != requester) {
            steps_sent(engine, page_number, STEP_SENT_INVALIDATE,
                       (node_id)node);
            port_send(engine->port, (node_id)node, &message);
            n++;
        }
    }
    return n;
}

static enum serve_result serve_write(struct engine *engine, page_no page_number,
                                     const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);
    struct message again = {.type = MESSAGE_fetch};

    if (request->is_ahead &&
        (page->state != PAGE_EXCLUSIVE || page->moves >= AHEAD_MOVES)) {
        return REFUSED;
    }
    page->pushing =
        (uint16_t)invalidate_others(engine, page_number, request->requester);
    if (page->pushing == 0) {
        transfer(engine, page_number, request->requester, request->has_copy);
        return SERVED;
    }
    page->busy = 1;
    again.u.fetch.requester = request->requester;
    again.u.fetch.has_copy = request->has_copy != 0;
    page_defer(engine, page_number, engine->port->self, &again);
    return LATER;
}

static enum serve_result serve(struct engine *engine, page_no page_number,
                               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (page->busy || page->pinned) {
        return request->is_ahead ? REFUSED : DEFERRED;
    }
    if (request->is_write) {
        return serve_write(engine, page_number, request);
    }
    if (request->requester == engine->port->self) {
        return REFUSED;
    }
    if (page->state == PAGE_EXCLUSIVE) {
        if (page->moves == 0 || (page->moves < UNWANTED_MOVES &&
                                 paging_is_unwanted(engine, page_number))) {
            transfer(engine, page_number, request->requester, 0);
            return SERVED;
        }
        if (page->access != ACCESS_NONE) {
            space_set_access(engine->space, page_number, 1, ACCESS_READ);
        }
        page->state = PAGE_CLEAN;
    }
    fetch_send_copy(engine, page_number, request->requester, 1);
    return SERVED;
}

static tm_status receive_invalidate(struct engine *engine, node_id from,
                                    const struct message *message)
{
    page_no page_number = message->u.invalidate.page;
    struct page *page = page_of(engine, page_number);
    struct message answer = {
        .type = MESSAGE_invalidate_ack,
        .u.invalidate_ack = {.page = page_number},
    };

    if (page->is_owner) {
        return TM_EWIRE; // copies are invalidated
    }
    if (page->pinned) {
        page_defer(engine, page_number, from, message);
        return TM_OK;
    }
    if (page->access != ACCESS_NONE) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
    }
    page->state = PAGE_ABSENT;
    engine_discard_later(engine, page_number);
    steps_sent(engine, page_number, STEP_SENT_INVALIDATE_ACK, from);
    port_send(engine->port, from, &answer);
    return TM_OK;
}

static tm_status receive_ack(struct engine *engine, node_id from,
                             page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct deferred *first = page->deferred;

    if (!page->busy || !page->is_owner || !copyset_has(page, from) ||
        from == first->message.u.fetch.requester) {
        return TM_EWIRE; // nobody asked
    }
    copyset_remove(engine, page, from);
    if (--page->pushing > 0) {
        return TM_OK;
    }
    page->busy = 0;
    page->deferred = first->next;
    transfer(engine, page_number, first->message.u.fetch.requester,
             first->message.u.fetch.has_copy);
    free(first);
    page_run_deferred(engine, page_number);
    return TM_OK;
}

static int is_own(const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent != NULL && extent->protocol == protocol_sequential.id;
}

static tm_status receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    const page_no page = message->type == MESSAGE_invalidate
                             ? message->u.invalidate.page
                             : message->u.invalidate_ack.page;
    tm_status status;

    if (!is_own(engine, page)) {
        return TM_EWIRE;
    }
    status = message->type == MESSAGE_invalidate
                 ? receive_invalidate(engine, from, message)
                 : receive_ack(engine, from, page);
    engine_check_page(engine, page);
    return status;
}

static const struct protocol_base invalidations = {
    .messages = UINT64_C(1) << MESSAGE_invalidate |
                UINT64_C(1) << MESSAGE_invalidate_ack,
    .receive = receive,
};

const struct protocol protocol_sequential = {
    .name = "sequential",
    .id = TM_SEQUENTIAL,
    .base = &invalidations,
    .pins_pages = 1,
    .is_coherent = 1,
    .has_grain = 1,
    .local_fault = local_fault,
    .serve = serve,
    .arrived = arrived,
    .state_alone = protocol_state_alone,
    // evicted: an invalidation is acknowledged, as ever; a request to write says that
    // there is no copy (has_copy), so the contents come.
};

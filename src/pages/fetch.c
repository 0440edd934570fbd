// SPDX-License-Identifier: BSD-3-Clause
//
// How a node gets a page that it has not: find the owner, ask, install.
//
// A fetch names a run of pages, the first of which is needed. It travels along
// hints (protocols.md section 2) to the owner of the first page, or to the
// directory node if nobody has touched that page. Each page of the run is
// answered once: by PAGE, by GRANT, or, if it was only ahead and is to be had
// elsewhere, by FETCH_DONE.
//
//   absent, fetching   fetch_start
//   not fetching       engine_settle, from install(), accept_grant(), end_fetch()
//
// I1 `fetching` is set exactly while one fetch is to be answered for the page, and
//    `fetch` is that fetch's number. A late FETCH_DONE of an older fetch has
//    another number and is ignored.
//    A grant that answers no fetch of this node (placement, atomic operations)
//    makes it the owner and leaves the page `fetching`, until the fetch that is out
//    is answered or comes back. So no answer comes that is not waited for: a PAGE that
//    does is refused.
// I4 A copy that comes where there is one already is ignored: that one is kept up
//    to date.
// H3 A page is granted once: by its directory node, which has no hint only while nobody
//    owns the page, and to a node that knows of no owner.
// I2 is_owner implies hint == self + 1.
// I3 hint and epoch change together, and epoch only grows.
#include "base/ensure.h"
#include "base/log.h"
#include "pages/causality.h"
#include "pages/pages.h"
#include "pages/places.h"
#include "pages/read_ahead.h"

#include <stdlib.h>
#include <string.h>

// ---- asking

// May a page be asked for in a fetch that goes to this node? If a copy of it was
// dropped here, only if that node was told so: the request must come behind the
// news (E2).
static int may_go_along(const struct engine *engine, page_no page_number,
                        node_id to)
{
    const struct page *page = page_of(engine, page_number);

    return page->state == PAGE_ABSENT && !page->fetching && !page->stale &&
           (page->hint == 0 || page->hint == to + 1);
}

// Neighbours are of one directory block: its node grants what nobody has touched.
static int is_near(const struct extent *extent, page_no first, page_no page,
                   int32_t stride)
{
    return page >= extent->page && page < extent->page + extent->n_pages &&
           (stride != 1 || page / SPACE_BLOCK == first / SPACE_BLOCK);
}

// The pages from `page` on that one fetch may name.
static unsigned clip_group(const struct engine *engine,
                           const struct extent *extent, page_no page,
                           const struct ahead *ahead)
{
    const node_id to = fetch_route(engine, page);
    const uint64_t room = space_room(engine->space);
    unsigned n = 1;

    if (page_of(engine, page)->state != PAGE_ABSENT ||
        space_grain(engine->space, page) != NULL) {
        return 1; // an upgrade; or one of many blocks
    }
    while (n < ahead->n && n < room) {
        const page_no at = stride_page(page, ahead->stride, n);

        if (!is_near(extent, page, at, ahead->stride) ||
            !may_go_along(engine, at, to)) {
            break;
        }
        n++;
    }
    return n;
}

// Is it one that was given away? Then it was of use here.
static void note_asked_back(struct extent *extent, struct page *page)
{
    extent->n_asked_back += page->was_here;
    page->was_here = 0;
}

void fetch_begin(struct engine *engine, struct extent *extent,
                 page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page->fetching = 1;
    page->fetch = engine->last_fetch;
    note_asked_back(extent, page);
    extent->n_fetching++;
    engine->n_fetching++;
}

static void note_asked(struct engine *engine, page_no page, node_id to,
                       unsigned facts)
{
    steps_sent(engine, page, STEP_SENT_FETCH, to);
    steps_made(
        engine, page,
        (struct step_cause){.event = STEP_ASKS, .facts = (uint16_t)facts});
#ifndef TM_DEBUG
    (void)engine;
    (void)page;
    (void)to;
    (void)facts;
#endif
}

static void send_fetch(struct engine *engine, struct extent *extent,
                       page_no page, const struct ahead *ahead, int is_write)
{
    const node_id to = fetch_route(engine, page);
    struct message message = {.type = MESSAGE_fetch};

    // Of a group only the page that is needed: a request for another must not
    // wait for this one, which may itself wait for that request's node.
    page_of(engine, page)->queues = is_write && extent->row->pins_pages &&
                                    !fetch_is_untouched(engine, page);
    engine->last_fetch++;
    for (unsigned i = 0; i < ahead->n; i++) {
        fetch_begin(engine, extent, stride_page(page, ahead->stride, i));
    }
    message.u.fetch = (struct message_fetch){
        .page = page,
        .count = (uint16_t)ahead->n,
        .stride = (uint32_t)ahead->stride,
        .write = is_write != 0,
        .has_copy = page_of(engine, page)->state != PAGE_ABSENT,
        .requester = engine->port->self,
        .id = engine->last_fetch,
    };
    stall_note_sent(engine, to, &message);
    for (unsigned i = 0; i < ahead->n; i++) {
        note_asked(engine, stride_page(page, ahead->stride, i), to,
                   (is_write ? STEP_WRITE : 0) | (i > 0 ? STEP_AHEAD : 0));
    }
    port_send(engine->port, to, &message);
}

// The page is this node's, and what it lacks is with others.
static int is_own_old(const struct engine *engine, page_no page)
{
    return page_of(engine, page)->is_owner &&
           protocol_of(engine, page)->refetch != NULL;
}

void fetch_start(struct engine *engine, struct extent *extent, page_no page,
                 int is_write, struct fault_history *history)
{
    struct ahead ahead = {.n = 1, .stride = 1};

    if (page_of(engine, page)->stale || is_own_old(engine, page)) {
        protocol_of(engine, page)->refetch(engine, page, is_write);
        return;
    }
    if (history != NULL) {
        struct ahead wanted = read_ahead(history, page);

        ahead = wanted;
        ahead.n = clip_group(engine, extent, page, &wanted);
        read_ahead_asked(history, page, &wanted, ahead.n);
    }
    send_fetch(engine, extent, page, &ahead, is_write);
}

// ---- answering

static void order_by_page(struct engine *engine, page_no page, node_id to)
{
    if (engine->causality != NULL && protocol_of(engine, page)->is_coherent) {
        engine_order(engine, 0, to, ORDER_MOVES);
    }
}

static void send_page(struct engine *engine, node_id to,
                      const struct message *message)
{
    stall_note_sent(engine, to, message);
    engine->stats.pages_served++;
    order_by_page(engine, message->u.page.page, to);
    if (!engine->batch.is_open || !page_batch_takes(engine, to, message)) {
        port_send(engine->port, to, message);
    }
}

void fetch_send_copy(struct engine *engine, page_no page_number, node_id to,
                     int is_subscribed)
{
    struct page *page = page_of(engine, page_number);
    struct message message = {.type = MESSAGE_page};
    const char *bytes;

    if (is_subscribed) {
        copyset_add(engine, page, to);
    }
    message.u.page = (struct message_page){
        .page = page_number,
        .version = page->version,
        .epoch = page->epoch,
        .flags = is_subscribed ? PAGE_WITH_CONTENTS | PAGE_SUBSCRIBED
                               : PAGE_WITH_CONTENTS,
        .moves = page->moves,
    };
    // What is released: see protocols.md on why not the page.
    bytes = page->state == PAGE_DIRTY ? page->twin
                                      : space_bytes(engine->space, page_number);
    page_put_bytes(engine, page_number, bytes, &message);
    steps_sent(engine, page_number, STEP_SENT_COPY, to);
    send_page(engine, to, &message);
}

void fetch_end_ownership(struct engine *engine, page_no page_number, node_id to)
{
    struct page *page = page_of(engine, page_number);

    page->is_owner = 0;
    page->hint = (uint16_t)(to + 1);
    copyset_clear(engine, page);
}

void fetch_send_ownership(struct engine *engine, page_no page_number,
                          node_id to, int with_contents, uint8_t moves)
{
    struct page *page = page_of(engine, page_number);
    struct message message = {.type = MESSAGE_page};

    ensure(page->is_owner && page->pushing == 0 && to != engine->port->self);
    page->epoch++;
    message.u.page = (struct message_page){
        .page = page_number,
        .version = page->version,
        .epoch = page->epoch,
        .flags = PAGE_WITH_OWNERSHIP,
        .moves = moves,
    };
    if (with_contents) {
        message.u.page.flags |= PAGE_WITH_CONTENTS;
        page_put_bytes(engine, page_number,
                       space_bytes(engine->space, page_number), &message);
    }
    steps_sent(engine, page_number, STEP_SENT_AWAY, to);
    send_page(engine, to, &message);
    fetch_end_ownership(engine, page_number, to);
}

void fetch_send_away(struct engine *engine, page_no page_number, node_id to,
                     int with_contents)
{
    struct page *page = page_of(engine, page_number);

    if (page->access != ACCESS_NONE) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
    }
    fetch_send_ownership(engine, page_number, to, with_contents, page->moves);
    page->state = PAGE_ABSENT;
    page->was_here = 1;
    extent_find(engine, page_number)->n_away++;
    engine_discard_later(engine, page_number);
}

static void send_done(struct engine *engine, node_id to, page_no page,
                      unsigned count, int32_t stride, uint32_t id)
{
    struct message message = {
        .type = MESSAGE_fetch_done,
        .u.fetch_done = {.page = page,
                         .count = (uint16_t)count,
                         .stride = (uint32_t)stride,
                         .id = id},
    };

    if (count > 0) {
        port_send(engine->port, to, &message);
    }
}

// Those of a fetch from its n-th on.
static void end_rest(struct engine *engine, const struct message_fetch *fetch,
                     unsigned n)
{
    const int32_t stride = (int32_t)fetch->stride;

    send_done(engine, fetch->requester, stride_page(fetch->page, stride, n),
              fetch->count - n, stride, fetch->id);
}

// Unmap the exclusive pages at the head of the run in one call: each would
// otherwise be unmapped alone.
static void unmap_run(struct engine *engine, page_no page, unsigned count)
{
    unsigned n = 0;

    while (n < count) {
        const struct page *at = page_of(engine, page + n);

        if (at->state != PAGE_EXCLUSIVE || at->access == ACCESS_NONE ||
            at->pinned || at->moves > 0) {
            break;
        }
        n++;
    }
    if (n > 1) {
        space_set_access(engine->space, page, n, ACCESS_NONE);
    }
}

// The node's own request has come back, because ownership came on another way
// (a grant by placement). Pages that were ahead are still to be answered.
static void end_own_fetch(struct engine *engine,
                          const struct message_fetch *fetch)
{
    end_rest(engine, fetch, 0);
}

// The pages that nobody waits for, as far as they can be had at once.
static void serve_ahead(struct engine *engine,
                        const struct message_fetch *fetch)
{
    const struct fetch_request request = {
        .requester = fetch->requester,
        .is_write = fetch->write,
        .is_ahead = 1,
        .id = fetch->id,
    };
    unsigned n_unserved = 0;

    if (fetch->count == 1) {
        return;
    }
    page_batch_open(engine, fetch->requester);
    for (unsigned i = 1; i < fetch->count; i++) {
        const page_no at = stride_page(fetch->page, (int32_t)fetch->stride, i);

        if (!page_of(engine, at)->is_owner || paging_is_away(engine, at) ||
            protocol_of(engine, at)->serve(engine, at, &request) != SERVED) {
            n_unserved++;
        }
        steps_ahead(engine, at);
    }
    page_batch_send(engine);
    if (n_unserved > 0) {
        end_rest(engine, fetch, 1);
    }
}

static void serve_group(struct engine *engine, node_id from,
                        const struct message *message)
{
    const struct message_fetch *fetch = &message->u.fetch;
    const struct fetch_request request = {
        .requester = fetch->requester,
        .is_write = fetch->write,
        .has_copy = fetch->has_copy,
        .id = fetch->id,
    };
    enum serve_result result;

    if (fetch->requester != engine->port->self && fetch->stride == 1) {
        unmap_run(engine, fetch->page, fetch->count);
    }
    result =
        protocol_of(engine, fetch->page)->serve(engine, fetch->page, &request);
    if (result == DEFERRED) {
        page_defer(engine, fetch->page, from, message);
    } else if (result == REFUSED) {
        end_own_fetch(engine, fetch);
    } else {
        serve_ahead(engine, fetch);
    }
}

// The node that an untouched page belongs to by its block's placement.
static node_id placed_node(const struct engine *engine, page_no page,
                           node_id toucher)
{
    const struct extent *extent = extent_find(engine, page);
    const struct roster *roster = &engine->port->roster;

    if (extent == NULL) {
        return toucher;
    }
    switch (extent->placement) {
    case TM_BLOCK:
        return roster
            ->live[(page - extent->page) * roster->n_live / extent->n_pages];
    case TM_CYCLIC:
        return roster_pick(roster, page - extent->page);
    case TM_ON_NODE: // of a node that has left: as if it were nobody's
        return roster_has(roster, extent->on_node) ? extent->on_node : toucher;
    default:
        return toucher;
    }
}

unsigned fetch_grant(struct engine *engine, page_no page, unsigned count,
                     node_id toucher, uint32_t id)
{
    struct message message = {.type = MESSAGE_grant};
    node_id owner = placed_node(engine, page, toucher);
    unsigned n = 0;

    while (n < count && fetch_is_untouched(engine, page + n) &&
           placed_node(engine, page + n, toucher) == owner) {
        hint_set(page_of(engine, page + n), owner, 1);
        steps_sent(engine, page + n, STEP_SENT_GRANT, owner);
        steps_made(engine, page + n,
                   (struct step_cause){.event = STEP_GRANTS, .who = owner});
        n++;
    }
    message.u.grant = (struct message_grant){
        .page = page,
        .count = (uint16_t)n,
        .id = owner == toucher ? id : 0,
    };
    port_send(engine->port, owner, &message);
    return n;
}

static void grant_group(struct engine *engine, const struct message *message)
{
    const struct message_fetch *fetch = &message->u.fetch;
    struct message rest = *message;
    unsigned n =
        fetch_grant(engine, fetch->page, fetch->stride == 1 ? fetch->count : 1,
                    fetch->requester, fetch->id);
    node_id owner = fetch_route(engine, fetch->page);

    if (owner != fetch->requester) {
        rest.u.fetch.hops++;
        port_send(engine->port, owner, &rest); // behind the grant
        return;
    }
    end_rest(engine, fetch, n);
}

static void forward_fetch(struct engine *engine, const struct message *message)
{
    struct message on = *message;

    on.u.fetch.hops++; // whoever gets it looks whether they are too many: H2
    steps_sent(engine, on.u.fetch.page, STEP_SENT_FORWARD,
               fetch_route(engine, on.u.fetch.page));
    port_send(engine->port, fetch_route(engine, on.u.fetch.page), &on);
}

// Is this node's own request without an object, because it owns the page
// exclusively by now?
static int has_been_granted(const struct page *page)
{
    return page->is_owner && page->state == PAGE_EXCLUSIVE;
}

// A request has arrived, or is looked at again.
static void fetch_receive_request(struct engine *engine, node_id from,
                                  const struct message *message)
{
    const struct message_fetch *fetch = &message->u.fetch;
    const struct page *page = page_of(engine, fetch->page);

    if (fetch->requester == engine->port->self && has_been_granted(page)) {
        end_own_fetch(engine, fetch);
    } else if (page->is_owner) {
        if (engine->space->pager == NULL ||
            !paging_parks(engine, from, message)) {
            serve_group(engine, from, message);
        }
    } else if (fetch_is_untouched(engine, fetch->page)) {
        grant_group(engine, message);
    } else if (page->queues && fetch->requester != engine->port->self) {
        page_defer(engine, fetch->page, from, message);
    } else {
        forward_fetch(engine, message);
    }
}

void fetch_serve_whole(struct engine *engine, page_no page,
                       const struct fetch_request *request)
{
    const struct message message = {.type = MESSAGE_fetch,
                                    .u.fetch = {.page = page,
                                                .count = 1,
                                                .stride = 1,
                                                .write = request->is_write != 0,
                                                .requester = request->requester,
                                                .id = request->id}};

    fetch_receive_request(engine, request->requester, &message);
}

// ---- answers arrive

void fetch_take_ownership(struct engine *engine, page_no page_number,
                          node_id from, uint32_t epoch)
{
    struct page *page = page_of(engine, page_number);

    page->is_owner = 1;
    page->hint = (uint16_t)(engine->port->self + 1);
    page->epoch = epoch;
    engine->stats.pages_moved_in++;
    if (from != engine->port->self) {
        owner_updates_announce(engine, page_number, from);
    }
}

// Can a page that comes be an answer to what was asked for?
static int is_answer(const struct page *page, uint8_t flags)
{
    if (!page->fetching || (page->is_owner && (flags & PAGE_WITH_OWNERSHIP))) {
        return 0;
    }
    return flags & PAGE_WITH_CONTENTS ? page->access == ACCESS_NONE
                                      : page->state != PAGE_ABSENT;
}

void fetch_ask_again(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct waiter *waiters = page->waiters;
    int want_write = page->want_write;

    if (waiters == NULL || page->state != PAGE_ABSENT) {
        engine_settle(engine, page_number);
        return;
    }
    page->waiters = NULL;
    engine_settle(engine, page_number);
    page->waiters = waiters;
    page->want_write = (uint8_t)want_write;
    fetch_start(engine, extent_find(engine, page_number), page_number,
                want_write, NULL);
}

void fetch_install_copy(struct engine *engine, page_no page_number,
                        node_id from, uint32_t epoch, int is_mapped)
{
    struct page *page = page_of(engine, page_number);

    page->version = page->base;
    page->untold = 0;
    page->stale = 0;
    page->state = PAGE_CLEAN;
    hint_set(page, from, epoch);
    if (is_mapped) {
        protocol_of(engine, page_number)
            ->arrived(engine, page_number, page->want_write);
    }
    engine_settle(engine, page_number);
}

// May a page that comes be used? With ownership it always is the latest.
static int is_usable(const struct engine *engine,
                     const struct message_page *answer)
{
    const struct protocol *protocol = protocol_of(engine, answer->page);

    page_of(engine, answer->page)->subscribed =
        (answer->flags & PAGE_SUBSCRIBED) != 0;
    return (answer->flags & PAGE_WITH_OWNERSHIP) ||
           protocol->is_fresh == NULL ||
           protocol->is_fresh(engine, answer->page, answer->version);
}

// @param is_filled  its contents have been written already
static tm_status install(struct engine *engine, node_id from,
                         const struct message *message, int is_filled)
{
    const struct message_page *answer = &message->u.page;
    struct page *page = page_of(engine, answer->page);
    const struct protocol *protocol = protocol_of(engine, answer->page);
    int want_write = page->want_write;

    if (page->state != PAGE_ABSENT && !(answer->flags & PAGE_WITH_OWNERSHIP)) {
        return TM_OK; // I4
    }
    if (!is_answer(page, answer->flags)) {
        return TM_EWIRE; // I1
    }
    if (!is_usable(engine, answer)) {
        fetch_ask_again(engine, answer->page);
        return TM_OK;
    }
    if (answer->flags & PAGE_WITH_CONTENTS) {
        if (!is_filled) {
            space_fill(engine->space, answer->page, 1, message->body);
        }
        engine->stats.pages_fetched++;
        place_note(engine, answer->page, PLACE_FETCH);
    }
    page->base = answer->version;
    page->moves = answer->moves;
    memset(page->own, 0, sizeof page->own);
    if (!(answer->flags & PAGE_WITH_OWNERSHIP)) {
        fetch_install_copy(engine, answer->page, from, answer->epoch, 1);
        return TM_OK;
    }
    page->version = answer->version;
    page->untold = 0;
    page->stale = 0;
    page->state = PAGE_EXCLUSIVE;
    fetch_take_ownership(engine, answer->page, from, answer->epoch);
    protocol->arrived(engine, answer->page, want_write);
    engine_settle(engine, answer->page);
    return TM_OK;
}

// How many pages from the first on lie side by side and will be taken: they are written
// in one call.
static unsigned run_to_fill(const struct engine *engine,
                            const struct message *pages, unsigned n)
{
    const page_no first = pages[0].u.page.page;
    unsigned run = 0;

    while (run < n && pages[run].u.page.page == first + run &&
           page_of(engine, first + run)->state == PAGE_ABSENT &&
           is_answer(page_of(engine, first + run), pages[run].u.page.flags) &&
           is_usable(engine, &pages[run].u.page)) {
        run++;
    }
    return run;
}

static tm_status install_one(struct engine *engine, node_id from,
                             const struct message *message, int is_filled)
{
    const struct step_cause before = steps_begin_message(engine, from, message);
    const tm_status status = install(engine, from, message, is_filled);

    steps_end(engine, before, status);
    return status;
}

static tm_status install_all(struct engine *engine, node_id from,
                             const struct message *message)
{
    struct message pages[PAGES_MAX];
    const unsigned n = page_batch_read(message, pages);
    unsigned n_filled = 0;

    for (unsigned i = 0; i < n; i++) {
        const page_no page = pages[i].u.page.page;

        if (n_filled == 0) {
            n_filled = run_to_fill(engine, &pages[i], n - i);
            if (n_filled > 0) {
                space_fill(engine->space, page, n_filled, pages[i].body);
            }
        }
        if (install_one(engine, from, &pages[i], n_filled > 0) != TM_OK) {
            engine_refuse_part(engine, page, "a page that was not asked for");
        }
        n_filled -= n_filled > 0;
        engine_check_page(engine, page);
    }
    return n > 0 ? TM_OK : TM_EWIRE;
}

// Is the page what only its directory node can give away, and only once (H3)? That node
// itself has noted already who gets it.
static int may_be_granted(const struct engine *engine, node_id from,
                          page_no page_number)
{
    const struct page *page = page_of(engine, page_number);
    const uint16_t known = from == engine->port->self ? from + 1u : 0;

    return from == directory_of(engine, page_number) && !page->is_owner &&
           page->state == PAGE_ABSENT && page->hint == known;
}

static void own_granted(struct engine *engine, page_no first, page_no count)
{
    const enum page_state state =
        protocol_of(engine, first)->state_alone(engine, first);

    space_populate(engine->space, first, count);
    for (page_no at = first; at < first + count; at++) {
        struct page *page = page_of(engine, at);

        page->state = (uint8_t)state;
        page->is_owner = 1;
        page->hint = (uint16_t)(engine->port->self + 1);
        page->epoch = 1;
        engine->stats.pages_granted++;
    }
    space_set_access(engine->space, first, count,
                     state == PAGE_CLEAN ? ACCESS_READ : ACCESS_WRITE);
    steps_so_far_run(engine, first, count);
}

void fetch_is_overtaken(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page->queues = 0;
    engine_wake(page);
    page_run_deferred(engine, page_number);
}

static tm_status accept_grant(struct engine *engine, node_id from,
                              const struct message_grant *grant)
{
    const page_no end = grant->page + grant->count;

    for (page_no at = grant->page; at < end; at++) {
        if (!may_be_granted(engine, from, at)) {
            return TM_EWIRE;
        }
    }
    own_granted(engine, grant->page, grant->count);
    for (page_no at = grant->page; at < end; at++) {
        struct page *page = page_of(engine, at);

        if (page->fetch == grant->id) {
            engine_settle(engine, at);
        } else {
            fetch_is_overtaken(engine, at);
        }
    }
    return TM_OK;
}

static void end_fetch(struct engine *engine,
                      const struct message_fetch_done *done)
{
    for (unsigned i = 0; i < done->count; i++) {
        const page_no at = stride_page(done->page, (int32_t)done->stride, i);
        struct page *page = page_of(engine, at);

        if (!page->fetching || page->fetch != done->id) {
            continue; // I1
        }
        fetch_ask_again(engine, at);
    }
}

tm_status fetch_receive(struct engine *engine, node_id from,
                        const struct message *message)
{
    switch (message->type) {
    case MESSAGE_fetch:
        fetch_receive_request(engine, from, message);
        return TM_OK;
    case MESSAGE_page:
        return install(engine, from, message, 0);
    case MESSAGE_pages:
        return install_all(engine, from, message);
    case MESSAGE_fetch_done:
        end_fetch(engine, &message->u.fetch_done);
        return TM_OK;
    case MESSAGE_grant:
        return accept_grant(engine, from, &message->u.grant);
    default:
        return TM_EWIRE;
    }
}

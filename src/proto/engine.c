// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: entry of faults and messages, and what all protocols share. The
// rest of it is in
//   fetch.c          how a page is found, fetched, granted and sent
//   release.c        when and how a node's writes are pushed
//   flight.c         diffs that are out until they are acknowledged
//   eager_release.c  multiple writers
//   sequential.c     one writer or many readers
//   hold.c           pages that stay, and messages that wait, for a thread
//   atomic.c         operations at the owner
//   blocks.c         which pages are whose block
//   paging.c         which pages may go when memory is short
//   handover.c       nodes come and go
//   stall.c          threads that wait for a page for ever, in debug builds
// docs/protocols.md says what all of them do together.
//
// Everything here runs under the node lock. Calls of threads (engine_fault and
// the like) only send and queue; whatever needs another node comes back as a
// message, also when that node is this one.
#include "proto/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "proto/engine_priv.h"

const struct protocol *protocol_by_id(tm_protocol id)
{
    for (unsigned i = 0; i < n_protocols; i++) {
        if (protocols[i]->id == id) {
            return protocols[i];
        }
    }
    return NULL;
}

void page_list_add(struct page_list *list, page_no page)
{
    if (list->n == list->room) {
        list->room = list->room == 0 ? 256 : list->room * 2;
        list->at = realloc(list->at, list->room * sizeof *list->at);
        ensure_memory(list->at != NULL);
    }
    list->at[list->n++] = page;
}

uint32_t engine_await(struct engine *engine, struct waiter *waiter,
                      enum message_type answer)
{
    waiter->result = answer; // until it comes
    return tokens_give(&engine->tokens, waiter);
}

struct waiter *engine_answered(struct engine *engine, enum message_type answer,
                               uint32_t token)
{
    struct waiter *waiter = tokens_find(&engine->tokens, token);

    return waiter != NULL && waiter->result == answer ? waiter : NULL;
}

// Copysets come from chunks, and go to a list: pages begin and cease to be shared
// all the time.
static struct node_set *new_copyset(struct engine *engine)
{
    struct copyset *copyset = engine->free_copysets;

    if (copyset == NULL) {
        struct copyset_chunk *chunk = malloc(sizeof *chunk);

        ensure_memory(chunk != NULL);
        chunk->next = engine->copyset_chunks;
        engine->copyset_chunks = chunk;
        for (unsigned i = 0; i < COPYSETS_A_CHUNK; i++) {
            chunk->copysets[i].next = engine->free_copysets;
            engine->free_copysets = &chunk->copysets[i];
        }
        copyset = engine->free_copysets;
    }
    engine->free_copysets = copyset->next;
    memset(&copyset->nodes, 0, sizeof copyset->nodes);
    return &copyset->nodes;
}

void copyset_add(struct engine *engine, struct page *page, node_id node)
{
    if (page->copyset == NULL) {
        page->copyset = new_copyset(engine);
    }
    node_set_add(page->copyset, node);
}

void copyset_add_others(struct engine *engine, struct page *page,
                        const struct node_set *nodes)
{
    for (int node = node_set_next(nodes, 0); node >= 0;
         node = node_set_next(nodes, (unsigned)node + 1)) {
        if (node != engine->port->self &&
            roster_has(&engine->port->roster, (node_id)node)) {
            copyset_add(engine, page, (node_id)node);
        }
    }
}

void copyset_clear(struct engine *engine, struct page *page)
{
    struct copyset *copyset = (struct copyset *)page->copyset;

    if (copyset != NULL) {
        copyset->next = engine->free_copysets;
        engine->free_copysets = copyset;
        page->copyset = NULL;
    }
}

void copyset_remove(struct engine *engine, struct page *page, node_id node)
{
    if (page->copyset == NULL) {
        return;
    }
    node_set_remove(page->copyset, node);
    if (node_set_is_empty(page->copyset)) {
        copyset_clear(engine, page);
    }
}

int copyset_is_empty(const struct page *page)
{
    return page->copyset == NULL;
}

int copyset_is_only(const struct page *page, node_id node)
{
    struct node_set only = {{0}};

    node_set_add(&only, node);
    return page->copyset != NULL &&
           memcmp(page->copyset, &only, sizeof only) == 0;
}

void engine_discard_now(struct engine *engine)
{
    if (engine->discard_n > 0) {
        space_discard(engine->space, engine->discard_page, engine->discard_n);
        engine->discard_n = 0;
    }
}

void engine_discard_later(struct engine *engine, page_no page)
{
    if (engine->discard_n > 0 &&
        page == engine->discard_page + engine->discard_n) {
        engine->discard_n++;
        return;
    }
    engine_discard_now(engine);
    engine->discard_page = page;
    engine->discard_n = 1;
}

// What a page's state allows to be mapped.
static enum page_access full_access(const struct page *page)
{
    switch (page->state) {
    case PAGE_CLEAN:
        return ACCESS_READ;
    case PAGE_DIRTY:
    case PAGE_EXCLUSIVE:
        return ACCESS_WRITE;
    default:
        return ACCESS_NONE;
    }
}

void engine_map(struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    if (page->waiters != NULL) {
        space_set_access(engine->space, page_number, 1, full_access(page));
        return;
    }
    if (engine->map_n > 0 && page_number != engine->map_page + engine->map_n) {
        engine_finish_batch(engine);
    }
    if (engine->map_n == 0) {
        engine->map_page = page_number;
    }
    engine->map_n++;
}

void engine_finish_batch(struct engine *engine)
{
    page_no end = engine->map_page + engine->map_n;
    page_no at = engine->map_page;

    engine->map_n = 0;
    while (at < end) {
        enum page_access access = full_access(page_of(engine, at));
        page_no n = 0;

        while (at + n < end && full_access(page_of(engine, at + n)) == access &&
               page_of(engine, at + n)->access == ACCESS_NONE) {
            n++;
        }
        if (n > 0 && access != ACCESS_NONE) {
            space_set_access(engine->space, at, n, access);
        }
        at += n > 0 ? n : 1;
    }
}

// Those that came first, first; but before all others those that have missed the
// page: else a thread that runs on with it until it goes, and asks for it again at
// once, would always be before them.
void engine_wake(struct page *page)
{
    struct waiter *lists[2] = {NULL, NULL}; // late, not late

    while (page->waiters != NULL) {
        struct waiter *last = page->waiters;
        struct waiter **list = &lists[!last->is_late];

        page->waiters = last->next;
        last->next = *list;
        *list = last;
    }
    for (int i = 0; i < 2; i++) {
        while (lists[i] != NULL) {
            struct waiter *first = lists[i];

            lists[i] = first->next;
            waiter_wake(first, TM_OK, 0);
        }
    }
}

void engine_settle(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct extent *extent = extent_find(engine, page_number);

    if (!page->pending) {
        return;
    }
    page->pending = 0;
    page->queues = 0;
    page->want_write = 0;
    engine->n_pending--;
    if (extent != NULL) {
        extent->n_pending--;
        blocks_check_closing(engine, extent);
    }
    engine_wake(page);
    page_run_deferred(engine, page_number);
}

enum fault_result engine_fault(struct engine *engine, page_no page_number,
                               int is_write, struct fault_history *history,
                               struct waiter *waiter)
{
    struct extent *extent = extent_find(engine, page_number);
    struct page *page = page_of(engine, page_number);

    if (extent == NULL || extent->is_closed) {
        return FAULT_OUTSIDE;
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
    if (page->state != PAGE_ABSENT &&
        protocol_by_id(extent->protocol)
            ->local_fault(engine, page_number, is_write)) {
        return FAULT_ALLOWED;
    }
    if (!page->pending) {
        fetch_start(engine, page_number, is_write, history);
    }
    page->want_write |= (uint8_t)(is_write != 0);
    waiter->is_late = history != NULL && history->missed == page_number + 1;
    stall_begin(engine, page_number, waiter, history);
    waiter->next = page->waiters;
    page->waiters = waiter;
    engine->stats.remote_faults++;
    return FAULT_WAIT;
}

static tm_status dispatch(struct engine *engine, node_id from,
                          const struct message *message)
{
    switch (message->type) {
    case MESSAGE_fetch:
    case MESSAGE_page:
    case MESSAGE_fetch_done:
    case MESSAGE_grant:
        return fetch_receive(engine, from, message);
    case MESSAGE_owner_is:
        return news_receive(engine, from, message);
    case MESSAGE_update:
        return eager_receive_update(engine, from, message);
    case MESSAGE_update_ack:
        return flight_receive_ack(engine, from, message);
    case MESSAGE_invalidate:
    case MESSAGE_invalidate_ack:
        return sequential_receive(engine, from, message);
    case MESSAGE_atomic:
    case MESSAGE_atomic_done:
        return atomic_receive(engine, from, message);
    case MESSAGE_page_given:
    case MESSAGE_page_taken:
        return handover_receive(engine, from, message);
    case MESSAGE_clock:
        return order_receive(engine, message);
    case MESSAGE_race:
        return race_receive(engine, message);
    default:
        return blocks_receive(engine, from, message);
    }
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
               message->u.fetch.hops < HOPS_MAX &&
               roster_has(&engine->port->roster, message->u.fetch.requester) &&
               extent_has(engine, message->u.fetch.page,
                          message->u.fetch.count) &&
               !fetch_has_lost_owner(engine, message->u.fetch.page);
    case MESSAGE_page:
        return extent_has(engine, message->u.page.page, 1) &&
               (!(message->u.page.flags & PAGE_WITH_CONTENTS) ||
                message->body_size == TM_PAGE_SIZE);
    case MESSAGE_fetch_done:
        return message->u.fetch_done.page < n_pages &&
               message->u.fetch_done.page + message->u.fetch_done.count <=
                   n_pages;
    case MESSAGE_grant:
        return message->u.grant.count >= 1 &&
               extent_has(engine, message->u.grant.page,
                          message->u.grant.count);
    case MESSAGE_page_given:
        return extent_has(engine, message->u.page_given.page, 1) &&
               message->body_size == TM_PAGE_SIZE;
    case MESSAGE_race:
        return extent_has(engine, message->u.race.page, 1);
    case MESSAGE_invalidate:
        return extent_is_of(engine, message->u.invalidate.page, TM_SEQUENTIAL);
    case MESSAGE_invalidate_ack:
        return extent_is_of(engine, message->u.invalidate_ack.page,
                            TM_SEQUENTIAL);
    case MESSAGE_atomic:
        return message->u.atomic.page < n_pages &&
               !extent_is_of(engine, message->u.atomic.page, TM_SEQUENTIAL) &&
               message->u.atomic.offset % 8 == 0 &&
               message->u.atomic.offset < TM_PAGE_SIZE &&
               message->u.atomic.hops < HOPS_MAX &&
               !fetch_has_lost_owner(engine, message->u.atomic.page) &&
               roster_has(&engine->port->roster, message->u.atomic.requester);
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
    case MESSAGE_invalidate:
        return message->u.invalidate.page;
    case MESSAGE_invalidate_ack:
        return message->u.invalidate_ack.page;
    default:
        return engine->space->n_pages;
    }
}

// Debug builds check the invariants of the page after each step.
static void check_page(const struct engine *engine, page_no page)
{
#ifdef TM_DEBUG
    if (page < engine->space->n_pages) {
        ensure(engine_page_is_valid(engine, page));
    }
#else
    (void)engine;
    (void)page;
#endif
}

void engine_refuse_part(struct engine *engine, page_no page, const char *what)
{
    if (engine->stats.bad_messages++ < LOG_REFUSED_MAX) {
        log_error("%s for page %llu is refused", what,
                  (unsigned long long)page);
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
    check_page(engine, named_page(engine, message));
    return status;
}

int engine_tick(struct engine *engine)
{
    news_send(engine);
    engine_let_go(engine);
    return engine->held.n > 0;
}

void engine_stats(const struct engine *engine, struct tm_node_stats *stats)
{
    *stats = engine->stats;
}

int engine_is_quiet(const struct engine *engine)
{
    return engine->n_pending == 0 && engine->n_flying == 0 &&
           engine->parked == NULL && !engine->flush_is_active &&
           engine->next_waiters == NULL;
}

int engine_page_is_valid(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_DIRTY ? page->twin == NULL || !page->listed
                                  : page->twin != NULL) {
        return 0;
    }
    if (page->state == PAGE_EXCLUSIVE &&
        (!page->is_owner || page->copyset != NULL)) {
        return 0; // E3
    }
    if (page->state == PAGE_ABSENT &&
        (page->is_owner || page->access != ACCESS_NONE)) {
        return 0;
    }
    if (page->state == PAGE_CLEAN && page->access == ACCESS_WRITE) {
        return 0;
    }
    if (page->mapped > page->access) {
        return 0; // while uses are tracked; else it is 0
    }
    if (page->copyset != NULL &&
        (!page->is_owner || node_set_has(page->copyset, engine->port->self))) {
        return 0;
    }
    if (page->is_owner && page->hint != engine->port->self + 1) {
        return 0;
    }
    if (page->pending ? 0 : page->waiters != NULL || page->queues) {
        return 0;
    }
    return page->deferred == NULL || page_keeps_messages(page) || // D1
           !protocol_by_id(engine_protocol(engine, page_number))->holds_pages;
}

int engine_is_valid(const struct engine *engine)
{
    uint32_t n_pending = 0;

    for (size_t i = 0; i < engine->n_extents; i++) {
        const struct extent *extent = &engine->extents[i];

        n_pending += extent->n_pending;
        if (i > 0 && extent[-1].page + extent[-1].n_pages > extent->page) {
            return 0;
        }
    }
    return n_pending == engine->n_pending &&
           (engine->flush_waiters == NULL || engine->flush_is_active) &&
           (engine->n_flying > 0 || !engine->flush_is_active);
}

struct engine *engine_new(const struct port *port, struct space *space,
                          tm_protocol default_protocol)
{
    struct engine *engine = calloc(1, sizeof *engine);

    if (engine == NULL) {
        return NULL;
    }
    engine->port = port;
    engine->space = space;
    engine->default_protocol = default_protocol;
    tokens_init(&engine->tokens);
    hold_open(engine);
    if (blocks_open(engine) != TM_OK) {
        engine_free(engine);
        return NULL;
    }
    return engine;
}

static void free_flights(struct engine *engine)
{
    for (size_t i = 0; i < engine->n_flights; i++) {
        free(engine->flights[i]->pages);
        free(engine->flights[i]->dropped.at);
        free(engine->flights[i]->handed.at);
        free(engine->flights[i]);
    }
    free(engine->flights);
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
    race_close(engine);
    blocks_close(engine);
    free_flights(engine);
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        free(engine->outboxes[i].bytes);
        free(engine->news[i].at);
    }
    while (engine->copyset_chunks != NULL) {
        struct copyset_chunk *next = engine->copyset_chunks->next;

        free(engine->copyset_chunks);
        engine->copyset_chunks = next;
    }
    free(engine->dirty.at);
    hold_close(engine);
    deferred_drop(&engine->parked);
    deferred_drop(&engine->given);
    late_close(engine);
    stall_close(&engine->stall);
    tokens_release(&engine->tokens);
    free(engine);
}

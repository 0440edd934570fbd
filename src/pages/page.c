// SPDX-License-Identifier: BSD-3-Clause
//
// What a node knows of one page, and what follows from it: who owns the page (its hint,
// and, at its directory node, whether anybody does: H3 and I3 of fetch.c), what the
// program's view shows of it, which threads wait for it. Who has copies is in copyset.c.
// Calls of the system are put together: neighbours whose memory goes back, or that have
// come ahead and are to be mapped. Debug builds check what holds of a record at any time.
#include "base/ensure.h"
#include "base/vector.h"
#include "pages/small_blocks.h"

#include <stdlib.h>

// ---- its owner

void hint_set(struct page *page, node_id owner, uint32_t epoch)
{
    if (!page->is_owner && (page->hint == 0 || epoch > page->epoch)) {
        page->hint = (uint16_t)(owner + 1);
        page->epoch = epoch;
    }
}

node_id fetch_route(const struct engine *engine, page_no page)
{
    uint16_t hint = page_of(engine, page)->hint;

    return hint != 0 ? (node_id)(hint - 1) : directory_of(engine, page);
}

int fetch_is_untouched(const struct engine *engine, page_no page)
{
    return directory_of(engine, page) == engine->port->self &&
           page_of(engine, page)->hint == 0 &&
           page_of(engine, page)->epoch == 0;
}

int fetch_has_lost_owner(const struct engine *engine, page_no page)
{
    return directory_of(engine, page) == engine->port->self &&
           page_of(engine, page)->hint == 0 &&
           page_of(engine, page)->epoch != 0;
}

// ---- what is seen of it

struct page_view engine_view_page(const struct engine *engine,
                                  page_no page_number)
{
    const struct page *page = page_of(engine, page_number);
    struct page_view view = {
        .version = page->is_owner ? page->version : page->base,
        .state = page->state,
        .access = page->access,
        .is_owner = page->is_owner,
        .is_stale = page->stale,
    };

    for (int node = copyset_next(page, 0); node >= 0;
         node = copyset_next(page, (unsigned)node + 1)) {
        view.n_copies++;
    }
    return view;
}

void page_put_bytes(const struct engine *engine, page_no page,
                    const char *bytes, struct message *message)
{
    const struct page_part part = space_part(engine->space, page);

    message->body = bytes + part.offset;
    message->body_size = part.size;
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
            steps_so_far_run(engine, at, n);
            space_set_access(engine->space, at, n, access);
            steps_made_run(engine, at, n, STEP_MAPPED);
        }
        at += n > 0 ? n : 1;
    }
}

// ---- who waits for it

// Those that came first, first; but before all others those that have missed the
// page: else a thread that runs on with it until it goes, and asks for it again at
// once, would always be before them.
void engine_wake(struct page *page)
{
    struct waiter *lists[2] = {NULL, NULL}; // late, not late

    list_take_each (last, page->waiters) {
        list_push(lists[!last->is_late], last);
    }
    waiter_wake_all(lists[0]);
    waiter_wake_all(lists[1]);
}

void engine_settle(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct extent *extent = extent_find(engine, page_number);

    if (!page->fetching) {
        return;
    }
    steps_so_far(engine, page_number);
    page->fetching = 0;
    page->queues = 0;
    page->want_write = 0;
    steps_made(engine, page_number, (struct step_cause){.event = STEP_SETTLED});
    engine->n_fetching--;
    if (extent != NULL) {
        extent->n_fetching--;
        if (extent->closing != 0) {
            blocks_check_closing(engine, extent);
        }
    }
    engine_wake(page);
    page_run_deferred(engine, page_number);
}

// ---- what holds of it

int engine_is_quiet(const struct engine *engine)
{
    return engine->n_fetching == 0 && engine->n_unfinished == 0 &&
           engine->parked == NULL && bases_are_quiet(engine);
}

int engine_page_is_valid(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_BOUND) {
        return !page->is_owner && copyset_is_empty(page) && !page->fetching &&
               (page->access != ACCESS_WRITE || page->twin != NULL);
    }
    if (page->state == PAGE_DIRTY ? page->twin == NULL || !page->listed
                                  : page->twin != NULL) {
        return 0;
    }
    if (page->state == PAGE_EXCLUSIVE &&
        (!page->is_owner || !copyset_is_empty(page))) {
        return 0; // E3
    }
    if (page->state == PAGE_ABSENT &&
        (page->is_owner || page->access != ACCESS_NONE)) {
        return 0;
    }
    if (page->stale && page->state != PAGE_ABSENT) {
        return 0; // Y1 of protocol/refresh.c
    }
    if (page->state == PAGE_CLEAN && page->access == ACCESS_WRITE) {
        return 0;
    }
    if (page->mapped > page->access) {
        return 0; // while uses are tracked; else it is 0
    }
    if (!copyset_is_empty(page) &&
        (!page->is_owner || copyset_has(page, engine->port->self))) {
        return 0;
    }
    if (page->is_owner && page->hint != engine->port->self + 1) {
        return 0;
    }
    if (page->fetching ? 0 : page->waiters != NULL || page->queues) {
        return 0;
    }
    return page->deferred == NULL || page_keeps_messages(page) || // D1
           page_keeps_diffs(page);
}

int engine_is_valid(const struct engine *engine)
{
    uint32_t n_fetching = 0;

    for (size_t i = 0; i < engine->n_extents; i++) {
        const struct extent *extent = &engine->extents[i];

        n_fetching += extent->n_fetching;
        if (i > 0 && extent[-1].page + extent[-1].n_pages > extent->page) {
            return 0;
        }
    }
    return n_fetching == engine->n_fetching && bases_are_valid(engine) &&
           small_blocks_are_valid(engine);
}

void engine_check_page(const struct engine *engine, page_no page)
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

// ---- lists of pages

void page_list_add(struct page_list *list, page_no page)
{
    vector_reserve(list->at, list->room, list->n + 1);
    list->at[list->n++] = page;
}

void page_list_leave_out(struct page_list *list, const struct extent *extent)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] < extent->page ||
            list->at[i] >= extent->page + extent->n_pages) {
            list->at[kept++] = list->at[i];
        }
    }
    list->n = kept;
}

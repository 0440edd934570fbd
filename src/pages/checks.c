// SPDX-License-Identifier: BSD-3-Clause
//
// What holds of one node's pages and records at any time, as far as that node can tell.
#include "base/ensure.h"
#include "pages/pages.h"

int engine_is_quiet(const struct engine *engine)
{
    return engine->n_fetching == 0 && engine->n_unfinished == 0 &&
           engine->parked == NULL && bases_are_quiet(engine);
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
    if (page->fetching ? 0 : page->waiters != NULL || page->queues) {
        return 0;
    }
    return page->deferred == NULL || page_keeps_messages(page) || // D1
           !protocol_of(engine, page_number)->pins_pages;
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
    return n_fetching == engine->n_fetching && bases_are_valid(engine);
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

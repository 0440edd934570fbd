// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of the system are put together: neighbours whose memory goes back, or that have
// come ahead and are to be mapped.
#include "pages/pages.h"

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

// SPDX-License-Identifier: BSD-3-Clause
//
// What the distribution of threads knows of the pages that a node will use, and
// will not use any more ([Liu06] 4.3). Advice only: whatever it says, the
// protocols keep their promises, and a page that is needed all the same is
// fetched by the next fault.
#include "pages/pages.h"

// The end of a run, within the space.
static page_no end_of(const struct engine *engine, page_no first, page_no n)
{
    page_no n_pages = engine->space->n_pages;

    return first >= n_pages || n > n_pages - first ? n_pages : first + n;
}

// Pages that can be asked for from `page` on, one fetch at a time.
static page_no fetch_group(struct engine *engine, page_no page, page_no n,
                           int is_write)
{
    struct fault_history history = {0};
    page_no group = n < FETCH_GROUP_MAX ? n : FETCH_GROUP_MAX;

    // As if a thread had run up to here in groups of half that size.
    history.streams[0].next = page;
    history.streams[0].group = (uint16_t)((group + 1) / 2);
    fetch_start(engine, extent_find(engine, page), page, is_write, &history);
    return history.streams[0].next - page;
}

// B3 in blocks.c: no pages of an extent that others may not know yet. Nor such as nobody
// may write to when there is a copy.
static int is_wanted(const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent != NULL && extent->is_open && !extent->is_closed &&
           extent->sharing != TM_READ_ONLY &&
           !engine_needs_lock(engine, page) &&
           page_of(engine, page)->state == PAGE_ABSENT &&
           !page_of(engine, page)->fetching;
}

// Only as far as there is room: what would take the room of other pages comes when a
// thread faults on it, and the pager lets it in.
void engine_fetch_ahead(struct engine *engine, page_no first, page_no n,
                        int is_write)
{
    const page_no end = end_of(engine, first, n);
    page_no page = engine->is_frozen ? end : first;

    while (page < end && space_room(engine->space) > 0) {
        if (is_wanted(engine, page)) {
            page += fetch_group(engine, page, end - page, is_write);
        } else {
            page++;
        }
    }
}

static void advise(struct engine *engine, page_no first, page_no n,
                   enum page_advice advice)
{
    const page_no end = end_of(engine, first, n);

    for (page_no page = first; page < end; page++) {
        if (extent_find(engine, page) != NULL &&
            protocol_of(engine, page)->advised != NULL) {
            protocol_of(engine, page)->advised(engine, page, advice);
            steps_made_run(engine, page, 1, STEP_ADVISED);
        }
    }
}

void engine_leaving(struct engine *engine, page_no first, page_no n)
{
    advise(engine, first, n, ADVICE_LEAVING);
}

void engine_unused(struct engine *engine, page_no first, page_no n)
{
    advise(engine, first, n, ADVICE_UNUSED);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The TM_SHARED variables: pages that are the root's before anything happens.
#include "pages/pages.h"

static void own_globals(struct engine *engine, page_no n_pages)
{
    const enum page_state state =
        protocol_of(engine, 0)->state_alone(engine, 0);

    for (page_no at = 0; at < n_pages; at++) {
        struct page *page = page_of(engine, at);

        page->state = (uint8_t)state;
        page->is_owner = 1;
        page->hint = 1;
        page->epoch = 1;
    }
    space_set_access(engine->space, 0, n_pages,
                     state == PAGE_CLEAN ? ACCESS_READ : ACCESS_WRITE);
}

// H3: a directory node without a hint would take the page as untouched, and grant it.
static void note_owner_of_globals(struct engine *engine, page_no n_pages)
{
    for (page_no at = 0; at < n_pages; at++) {
        if (directory_of(engine, at) == engine->port->self) {
            hint_set(page_of(engine, at), 0, 1);
        }
    }
}

void engine_add_globals(struct engine *engine)
{
    struct extent extent = {
        .n_pages = engine->space->n_globals,
        .size = engine->space->n_globals * TM_PAGE_SIZE,
        .protocol = engine->default_protocol,
        .placement = TM_ON_NODE,
        .name = "TM_SHARED variables",
        .is_open = 1,
    };

    if (extent.n_pages == 0) {
        return;
    }
    extent_insert(engine, &extent);
    if (engine->port->self == 0) {
        own_globals(engine, extent.n_pages);
    } else {
        note_owner_of_globals(engine, extent.n_pages);
    }
    steps_made_run(engine, 0, extent.n_pages, STEP_STARTS);
}

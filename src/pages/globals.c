// SPDX-License-Identifier: BSD-3-Clause
//
// The TM_SHARED variables: pages that are the root's before anything happens. Those of a
// program that knows nothing of Teamster come in two kinds: what is small may be a flag
// that threads wait for, so it is sequential whatever the others are.
#include "pages/pages.h"

#include <stdio.h>

#include "base/ensure.h"

static void own_globals(struct engine *engine, page_no first, page_no n_pages)
{
    const enum page_state state =
        protocol_of(engine, first)->state_alone(engine, first);

    for (page_no at = first; at < first + n_pages; at++) {
        struct page *page = page_of(engine, at);

        page->state = (uint8_t)state;
        page->is_owner = 1;
        page->hint = 1;
        page->epoch = 1;
    }
    space_set_access(engine->space, first, n_pages,
                     state == PAGE_CLEAN ? ACCESS_READ : ACCESS_WRITE);
}

// H3: a directory node without a hint would take the page as untouched, and grant it.
static void note_owner_of_globals(struct engine *engine, page_no first,
                                  page_no n_pages)
{
    for (page_no at = first; at < first + n_pages; at++) {
        if (directory_of(engine, at) == engine->port->self) {
            hint_set(page_of(engine, at), 0, 1);
        }
    }
}

static void add_variables(struct engine *engine, page_no first, page_no n_pages,
                          tm_protocol protocol, const char *name)
{
    struct extent extent = {
        .page = first,
        .n_pages = n_pages,
        .size = n_pages * TM_PAGE_SIZE,
        .protocol = protocol,
        .placement = TM_ON_NODE,
        .is_open = 1,
    };

    if (n_pages == 0) {
        return;
    }
    snprintf(extent.name, sizeof extent.name, "%s", name);
    extent_insert(engine, &extent);
    if (engine->port->self == 0) {
        own_globals(engine, first, n_pages);
    } else {
        note_owner_of_globals(engine, first, n_pages);
    }
    steps_made_run(engine, first, n_pages, STEP_STARTS);
}

void engine_add_globals(struct engine *engine, page_no n_flags)
{
    const page_no n_globals = engine->space->n_globals;

    ensure(n_flags <= n_globals);
    // Where plain atomics work, as blocks with a grain have it.
    add_variables(engine, 0, n_flags,
                  engine_grain_protocol(engine, TM_PROTOCOL_DEFAULT),
                  "small variables");
    add_variables(engine, n_flags, n_globals - n_flags,
                  engine->default_protocol, "TM_SHARED variables");
}

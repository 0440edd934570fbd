// SPDX-License-Identifier: BSD-3-Clause
//
// Who owns a page, as far as this node knows: its hint, and, at the page's directory node,
// whether anybody does (H3 and I3 of fetch.c).
#include "pages/pages.h"

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

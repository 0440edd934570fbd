// SPDX-License-Identifier: BSD-3-Clause
//
// What the pager (mem/pager.h) may do with the pages of this node.
//
// A page stays while something is under way for it, and while it is dirty: then
// its bytes and its twin belong together. A release makes dirty pages clean, and may
// begin at any time, so one begins when nothing else can go.
//
// A copy whose owner is elsewhere can be given up without a word: the page is absent
// here, and the copyset still has this node.
// How the owner comes to know is the protocol's affair (`evicted`). A request that comes
// first brings a new copy, and the copyset is right again.
//
// A fetch of pages that are out, an atomic operation on one, or a `home` that changes one, is
// parked until the disk has brought them: it would keep the node from everything else for as long. When
// more is in memory than should be, they are not brought before others have gone.
// Others that come meanwhile for the same pages are parked behind it, in order; then
// all are handled as if they came now. (Updates: pending_updates.c.) Whether there is a
// page to wait for is seen anew each time, so nothing that happens meanwhile
// needs to know of them, but for
//   P1 A page of a parked request stays, once it is here.
//   P2 A block is freed when no node has a fetch out (blocks.c), so none is parked.
//      (And who frees one that others still operate on has made an error.)
//   P3 A page with pending updates is still away, and these are applied before parked
//      requests: a node may have sent one, dropped its copy, and asked for the page anew.
#include "pages/pages.h"

#include <stdlib.h>

// @param[out] n  pages that a request wants. @return the first
static page_no pages_of(const struct message *message, page_no *n)
{
    if (message->type == MESSAGE_fetch) {
        *n = message->u.fetch.stride == 1 ? message->u.fetch.count : 1;
        return message->u.fetch.page;
    }
    *n = 1;
    return message->type == MESSAGE_home ? message->u.home.page
                                         : message->u.atomic.page;
}

void paging_give_up(struct engine *engine, struct page *page)
{
    page->state = PAGE_ABSENT;
    // It is unmapped; threads that go on look without the lock.
    __atomic_store_n(&page->access, (uint8_t)ACCESS_NONE, __ATOMIC_RELAXED);
    engine->stats.copies_dropped++;
}

int paging_has_parked(const struct engine *engine, page_no page)
{
    for (const struct deferred *at = engine->parked; at != NULL;
         at = at->next) {
        page_no n;
        page_no first = pages_of(&at->message, &n);

        if (page >= first && page < first + n) {
            return 1;
        }
    }
    return 0;
}

void engine_keep_copies(struct engine *engine, int keep)
{
    engine->keeps_copies = keep;
}

int paging_gives_up(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->untold) {
        page->untold = 0;
        return 1;
    }
    if (page->state != PAGE_CLEAN || page->is_owner ||
        !paging_is_out(engine, page_number)) {
        return 0;
    }
    paging_give_up(engine, page);
    engine_discard_later(engine, page_number);
    return 1;
}

void paging_bring(struct engine *engine, page_no *pages, unsigned n)
{
    if (n > 0) {
        pager_bring_all(engine->space->pager, pages, n, BROUGHT_MAX);
    }
}

int paging_parks(struct engine *engine, node_id from,
                 const struct message *message)
{
    struct pager *pager = engine->space->pager;
    page_no n;
    page_no first = pages_of(message, &n);

    if (pager == NULL || (message->type == MESSAGE_fetch &&
                          (message->u.fetch.requester == engine->port->self ||
                           message->u.fetch.has_copy))) {
        return 0; // no bytes are needed
    }
    if (pager_is_out(pager, first) && pager_takes(pager, BROUGHT_MAX)) {
        pager_bring(pager, first, n);
    }
    if (!paging_is_away(engine, first) && !pager_is_coming(pager, first, n)) {
        return 0;
    }
    deferred_keep(&engine->parked, from, message);
    return 1;
}

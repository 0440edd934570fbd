// SPDX-License-Identifier: BSD-3-Clause
//
// What the pager (mem/pager.h) asks, and may do with the pages of this node: which of
// them may go (fate), and what follows when transfers have ended. Why: residence.c.
#include <stdlib.h>

#include "pages/pages.h"

static int is_idle(const struct page *page)
{
    return !page->fetching && !page->pinned && !page->busy &&
           !page->in_flight && !page->queues && page->waiters == NULL &&
           page->deferred == NULL;
}

static enum page_fate fate_of_page(const struct engine *engine,
                                   page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    if (!is_idle(page) || page->twin != NULL || page->updates_pending || // L2
        paging_has_parked(engine, page_number)) {                        // P1
        return FATE_STAY;
    }
    if (page->state == PAGE_ABSENT) {
        return FATE_DISCARD;
    }
    return page->is_owner || page->state == PAGE_BOUND || engine->keeps_copies
               ? FATE_SWAP
               : FATE_DROP;
}

// Pages that share a frame go together: it stays for one that has to, and is of no use
// only if all are absent. Copies among them go to the swap file like others.
static enum page_fate fate_of_frame(const struct engine *engine,
                                    const struct grain_area *area,
                                    page_no frame)
{
    enum page_fate fate = FATE_DISCARD;

    for (unsigned view = 0; view < area->n_views; view++) {
        const enum page_fate one =
            fate_of_page(engine, frame + view * area->n_frames);

        if (one == FATE_STAY) {
            return FATE_STAY;
        }
        if (one != FATE_DISCARD) {
            fate = FATE_SWAP;
        }
    }
    return fate;
}

static enum page_fate fate(void *owner, page_no page_number)
{
    const struct engine *engine = owner;
    const struct grain_area *area = space_grain(engine->space, page_number);

    return area == NULL ? fate_of_page(engine, page_number)
                        : fate_of_frame(engine, area, page_number);
}

static void drop(void *owner, page_no page_number)
{
    struct engine *engine = owner;
    const struct protocol *protocol = protocol_of(engine, page_number);

    paging_give_up(engine, page_of(engine, page_number));
    if (protocol->evicted != NULL) {
        protocol->evicted(engine, page_number);
    }
    steps_made(engine, page_number, (struct step_cause){.event = STEP_EVICTED});
}

static void relieve(void *owner)
{
    struct engine *engine = owner;

    engine->is_short = 1; // hot pages are protected like others from now on
    bases_release_early(engine);
}

static uint64_t n_coming(void *owner)
{
    const struct engine *engine = owner;

    return engine->n_fetching;
}

static void fetch_ahead(void *owner, page_no first, page_no n)
{
    engine_fetch_ahead(owner, first, n, 0);
}

static void transfers_ended(void *owner)
{
    struct engine *engine = owner;
    struct deferred *parked;

    bases_brought(engine); // P3
    parked = engine->parked;
    engine->parked = NULL; // those that are to wait come back, in order
    list_take_each (request, parked) {
        if (request->message.type != MESSAGE_fetch ||
            extent_find(engine, request->message.u.fetch.page) != NULL) {
            (void)engine->deliver(engine, request->from, &request->message);
        }
        free(request);
    }
    roster_change_go_on(engine);
    engine_discard_now(engine);
}

struct pager_host engine_pager_host(struct engine *engine)
{
    return (struct pager_host){
        .owner = engine,
        .fate = fate,
        .drop = drop,
        .relieve = relieve,
        .n_coming = n_coming,
        .fetch_ahead = fetch_ahead,
        .transfers_ended = transfers_ended,
    };
}

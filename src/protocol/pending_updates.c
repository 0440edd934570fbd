// SPDX-License-Identifier: BSD-3-Clause
//
// Pending updates: of pages whose bytes are in the swap file, or on their way
// from there. Waiting for the disk would keep the node from everything else for as
// long, so each such item of an update is kept, with its diff, until its page has
// come; the rest of the update is applied at once. Its flight is open meanwhile, so
// who has sent it waits for the acknowledgement, as for a node that is slow.
//
// When pages have come all items are handled as if they came now: a page may have
// been given up or handed to another node. What the protocol needs is:
//
// L1 Items of a page are applied in the order in which they came: while one is kept
//    (page.updates_pending), those behind it are. An atomic operation may have pushed one
//    word twice.
// L2 A page with pending updates stays once it is here, until they are applied (fate() of
//    pager_host.c); so of many only a few are brought at once.
//    No thread looks at a page in between (G6 of mem/pager.c): it may hold a lock that
//    was released behind the update.
// L3 Each kept item counts as one of its flight's `outstanding`.
#include "base/ensure.h"
#include "protocol/updates.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MAX 32u ///< pages brought at once

struct pending_update {
    struct pending_update *next;
    struct flight *flight;
    node_id from;
    struct update_item item;
    uint8_t diff[]; ///< and the writer's clock
};

static void append(struct engine *engine, struct pending_update *pending)
{
    list_append(&engine->updates->pending, pending);
    page_of(engine, pending->item.page)->updates_pending = 1;
}

void pending_updates_add(struct engine *engine, struct flight *flight,
                         node_id from, const struct update_item *item)
{
    struct pending_update *pending =
        malloc(sizeof *pending + item->size + item->writer.size);

    ensure_memory(pending != NULL);
    *pending =
        (struct pending_update){.flight = flight, .from = from, .item = *item};
    memcpy(pending->diff, item->diff, item->size);
    pending->item.diff = pending->diff;
    if (item->writer.clock != NULL) {
        pending->item.writer.clock = pending->diff + item->size;
        memcpy(pending->diff + item->size, item->writer.clock,
               item->writer.size);
    }
    flight->outstanding++; // L3
    flight->n_pending++;
    append(engine, pending);
}

static int has(const page_no *pages, unsigned n, page_no page)
{
    unsigned i = 0;

    while (i < n && pages[i] != page) {
        i++;
    }
    return i < n;
}

void pending_updates_bring(struct engine *engine)
{
    page_no pages[PENDING_MAX];
    unsigned n_waiting = 0;
    unsigned n = 0;

    if (!paging_takes(engine, BROUGHT_MAX)) {
        return;
    }
    for (const struct pending_update *pending = engine->updates->pending.first;
         pending != NULL && n_waiting < PENDING_MAX; pending = pending->next) {
        n_waiting++;
        if (paging_is_out(engine, pending->item.page) &&
            !has(pages, n, pending->item.page)) {
            pages[n++] = pending->item.page;
        }
    }
    paging_bring(engine, pages, n);
}

// Those of one flight that follow each other. @return the first of another
static struct pending_update *apply_run(struct engine *engine,
                                        struct pending_update *pending)
{
    struct flight *flight = pending->flight;
    unsigned n_done = 0;

    while (pending != NULL && pending->flight == flight) {
        struct pending_update *next = pending->next;

        if (paging_is_away(engine, pending->item.page)) {
            append(engine, pending); // L1
        } else {
            update_receive_item(engine, flight, pending->from, &pending->item);
            free(pending);
            n_done++;
        }
        pending = next;
    }
    if (n_done > 0) {
        flight->outstanding -= n_done;
        flight->n_pending -= n_done;
        update_go_on(engine, flight);
    }
    return pending;
}

void pending_updates_apply(struct engine *engine)
{
    struct pending_update *pending = engine->updates->pending.first;

    if (pending == NULL) {
        return;
    }
    engine->updates->pending.first =
        NULL; // those that are to wait come back, in order
    for (const struct pending_update *at = pending; at != NULL; at = at->next) {
        page_of(engine, at->item.page)->updates_pending = 0;
    }
    while (pending != NULL) {
        pending = apply_run(engine, pending);
    }
    pending_updates_bring(engine);
}

void pending_updates_free(struct updates *updates)
{
    list_take_each (pending, updates->pending.first) {
        free(pending);
    }
}

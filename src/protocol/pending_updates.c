// SPDX-License-Identifier: BSD-3-Clause
//
// Updates that are late: of pages whose bytes are in the swap file, or on their way
// from there. Waiting for the disk would keep the node from everything else for as
// long, so each such item of an update is kept, with its diff, until its page has
// come; the rest of the update is applied at once. Its flight is open meanwhile, so
// who has sent it waits for the acknowledgement, as for a node that is slow.
//
// When pages have come all items are looked at as if they came now: a page may have
// been given up or handed to another node. What the protocol needs is:
//
// L1 Items of a page are applied in the order in which they came: while one is kept
//    (page.late), those behind it are. An atomic operation may have pushed one word
//    twice.
// L2 A page that is late stays once it is here, until the next look (fate() of
//    residence.c); so of many only a few are brought at once.
//    No thread looks at a page in between (G6 of mem/pager.c): it may hold a lock that
//    was released behind the update.
// L3 Each kept item counts as one of its flight's `outstanding`.
#include "base/ensure.h"
#include "protocol/updates.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MAX 32u ///< pages brought at once

struct late {
    struct late *next;
    struct flight *flight;
    node_id from;
    struct update_item item;
    uint8_t diff[]; ///< and the writer's clock
};

static void append(struct engine *engine, struct late *late)
{
    late->next = NULL;
    if (engine->updates->first_late == NULL) {
        engine->updates->first_late = late;
    } else {
        engine->updates->last_late->next = late;
    }
    engine->updates->last_late = late;
    page_of(engine, late->item.page)->late = 1;
}

static int must_wait(const struct engine *engine, page_no page)
{
    return page_of(engine, page)->late || paging_is_away(engine, page);
}

int late_keeps(struct engine *engine, struct flight *flight, node_id from,
               const struct update_item *item)
{
    struct late *late;

    if (!must_wait(engine, item->page)) {
        return 0;
    }
    late = malloc(sizeof *late + item->size + item->writer.size);
    ensure_memory(late != NULL);
    *late = (struct late){.flight = flight, .from = from, .item = *item};
    memcpy(late->diff, item->diff, item->size);
    late->item.diff = late->diff;
    if (item->writer.clock != NULL) {
        late->item.writer.clock = late->diff + item->size;
        memcpy(late->diff + item->size, item->writer.clock, item->writer.size);
    }
    flight->outstanding++; // L3
    flight->n_late++;
    append(engine, late);
    return 1;
}

static int has(const page_no *pages, unsigned n, page_no page)
{
    unsigned i = 0;

    while (i < n && pages[i] != page) {
        i++;
    }
    return i < n;
}

void late_bring(struct engine *engine)
{
    page_no pages[LATE_MAX];
    unsigned n_waiting = 0;
    unsigned n = 0;

    if (!paging_takes(engine, BROUGHT_MAX)) {
        return;
    }
    for (const struct late *late = engine->updates->first_late;
         late != NULL && n_waiting < LATE_MAX; late = late->next) {
        n_waiting++;
        if (paging_is_out(engine, late->item.page) &&
            !has(pages, n, late->item.page)) {
            pages[n++] = late->item.page;
        }
    }
    paging_bring(engine, pages, n);
}

// Those of one flight that follow each other. @return the first of another
static struct late *look_at_run(struct engine *engine, struct late *late)
{
    struct flight *flight = late->flight;
    unsigned n_done = 0;

    while (late != NULL && late->flight == flight) {
        struct late *next = late->next;

        if (must_wait(engine, late->item.page)) {
            append(engine, late); // L1
        } else {
            update_receive_item(engine, flight, late->from, &late->item);
            free(late);
            n_done++;
        }
        late = next;
    }
    if (n_done > 0) {
        flight->outstanding -= n_done;
        flight->n_late -= n_done;
        update_look_again(engine, flight);
    }
    return late;
}

void late_look(struct engine *engine)
{
    struct late *late = engine->updates->first_late;

    if (late == NULL) {
        return;
    }
    engine->updates->first_late =
        NULL; // those that are to wait come back, in order
    for (const struct late *at = late; at != NULL; at = at->next) {
        page_of(engine, at->item.page)->late = 0;
    }
    while (late != NULL) {
        late = look_at_run(engine, late);
    }
    late_bring(engine);
}

void late_free(struct updates *updates)
{
    while (updates->first_late != NULL) {
        struct late *next = updates->first_late->next;

        free(updates->first_late);
        updates->first_late = next;
    }
}

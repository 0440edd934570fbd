// SPDX-License-Identifier: BSD-3-Clause
//
// The table of extents, by page: which pages are whose block. When they come and go is
// told in blocks.c.
#include "base/vector.h"
#include "pages/pages.h"
#include "pages/places.h"
#include "pages/protocol.h"

#include <stdlib.h>
#include <string.h>

#define CORE_RUNS 1000u

// So many pages of a block may be asked back, and that part of those given away.
#define BACK_FREE 8u
#define BACK_SHARE 4u

// Index of the first extent that starts above the page.
static size_t upper_bound(const struct engine *engine, page_no page)
{
    size_t low = 0;
    size_t high = engine->n_extents;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (engine->extents[middle].page <= page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int is_in(const struct extent *extent, page_no page)
{
    return page - extent->page < extent->n_pages;
}

// One fault or message looks for its page several times.
struct extent *extent_find(const struct engine *engine, page_no page)
{
    const size_t last = *engine->last;
    size_t index;

    if (last < engine->n_extents && is_in(&engine->extents[last], page)) {
        return &engine->extents[last];
    }
    index = upper_bound(engine, page);
    if (index == 0 || !is_in(&engine->extents[index - 1], page)) {
        return NULL;
    }
    *engine->last = index - 1;
    return &engine->extents[index - 1];
}

int extent_has(const struct engine *engine, page_no page, page_no n)
{
    const struct extent *extent = extent_find(engine, page);

    return extent != NULL && n <= extent->page + extent->n_pages - page;
}

const struct extent *engine_extent(const struct engine *engine, page_no page)
{
    return extent_find(engine, page);
}

const struct extent *engine_extent_below(const struct engine *engine,
                                         page_no page)
{
    size_t index = upper_bound(engine, page);

    return index == 0 ? NULL : &engine->extents[index - 1];
}

void engine_keep_in_core(struct engine *engine)
{
    unsigned n_runs = CORE_RUNS;

    for (size_t i = 0; i < engine->n_extents; i++) {
        space_keep_in_core(engine->space, engine->extents[i].page,
                           engine->extents[i].n_pages, &n_runs);
    }
}

struct extent *extent_at(const struct engine *engine, page_no page)
{
    struct extent *extent = extent_find(engine, page);

    return extent != NULL && extent->page == page && extent->serial != 0
               ? extent
               : NULL;
}

// Are its copies old until their node hears what it comes after?
static int are_copies_unpushed(const struct extent *extent)
{
    return extent->row->is_fresh != NULL;
}

void extent_insert(struct engine *engine, const struct extent *extent)
{
    size_t index = upper_bound(engine, extent->page);

    vector_reserve(engine->extents, engine->extents_room,
                   engine->n_extents + 1);
    memmove(&engine->extents[index + 1], &engine->extents[index],
            (engine->n_extents - index) * sizeof *extent);
    engine->extents[index] = *extent;
    places_add(engine, &engine->extents[index]);
    engine->extents[index].row =
        protocol_by_id(engine->protocols, extent->protocol);
    engine->n_extents++;
    engine->n_unpushed += are_copies_unpushed(&engine->extents[index]);
}

void extent_remove(struct engine *engine, struct extent *extent)
{
    size_t index = (size_t)(extent - engine->extents);

    places_remove(engine, extent);
    engine->n_unpushed -= are_copies_unpushed(extent);
    engine->n_extents--;
    memmove(&engine->extents[index], &engine->extents[index + 1],
            (engine->n_extents - index) * sizeof *extent);
}

// A node that asks for what it has given away finds out that the pages of that block are of
// use on both sides. Some of them are in each: those where the parts of two nodes meet.
int extent_asks_back(const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent->n_asked_back > BACK_FREE &&
           extent->n_asked_back > extent->n_away / BACK_SHARE;
}

void extent_forget_asked_back(struct engine *engine, page_no page)
{
    struct extent *extent = extent_find(engine, page);

    extent->n_away = 0;
    extent->n_asked_back = 0;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that are given up together: their access is lowered in as few calls of the system
// as there are runs of neighbours.
//
// C1 A dirty copy that is to be dirty no more is diffed when it can be written no more; a
//    release ends after such diffs.
// C2 A copy that its node has written is of the version that its diff has made if it was of
//    the one before; else it lacks what others have written meanwhile, and becomes stale,
//    unless that is pushed to it.
#include "protocol/copies.h"
#include "protocol/notices.h"
#include "protocol/refresh.h"

#include <stdlib.h>

// Those of the list that are there still, in order, each once.
static void sort_copies(const struct engine *engine, struct page_list *copies)
{
    size_t kept = 0;

    if (copies->n == 0) {
        return; // there may be no list
    }
    qsort(copies->at, copies->n, sizeof *copies->at, page_no_compare);
    for (size_t i = 0; i < copies->n; i++) {
        const struct page *page = page_of(engine, copies->at[i]);

        if (page->state != PAGE_ABSENT && !page->is_owner &&
            (kept == 0 || copies->at[kept - 1] != copies->at[i])) {
            copies->at[kept++] = copies->at[i];
        }
    }
    copies->n = kept;
}

// Of all that are on the sorted list, or of the dirty ones; neighbours in one call.
static void lower_access(struct engine *engine, const struct page_list *copies,
                         enum page_access access, int only_dirty)
{
    size_t i = 0;

    while (i < copies->n) {
        size_t n = 0;

        while (i + n < copies->n && copies->at[i + n] == copies->at[i] + n &&
               (!only_dirty ||
                page_of(engine, copies->at[i + n])->state == PAGE_DIRTY)) {
            n++;
        }
        if (n > 0) {
            space_set_access(engine->space, copies->at[i], n, access);
        }
        i += n > 0 ? n : 1;
    }
}

static void end_copy(struct engine *engine, page_no page_number, int is_kept)
{
    struct page *page = page_of(engine, page_number);

    page->state = PAGE_ABSENT;
    page_use_of(page)->hot = 0;
    steps_made(engine, page_number, (struct step_cause){.event = STEP_DROPS});
    if (is_kept && refresh_keeps(engine, page_number)) {
        page->stale = 1;
        return;
    }
    engine->stats.copies_dropped++;
    engine_discard_later(engine, page_number);
}

static void end_copies(struct engine *engine, struct page_list *copies,
                       int are_kept)
{
    sort_copies(engine, copies);
    if (copies->n == 0) {
        return;
    }
    lower_access(engine, copies, ACCESS_NONE, 0);
    release_now(engine, copies); // C1
    for (size_t i = 0; i < copies->n; i++) {
        end_copy(engine, copies->at[i], are_kept);
    }
    copies->n = 0;
    engine_discard_now(engine);
}

void copies_drop(struct engine *engine, struct page_list *copies)
{
    end_copies(engine, copies, 0);
}

void copies_make_stale(struct engine *engine, struct page_list *copies)
{
    end_copies(engine, copies, 1);
}

void copies_clean(struct engine *engine, struct page_list *copies)
{
    sort_copies(engine, copies);
    lower_access(engine, copies, ACCESS_READ, 1);
    release_now(engine, copies); // C1
}

void copies_applied(struct engine *engine, page_no page_number,
                    uint32_t version)
{
    struct page *page = page_of(engine, page_number);

    notices_note(engine, page_number, version, engine->port->self);
    if (page->base + 1 == version) {
        page->base = version;
    } else if ((int32_t)(version - page->base) > 0 && !page->subscribed) { // C2
        struct page_list copies = {&page_number, 1, 1};

        copies_make_stale(engine, &copies);
    }
}

static int is_copy(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->state != PAGE_ABSENT && !page->is_owner && !page->subscribed;
}

static void add_copies(const struct engine *engine, const struct extent *extent,
                       struct page_list *copies)
{
    for (page_no at = extent->page; at < extent->page + extent->n_pages; at++) {
        if (is_copy(engine, at)) {
            page_list_add(copies, at);
        }
    }
}

static struct page_list find_copies(const struct engine *engine,
                                    const struct protocol *row)
{
    struct page_list copies = {NULL, 0, 0};

    for (size_t i = 0; i < engine->n_extents; i++) {
        if (engine->extents[i].row == row) {
            add_copies(engine, &engine->extents[i], &copies);
        }
    }
    return copies;
}

// Of all protocols whose copies can be old.
static void end_all(struct engine *engine,
                    void (*end)(struct engine *engine,
                                struct page_list *copies))
{
    for (unsigned i = 0; i < engine->protocols->n; i++) {
        const struct protocol *row = engine->protocols->rows[i];

        if (row->is_fresh != NULL) {
            struct page_list copies = find_copies(engine, row);

            end(engine, &copies);
            free(copies.at);
        }
    }
}

void copies_clean_all(struct engine *engine)
{
    end_all(engine, copies_clean);
}

static void discard_stale(struct engine *engine, const struct extent *extent)
{
    for (page_no at = extent->page; at < extent->page + extent->n_pages; at++) {
        refresh_discard(engine, at);
    }
}

void copies_drop_all(struct engine *engine)
{
    end_all(engine, copies_drop);
    for (size_t i = 0; i < engine->n_extents; i++) {
        if (engine->extents[i].row->is_fresh != NULL) {
            discard_stale(engine, &engine->extents[i]);
        }
    }
    engine_discard_now(engine);
}

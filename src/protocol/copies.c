// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that are given up together: their access is lowered in as few calls of the system
// as there are runs of neighbours.
//
// C1 A dirty copy that is to be dirty no more is diffed when it can be written no more; a
//    release ends after such diffs.
#include "protocol/copies.h"
#include "protocol/updates.h"

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

void copies_drop(struct engine *engine, struct page_list *copies)
{
    sort_copies(engine, copies);
    if (copies->n == 0) {
        return;
    }
    lower_access(engine, copies, ACCESS_NONE, 0);
    release_now(engine, copies); // C1
    for (size_t i = 0; i < copies->n; i++) {
        page_of(engine, copies->at[i])->state = PAGE_ABSENT;
        engine->stats.copies_dropped++;
        engine_discard_later(engine, copies->at[i]);
    }
    copies->n = 0;
    engine_discard_now(engine);
}

void copies_clean(struct engine *engine, struct page_list *copies)
{
    sort_copies(engine, copies);
    lower_access(engine, copies, ACCESS_READ, 1);
    release_now(engine, copies); // C1
}

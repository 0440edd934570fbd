// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_PLACES_H
#define PAGES_PLACES_H

#include "pages/pages.h"

/*
 * What happens to pages, counted by the place in the program that their block was allocated
 * at: for --report. Blocks that come and go in a loop are of one place. Nothing is counted
 * before engine_count_places(). Under the node lock.
 */

/** An extent comes: of which place is it? Also of those that were there before. */
void places_add(struct engine *engine, struct extent *extent);
void places_remove(struct engine *engine, const struct extent *extent);

/** See place_note(). @param extent  of the page; NULL: there is none any more */
void places_note(struct engine *engine, const struct extent *extent,
                 page_no page, enum place_event event);

/** Something happens to a page. */
static inline void place_note(struct engine *engine, page_no page,
                              enum place_event event)
{
    if (__builtin_expect(engine->places != NULL, 0)) {
        places_note(engine, extent_find(engine, page), page, event);
    }
}

#endif

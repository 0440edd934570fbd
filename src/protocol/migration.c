// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that migrate, after [Stenstrom93] and [Cox93]: data that go round with a mutex, say. Who
// misses such a page will write it, so it is given to that node with its ownership (hand_on.c).
// The program may say so of a block (sharing.c); here it is found out, page by page.
//
//   no       -> perhaps    a node asks for the page, then writes it, and another wrote last
//   perhaps  -> migrates   the same again
//   migrates -> no         its owner is asked for it, and has not written it since it came; or
//                          others read it together, or write it without asking
//
// Two nodes alone that use a page in turn are no such case: each always has a copy, so what has
// changed goes with a push, or is asked for, in fewer messages than a page with its ownership.
#include "protocol/migration.h"

#include "protocol/choices.h"

// So often, one after the other.
#define ENOUGH 2u

// So many nodes, beside the owner, have had the page.
#define ENOUGH_OTHERS 2u

int migration_is_on(const struct engine *engine, page_no page)
{
    return page_use_of(page_of(engine, page))->migrations >= ENOUGH;
}

void migration_goes_on(struct engine *engine, page_no page_number,
                       uint32_t n_others)
{
    struct page *page = page_of(engine, page_number);
    struct page_use *use = page_use_of(page);
    const unsigned most = n_others < ENOUGH_OTHERS ? ENOUGH - 1 : ENOUGH;

    if (use->migrations < most && copyset_is_empty(page)) {
        use->migrations++;
    }
    if (use->migrations == ENOUGH) {
        use->has_written = 1;
        page->moves = MOVES_MIGRATES;
    }
}

void migration_breaks(struct engine *engine, page_no page)
{
    if (migration_is_on(engine, page)) {
        choices_of(engine, page)->n_stayed++;
    }
    page_use_of(page_of(engine, page))->migrations = 0;
}

void migration_begins(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    page_use_of(page)->migrations =
        migration_has_begun(engine, page_number) ? ENOUGH : 0;
}

int migration_has_begun(const struct engine *engine, page_no page)
{
    return page_of(engine, page)->moves == MOVES_MIGRATES;
}

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
#include "protocol/migration.h"

#include "protocol/choices.h"

// So often, one after the other.
#define ENOUGH 2u

int migration_is_on(const struct engine *engine, page_no page)
{
    return page_use_of(page_of(engine, page))->migrations >= ENOUGH;
}

void migration_goes_on(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct page_use *use = page_use_of(page);

    if (use->migrations < ENOUGH && copyset_is_empty(page)) {
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

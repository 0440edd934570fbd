// SPDX-License-Identifier: BSD-3-Clause
//
// lazy-release (protocols.md; the consistency of TreadMarks, [Keleher92], with a home for
// each page, its owner, as in HLRC, [Zhou96]): several nodes write a page at once, each
// copy against its twin. A release sends the differing bytes to the page's owner and to
// nobody else (homes.c has the states of a page, Z3, Z6 and Z7); which pages were written is
// told by write notices (notices.c), which travel in front of all that lets other threads
// go on. A copy that is named by one is stale: it is absent, and what has changed is asked for
// when it is used (refresh.c). What was not written is kept, and what is used by one node
// only costs nothing.
//
// Z1 Who is ordered after a release hears its notices first: N2.
// Z2 The owner has the diffs before anybody hears of them: N1.
// Z4 A dirty copy that is named is diffed when it can be written no more, then stale.
// Z5 A writer's copy is of the version that its diff has made if it was of the one before;
//    else it lacks what others have written meanwhile, and is stale: no notice would name
//    these versions to a node that has made a later one.
// Z8 When nodes come or go no copy is dirty; when they have there is none at all, and
//    no notice.
#include "protocol/copies.h"
#include "protocol/homes.h"
#include "protocol/notices.h"
#include "protocol/protocol_rows.h"
#include "protocol/recent.h"
#include "protocol/refresh.h"

static enum serve_result serve(struct engine *engine, page_no page_number,
                               const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (homes_move(engine, page_number, request)) {
        return SERVED;
    }
    if (page->state == PAGE_EXCLUSIVE) {
        update_seal(engine, page_number);
        page->state = PAGE_CLEAN;
    }
    refresh_send_copy(engine, page_number, request, 0);
    return SERVED;
}

// Z6
static void wrote(struct engine *engine, page_no page)
{
    if (homes_stays(engine, page)) {
        notices_note(engine, page, page_of(engine, page)->version,
                     engine->port->self);
    }
}

static void noticed(struct engine *engine, struct page_list *pages)
{
    copies_make_stale(engine, pages); // Z4
}

static const struct update_rules rules = {
    .to_owner = homes_to_owner,
    // may_hand: Z7
    .applied = copies_applied, // Z5
    .wrote = wrote,
    .noticed = noticed,
};

const struct protocol protocol_lazy_release = {
    .name = "lazy-release",
    .id = TM_LAZY_RELEASE,
    .base = &updates_base,
    .updates = &rules,
    .local_fault = homes_local_fault,
    .serve = serve,
    .is_fresh = homes_is_fresh,
    .refetch = refresh_ask,
    .arrived = homes_arrived,
    .state_alone = protocol_state_alone,
};

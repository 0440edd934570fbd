// SPDX-License-Identifier: BSD-3-Clause
//
// A page that migrates (migration.c) is handed on to who asks for it, and with its ownership: the
// diff that would follow, and its acknowledgement, are saved.
//
// When it is found out there are copies. They are called back, so that they are not written any
// more (recall.c), and ownership goes to who has the last one that is, with the acknowledgement of
// its diff (A3). From then on it goes when it is asked for. Where the page was a copy stays, so
// that what else is in the page can be read until its node hears that it is old. Then it is stale,
// and its node asks for what has changed (refresh.c) when the page comes back; what is known of
// that goes along with the page (recent.c). Nobody knows who has such copies, so each version makes
// a notice from then on; and they are not written, since the diff might find the page anywhere.
// Who owns the page is told with the notices, which go with the mutex: so requests go straight
// there.
//
// An owner writes it against a twin, so that it is known what has changed, and whether anything has.
// All that is written is of a new version, as A5 has it.
//
// A8 A page that migrates goes only when no node but the requester may have a copy that is written,
//    and no diff of it is on the way: none of its owner's, none of others'.
// A9 A copy that has stayed is clean, and given up before its node writes the page. Each version of
//    a page that has gone so makes a notice.
// A10 The page goes in a version that has all of its bytes: what its owner has not released makes one.
#include "protocol/hand_on.h"

#include "mem/diff.h"
#include "protocol/choices.h"
#include "protocol/copies.h"
#include "protocol/guards.h"
#include "protocol/migration.h"
#include "protocol/readers.h"
#include "protocol/recent.h"
#include "protocol/refresh.h"

// ---- it goes on

// A10
void hand_on_seal(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    uint8_t diff[DIFF_MAX];
    size_t size;

    if (page->access == ACCESS_WRITE) {
        space_set_access(engine->space, page_number, 1, ACCESS_READ);
    }
    if (page->state == PAGE_EXCLUSIVE) {
        update_seal(engine, page_number);
        page_use_of(page)->has_written = 1; // it may have been, unseen
    } else if (page->state == PAGE_DIRTY) {
        size = diff_encode(space_bytes(engine->space, page_number), page->twin,
                           diff);
        if (size > 0) {
            update_wrote(engine, page_number, diff, size);
        }
        release_drop_twin(engine, page);
    }
    page->state = PAGE_CLEAN;
}

// A8
int hand_on_is_free(const struct engine *engine, page_no page_number,
                    node_id node)
{
    const struct page *page = page_of(engine, page_number);

    return copyset_is_empty(page) && page->pushing == 0 &&
           page->in_flight == 0 && !page->fetching && !engine->is_frozen &&
           race_of(engine) == NULL &&
           !readers_have_others(engine, page_number, node);
}

// Of this node, too: only what is clean goes with the acknowledgement of a diff.
// (Calls of a request for many pages go together, behind the answer.)
static void call_back(struct engine *engine, page_no page_number,
                      const struct fetch_request *request)
{
    const struct page *page = page_of(engine, page_number);

    readers_call_back(engine, page_number, request->requester, RECALL_WRITES);
    if (request->answer == NULL) {
        recall_send(engine);
    }
    if (copyset_is_empty(page) && !engine->is_frozen) {
        hand_on_seal(engine, page_number);
    }
}

int hand_on(struct engine *engine, page_no page_number,
            const struct fetch_request *request)
{
    struct page *page = page_of(engine, page_number);

    if (!migration_is_on(engine, page_number) ||
        (request->is_ahead && request->answer == NULL)) {
        return 0;
    }
    if (!hand_on_is_free(engine, page_number, request->requester)) {
        call_back(engine, page_number, request);
        return 0;
    }
    hand_on_seal(engine, page_number);
    if (!page_use_of(page)->has_written) {
        migration_breaks(engine, page_number);
        return 0;
    }
    choices_of(engine, page_number)->n_migrated++;
    readers_end(engine, page_number, request->requester);
    refresh_send_away(engine, page_number, request);
    return 1;
}

// ---- it comes back

void hand_on_called(struct engine *engine, struct page_list *pages)
{
    copies_clean(engine, pages);
    for (size_t i = 0; i < pages->n; i++) {
        page_use_of(page_of(engine, pages->at[i]))->is_left = 1;
    }
}

int hand_on_gives_up(struct engine *engine, page_no page_number)
{
    struct page_list copies = {&page_number, 1, 1};

    if (!page_use_of(page_of(engine, page_number))->is_left) {
        return 0;
    }
    copies_make_stale(engine, &copies); // A9
    return 1;
}

void hand_on_arrived(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (!migration_has_begun(engine, page_number)) {
        return;
    }
    if (page->waiters != NULL) {
        guards_missed(engine, page_number);
    }
    migration_begins(engine, page_number);
    page_use_of(page)->has_written = 0;
    if (!recent_is_kept(engine, page_number)) {
        recent_given(engine, page_number);
    }
    page->state = PAGE_CLEAN;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Who waits for a page goes on, and who waits for an answer of another node.
#include "base/log.h"
#include "pages/pages.h"

// Those that came first, first; but before all others those that have missed the
// page: else a thread that runs on with it until it goes, and asks for it again at
// once, would always be before them.
void engine_wake(struct page *page)
{
    struct waiter *lists[2] = {NULL, NULL}; // late, not late

    list_take_each (last, page->waiters) {
        list_push(lists[!last->is_late], last);
    }
    waiter_wake_all(lists[0]);
    waiter_wake_all(lists[1]);
}

void engine_settle(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct extent *extent = extent_find(engine, page_number);

    if (!page->fetching) {
        return;
    }
    steps_so_far(engine, page_number);
    page->fetching = 0;
    page->queues = 0;
    page->want_write = 0;
    steps_made(engine, page_number, (struct step_cause){.event = STEP_SETTLED});
    engine->n_fetching--;
    if (extent != NULL) {
        extent->n_fetching--;
        blocks_check_closing(engine, extent);
    }
    engine_wake(page);
    page_run_deferred(engine, page_number);
}

void engine_finished(struct engine *engine)
{
    if (engine->n_unfinished == 0) {
        blocks_check_all(engine);
    }
}

// ---- answers

uint32_t engine_await(struct engine *engine, struct waiter *waiter,
                      enum message_type answer)
{
    waiter->result = answer; // until it comes
    return tokens_give(&engine->tokens, waiter);
}

struct waiter *engine_answered(struct engine *engine, enum message_type answer,
                               uint32_t token)
{
    struct waiter *waiter = tokens_find(&engine->tokens, token);

    return waiter != NULL && waiter->result == answer ? waiter : NULL;
}

void engine_refuse_part(struct engine *engine, page_no page, const char *what)
{
    if (engine->stats.bad_messages++ < LOG_REFUSED_MAX) {
        log_error("%s for page %llu is refused", what,
                  (unsigned long long)page);
    }
}

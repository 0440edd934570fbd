// SPDX-License-Identifier: BSD-3-Clause
//
// What a writer keeps is bounded (Z15 of homeless.c): it has the page's owner get all diffs, and
// drops its own when that has them. An owner drops its own at any time.
//
//   kept         kept_bound(): too much          -> going home
//   going home   the owner has them (`home`)     -> kept, or none is left
#include "protocol/kept_bound.h"

#include "mem/diff.h"
#include "protocol/notices.h"

// Of a page a writer keeps no more diffs than one of all of it may take.
#define KEPT_MAX DIFF_MAX

void kept_send_home(struct engine *engine, page_no page, node_id to,
                    int is_there, uint64_t stamp)
{
    const struct message message = {
        .type = MESSAGE_home,
        .u.home = {.page = page,
                   .is_there = (uint8_t)(is_there != 0),
                   .stamp = stamp},
    };

    steps_sent(engine, page, is_there ? STEP_SENT_AT_HOME : STEP_SENT_HOME, to);
    port_send(engine->port, to, &message);
}

static void ask_home(struct engine *engine, struct kept_page *record)
{
    const node_id owner = fetch_route(engine, record->page);

    if (!record->is_going_home) {
        record->is_going_home = 1;
        engine->n_unfinished++;
        notices_send(engine, owner, NO_MUTEX); // Z11: and of all before
        kept_send_home(engine, record->page, owner, 0, 0);
    }
}

int kept_is_of_freed(const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent == NULL || extent->is_closed;
}

// Drop all as soon as the page's owner has them, or at once if that is this node: Z15.
static void let_diffs_go(struct engine *engine, struct kept_page *record)
{
    if (record->own == NULL) {
        return;
    }
    if (kept_is_of_freed(engine, record->page)) {
        kept_drop(record, kept_newest(record));
    } else if (page_of(engine, record->page)->is_owner) {
        kept_drop(record, kept_has(record, engine->port->self));
    } else {
        ask_home(engine, record);
    }
}

void kept_bound(struct engine *engine, struct kept_page *record)
{
    if (record->n_bytes > KEPT_MAX || engine->is_short || engine->is_frozen) {
        let_diffs_go(engine, record);
    }
}

void kept_let_all_go(struct engine *engine)
{
    for (struct kept_page *at = kept_first(engine); at != NULL; at = at->next) {
        let_diffs_go(engine, at);
        steps_made_run(engine, at->page, 1, STEP_LETS_DIFFS_GO);
    }
}

void kept_relieve(struct engine *engine)
{
    if (kept_first(engine) == NULL || engine->updates->is_relieved) {
        return;
    }
    engine->updates->is_relieved = 1;
    for (struct kept_page *at = kept_first(engine); at != NULL; at = at->next) {
        kept_drop_others(at);
    }
    kept_let_all_go(engine);
}

tm_status kept_receive_home(struct engine *engine, page_no page, uint64_t stamp)
{
    struct kept_page *record = kept_find(engine, page);

    if (record == NULL || !record->is_going_home) {
        return TM_EWIRE;
    }
    record->is_going_home = 0;
    kept_drop(record, stamp);
    kept_bound(engine, record);
    engine->n_unfinished--;
    engine_finished(engine);
    return TM_OK;
}

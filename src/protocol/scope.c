// SPDX-License-Identifier: BSD-3-Clause
//
// scope (protocols.md; scope consistency, [Iftode96], with homes and write notices as in
// JIAJIA, [Hu99]): as lazy-release, but with the token of a mutex go only the notices of
// what was written while that mutex was held (scopes.c). Who locks it sees all that, and
// perhaps no more: a copy of what was written under other mutexes, or under none, stays.
// All other messages that let threads go on carry all notices: barriers, threads that begin
// or end, semaphores, signals, reader-writer locks, atomic operations, allocations. So it
// is weaker than what teamster.h promises, and it is for blocks of which a program says so.
//
// J1 With a mutex's token go notices of all that was written under it: U1, U3. All other
//    orders are told as with lazy-release: Z1.
// J2 An owner's page is clean, so that a write to it is seen, from when a copy of it goes
//    out; also when it has been written since, and its release has made a version. (With
//    lazy-release it may be written then without being seen, since whoever comes after that
//    has heard of the version that was made. Here a node may not have, and is to hear of it
//    with the mutex under which the page is written next.)
// J3 What was written before somebody hears of it is in the owner's page: Z2. Copies that
//    are older than what their node has heard of are not used: Z3, Z4, Z5. Owners stay, and
//    nodes come and go, as Z7 and Z8.
#include "protocol/copies.h"
#include "protocol/homes.h"
#include "protocol/notices.h"
#include "protocol/protocol_rows.h"
#include "protocol/scopes.h"

static int local_fault(struct engine *engine, page_no page, int is_write)
{
    scopes_begin(engine);
    return homes_local_fault(engine, page, is_write);
}

// Copies that are old are dropped, so pages come whole: nobody follows what changes of them.
static enum serve_result serve(struct engine *engine, page_no page,
                               const struct fetch_request *request)
{
    if (request->requester == engine->port->self) {
        return REFUSED; // it has the page already
    }
    if (!homes_move(engine, page, request)) {
        page_of(engine, page)->state = PAGE_CLEAN;
        fetch_send_copy(engine, page, request->requester, 0);
    }
    return SERVED;
}

static void arrived(struct engine *engine, page_no page, int want_write)
{
    scopes_begin(engine);
    homes_arrived(engine, page, want_write);
}

// J2
static void wrote(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (!homes_stays(engine, page_number)) {
        return;
    }
    if (page->access == ACCESS_WRITE) {
        space_set_access(engine->space, page_number, 1, ACCESS_READ);
    }
    page->state = PAGE_CLEAN;
    notices_note(engine, page_number, page->version, engine->port->self);
}

static const struct update_rules rules = {
    .to_owner = homes_to_owner,
    // may_hand: Z7
    .applied = copies_applied, // Z5
    .wrote = wrote,
    .noticed = copies_drop, // Z4
    .is_scoped = 1,
};

const struct protocol protocol_scope = {
    .name = "scope",
    .id = TM_SCOPE,
    .base = &updates_base,
    .updates = &rules,
    .local_fault = local_fault,
    .serve = serve,
    .is_fresh = homes_is_fresh,
    .arrived = arrived,
    .state_alone = protocol_state_alone,
};

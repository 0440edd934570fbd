// SPDX-License-Identifier: BSD-3-Clause
//
// What a node does with diffs that come (protocols.md, section 3). What an item of an
// update means for a page is for its protocol to say (update_rules); here is what is
// common to all of them: the message is read as a whole before anything is done, what is
// passed on is one flight, and its sender is acknowledged when that has ended, with what
// it is to know: copies that were given up here, and pages whose ownership goes to it.
#include "protocol/updates.h"
#include "mem/diff.h"
#include "protocol/choices.h"
#include "protocol/copies.h"
#include "protocol/gather.h"
#include "protocol/guards.h"
#include "protocol/kept.h"
#include "protocol/kept_bound.h"
#include "protocol/migration.h"
#include "protocol/notices.h"
#include "protocol/readers.h"
#include "protocol/recall.h"
#include "protocol/recent.h"
#include "protocol/refresh.h"
#include "protocol/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "pages/causality.h"

// A copy that is used is unmapped again after 1, 2, 4, ... pushes: 2 to the power of this at most.
#define PROBE_STEPS_MAX 6u

#define HANDED_ITEM                                                            \
    ((size_t)WIRE_SIZE_ack_item + WIRE_SIZE_handed + NODE_SET_BYTES_MAX)
#define APPLIED_ITEM ((size_t)WIRE_SIZE_ack_item + WIRE_SIZE_applied)

void update_wrote(struct engine *engine, page_no page, const void *diff,
                  size_t size)
{
    const struct update_rules *rules = update_rules_of(engine, page);

    if (rules != NULL && rules->keep != NULL) {
        rules->keep(engine, page, diff, size);
        return;
    }
    page_of(engine, page)->version++;
    recent_owner_wrote(engine, page, diff, size);
    if (rules != NULL && rules->wrote != NULL) {
        rules->wrote(engine, page);
    }
}

void update_seal(struct engine *engine, page_no page)
{
    if (page_of(engine, page)->listed) {
        update_wrote(engine, page, NULL, 0);
    }
}

void update_note_use(struct page *page)
{
    struct page_use *use = page_use_of(page);

    if (use->probe_steps <= PROBE_STEPS_MAX) {
        use->probe_steps++;
    }
    use->probe_in = (uint8_t)(1u << (use->probe_steps - 1u));
    use->unread = 0;
}

static int has_updates(const struct engine *engine, page_no page)
{
    return update_rules_of(engine, page) != NULL;
}

static enum handing may_hand(const struct engine *engine,
                             const struct flight_page *item, node_id to)
{
    const struct update_rules *rules = update_rules_of(engine, item->page);

    return item->may_hand && rules != NULL && rules->may_hand != NULL
               ? rules->may_hand(engine, item->page, to)
               : HAND_NOT;
}

// ---- acknowledging

static void end_ownership(struct engine *engine, page_no page_number,
                          enum handing handing)
{
    struct page *page = page_of(engine, page_number);

    if (handing == HAND_AND_KEEP) { // a copy as any
        page->subscribed = 1;
        page->base = page->version;
        memset(page->own, 0, sizeof page->own);
        return;
    }
    if (page->access != ACCESS_NONE) {
        space_set_access(engine->space, page_number, 1, ACCESS_NONE);
    }
    page->state = PAGE_ABSENT;
    engine_discard_later(engine, page_number);
}

// Ownership goes to the sender of the update with its acknowledgement.
static void hand_over(struct engine *engine, struct wire_writer *writer,
                      page_no page_number, node_id to, enum handing handing)
{
    struct page *page = page_of(engine, page_number);
    struct node_set copies;
    uint8_t bytes[NODE_SET_BYTES_MAX];

    copyset_remove(engine, page, to);
    readers_end(engine, page_number, to);
    copies = copyset_of(page);
    if (handing == HAND_AND_KEEP) {
        node_set_add(&copies, engine->port->self);
    }
    page->epoch++;
    wire_put_ack_item(writer, &(struct wire_ack_item){page_number, ACK_HANDED});
    wire_put_handed(
        writer,
        &(struct wire_handed){
            .version = page->version,
            .epoch = page->epoch,
            .moves = page->moves,
            .copies = {bytes, (uint16_t)node_set_encode(&copies, bytes)},
        });
    copyset_clear(engine, page);
    page->is_owner = 0;
    page->hint = (uint16_t)(to + 1);
    end_ownership(engine, page_number, handing);
    steps_sent(engine, page_number, STEP_SENT_HANDED, to);
    steps_made(engine, page_number,
               (struct step_cause){.event = STEP_HAND_OVER, .who = to});
}

static void send_ack(struct engine *engine, const struct flight *flight,
                     const uint8_t *body, const struct wire_writer *writer,
                     int is_last)
{
    struct message message = {
        .type = MESSAGE_update_ack,
        .u.update_ack = {.batch = flight->batch, .is_last = is_last != 0},
        .body = body,
        .body_size = (uint32_t)(writer->at - body),
    };

    port_send(engine->port, flight->reply_to, &message);
}

// A part of the acknowledgement that is full goes.
static void make_room(struct engine *engine, const struct flight *flight,
                      uint8_t *body, struct wire_writer *writer, size_t size)
{
    if ((size_t)(writer->end - writer->at) < size) {
        send_ack(engine, flight, body, writer, 0);
        writer->at = body;
    }
}

static void report_list(struct engine *engine, const struct flight *flight,
                        uint8_t *body, struct wire_writer *writer,
                        struct page_list *pages, unsigned what)
{
    for (size_t i = 0; i < pages->n; i++) {
        make_room(engine, flight, body, writer, WIRE_SIZE_ack_item);
        wire_put_ack_item(writer,
                          &(struct wire_ack_item){pages->at[i], (uint8_t)what});
    }
    pages->n = 0;
}

// What is told at once. Copies given up here: the next request for such a page must
// not overtake the news that it was dropped (E2). Pages that go to the origin without
// having been changed here: nobody may be served from the old bytes.
static void report_early(struct engine *engine, struct flight *flight)
{
    uint8_t body[4096];
    struct wire_writer writer = {body, body + sizeof body, 0};

    report_list(engine, flight, body, &writer, &flight->dropped, ACK_DROPPED);
    report_list(engine, flight, body, &writer, &flight->left, ACK_LEFT);
    for (size_t i = 0; i < flight->handed.n; i++) {
        if (!page_of(engine, flight->handed.at[i])->is_owner) {
            continue; // the update named it twice, and it has gone
        }
        make_room(engine, flight, body, &writer, HANDED_ITEM);
        hand_over(engine, &writer, flight->handed.at[i], flight->origin,
                  HAND_AND_DROP);
    }
    if (writer.at > body) {
        send_ack(engine, flight, body, &writer, 0);
    }
    flight->handed.n = 0;
}

static void tell_version(struct wire_writer *writer,
                         const struct flight_page *item)
{
    wire_put_ack_item(writer, &(struct wire_ack_item){item->page, ACK_APPLIED});
    wire_put_applied(writer, &(struct wire_applied){item->version});
}

static void relay_arrived(struct engine *engine, struct flight *flight)
{
    uint8_t body[4096];
    struct wire_writer writer = {body, body + sizeof body, 0};

    for (size_t i = 0; i < flight->n_pages; i++) {
        const struct flight_page *item = &flight->pages[i];

        const enum handing handing = may_hand(engine, item, flight->origin);

        if (handing != HAND_NOT) {
            make_room(engine, flight, body, &writer, HANDED_ITEM);
            hand_over(engine, &writer, item->page, flight->origin, handing);
        }
        if (item->tells) {
            make_room(engine, flight, body, &writer, APPLIED_ITEM);
            tell_version(&writer, item);
        }
    }
    send_ack(engine, flight, body, &writer, 1);
}

static const struct flight_kind relay = {
    .has_follower = flight_goes_alone,
    .departed = flight_leaves_it,
    .arrived = relay_arrived,
    .ended = flight_ends_so,
};

static void depart(struct engine *engine, struct flight *flight)
{
    report_early(engine, flight);
    flight_depart(engine, flight);
}

// ---- an update comes

// @return 0 there is none, or it is malformed
static int read_one(struct wire_reader *reader, struct update_item *item)
{
    const struct wire_update_item got = wire_get_update_item(reader);

    *item = (struct update_item){
        .page = got.page,
        .version = got.version,
        .epoch = got.epoch,
        .kind = got.kind,
        .size = got.diff.size,
        .diff = got.diff.at,
    };
    return !reader->failed && item->kind <= ITEM_WRITER;
}

// The same, with what is said of its writer before it.
static int read_item(struct wire_reader *reader, struct update_item *item)
{
    struct race_writer writer;

    if (!read_one(reader, item) || item->kind != ITEM_WRITER) {
        return !reader->failed && item->kind < ITEM_WRITER;
    }
    writer = (struct race_writer){item->page, item->diff, item->size};
    if (!read_one(reader, item) || item->kind == ITEM_WRITER) {
        return 0;
    }
    item->writer = writer;
    return 1;
}

// Its writer is named if races are looked for, and only then; but for what atomic
// operations have written.
static int has_good_writer(const struct engine *engine,
                           const struct update_item *item)
{
    if (item->writer.clock == NULL) {
        return race_of(engine) == NULL || item->kind == ITEM_PUSH;
    }
    return race_of(engine) != NULL &&
           clock_bytes_are_good(item->writer.clock, item->writer.size);
}

static int is_well_formed(const struct engine *engine,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct update_item item;

    while (reader.at < reader.end) {
        if (!read_item(&reader, &item) || !has_good_writer(engine, &item)) {
            return 0;
        }
    }
    return 1;
}

void update_receive_item(struct engine *engine, struct flight *flight,
                         node_id from, const struct update_item *item)
{
    const struct update_rules *rules = update_rules_of(engine, item->page);
    struct step_cause before;

    if (rules == NULL) {
        return; // the program has freed what it still wrote to
    }
    before = steps_begin(
        engine, (struct step_cause){
                    .event = item->kind == ITEM_PUSH ? STEP_PUSHED : STEP_DIFF,
                    .page = item->page,
                    .from = from,
                    .who = flight->origin,
                    .version = item->version,
                    .epoch = item->epoch});
    if (item->kind == ITEM_TO_OWNER) {
        rules->to_owner(engine, flight, from, item);
    } else if (rules->pushed != NULL) {
        rules->pushed(engine, flight, from, item);
    } else {
        engine_refuse_part(engine, item->page, "a push to what takes none");
    }
    steps_end(engine, before, TM_OK);
}

int update_apply(struct engine *engine, page_no page_number, const void *diff,
                 size_t size)
{
    engine->stats.updates_received++;
    if (diff_apply(diff, size,
                   space_bytes_to_change(engine->space, page_number),
                   page_of(engine, page_number)->twin) != TM_OK) {
        engine_refuse_part(engine, page_number, "a malformed diff");
        return 0;
    }
    space_changed(engine->space, page_number, diff, size);
    return 1;
}

void update_go_on(struct engine *engine, struct flight *flight)
{
    depart(engine, flight);
}

static tm_status receive_update(struct engine *engine, node_id from,
                                const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct flight *flight;
    struct update_item item;

    if (!roster_has(&engine->port->roster, message->u.update.origin) ||
        !is_well_formed(engine, message)) {
        return TM_EWIRE;
    }
    flight = flight_new(engine, &relay);
    flight->reply_to = from;
    flight->origin = message->u.update.origin;
    flight->batch = message->u.update.batch;
    while (wire_has_more(&reader) && read_item(&reader, &item)) {
        update_receive_item(engine, flight, from, &item);
    }
    if (engine->updates->pending.first != NULL) {
        pending_updates_bring(engine);
    }
    depart(engine, flight);
    return TM_OK;
}

// ---- an acknowledgement comes

static void take(struct engine *engine, page_no page_number, node_id from,
                 const struct wire_handed *handed)
{
    struct page *page = page_of(engine, page_number);
    const struct node_set copies =
        node_set_decode(handed->copies.at, handed->copies.size);

    if (page->is_owner || page->state == PAGE_ABSENT) {
        engine_refuse_part(engine, page_number,
                           "ownership where there is no copy");
        return;
    }
    page->is_owner = 1;
    page->hint = (uint16_t)(engine->port->self + 1);
    page->epoch = handed->epoch;
    page->version = handed->version;
    page->moves = handed->moves;
    page_use_of(page)->has_written = 1;
    page_use_of(page)->is_left = 0; // it was to be a copy that stays
    migration_begins(engine, page_number);
    copyset_add_others(engine, page, &copies);
    engine->stats.pages_moved_in++;
    owner_updates_announce(engine, page_number, from);
}

static void read_handed(struct engine *engine, struct wire_reader *reader,
                        page_no page, node_id from)
{
    const struct wire_handed handed = wire_get_handed(reader);

    if (has_updates(engine, page)) {
        take(engine, page, from, &handed);
    }
}

// A diff has been applied that was sent from here, or passed on.
static void read_applied(struct engine *engine, struct flight *flight,
                         struct wire_reader *reader, page_no page)
{
    const struct wire_applied applied = wire_get_applied(reader);
    const struct update_rules *rules = update_rules_of(engine, page);

    if (!flight->kind->is_own) {
        flight_tell_version(flight, page, applied.version);
    } else if (rules != NULL && rules->applied != NULL) {
        rules->applied(engine, page, applied.version);
    }
}

// A copy is not to be pushed to any more, or is none.
static void read_ended(struct engine *engine, page_no page_number, node_id from,
                       int is_kept)
{
    const struct update_rules *rules = update_rules_of(engine, page_number);
    struct page *page = page_of(engine, page_number);

    if (rules == NULL || !page->is_owner || (is_kept && rules->left == NULL)) {
        return;
    }
    copyset_remove(engine, page, from);
    if (is_kept) {
        rules->left(engine, page_number, from);
    } else if (rules->dropped != NULL) {
        rules->dropped(engine, page_number, from);
    }
}

static void read_ack_item(struct engine *engine, node_id from,
                          struct flight *flight, struct wire_reader *reader,
                          const struct wire_ack_item *item)
{
    if (item->what == ACK_HANDED) {
        read_handed(engine, reader, item->page, from);
    } else if (item->what == ACK_APPLIED) {
        read_applied(engine, flight, reader, item->page);
    } else {
        read_ended(engine, item->page, from, item->what == ACK_LEFT);
    }
}

static inline enum step_event step_of(unsigned what)
{
    static const enum step_event steps[] = {
        [ACK_DROPPED] = STEP_DROPPED,
        [ACK_HANDED] = STEP_HANDED,
        [ACK_APPLIED] = STEP_APPLIED,
        [ACK_LEFT] = STEP_LEFT,
    };

    return steps[what];
}

static void read_items(struct engine *engine, node_id from,
                       struct flight *flight, struct wire_reader *reader)
{
    while (wire_has_more(reader)) {
        const struct wire_ack_item item = wire_get_ack_item(reader);

        read_ack_item(engine, from, flight, reader, &item);
        steps_made(engine, item.page,
                   (struct step_cause){.event = (uint8_t)step_of(item.what),
                                       .from = from});
    }
}

static int is_good_ack(const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const unsigned what = wire_get_ack_item(&reader).what;

        if (what == ACK_HANDED) {
            (void)wire_get_handed(&reader);
        } else if (what == ACK_APPLIED) {
            (void)wire_get_applied(&reader);
        } else if (what != ACK_DROPPED && what != ACK_LEFT) {
            return 0;
        }
    }
    return !reader.failed;
}

static tm_status receive_ack(struct engine *engine, node_id from,
                             const struct message *message)
{
    struct flight *flight = flight_find(engine, message->u.update_ack.batch);
    struct wire_reader reader = wire_read_body(message);

    if (flight == NULL || !is_good_ack(message)) {
        return TM_EWIRE;
    }
    read_items(engine, from, flight, &reader);
    if (message->u.update_ack.is_last) {
        flight_acknowledged(engine, flight);
    }
    return TM_OK;
}

// ---- the base

// Of the protocol that sends pages along with mutexes. NULL: none does.
static const struct update_rules *rules_of_mutexes(const struct engine *engine)
{
    const struct protocols *protocols = engine->protocols;

    for (unsigned i = 0; i < protocols->n; i++) {
        const struct update_rules *rules = protocols->rows[i]->updates;

        if (rules != NULL && rules->token_goes != NULL) {
            return rules;
        }
    }
    return NULL;
}

static tm_status receive_mutex_pages(struct engine *engine, node_id from,
                                     const struct message *message)
{
    const struct update_rules *rules = rules_of_mutexes(engine);

    return rules == NULL ? TM_EWIRE : rules->came_along(engine, from, message);
}

static tm_status dispatch(struct engine *engine, node_id from,
                          const struct message *message)
{
    switch (message->type) {
    case MESSAGE_update:
        return receive_update(engine, from, message);
    case MESSAGE_update_ack:
        return receive_ack(engine, from, message);
    case MESSAGE_race:
        return race_receive(engine, message);
    case MESSAGE_notices:
        return notices_receive(engine, from, message);
    case MESSAGE_refresh:
    case MESSAGE_refreshed:
        return refresh_receive(engine, from, message);
    case MESSAGE_recall:
    case MESSAGE_recalled:
        return recall_receive(engine, from, message);
    case MESSAGE_mutex_pages:
        return receive_mutex_pages(engine, from, message);
    case MESSAGE_copy:
    case MESSAGE_diffs_ask:
    case MESSAGE_diffs:
    case MESSAGE_home:
        return gather_receive(engine, from, message);
    default:
        return atomic_receive(engine, from, message);
    }
}

static tm_status receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    const tm_status status = dispatch(engine, from, message);

    recall_send(engine);
    return status;
}

static tm_status open_updates(struct engine *engine)
{
    engine->updates = calloc(1, sizeof *engine->updates);
    return engine->updates != NULL ? TM_OK : TM_ENOMEM;
}

// What is known of copies, and kept for them.
static void free_records(struct updates *updates)
{
    notices_free(updates);
    readers_free(updates);
    recent_free(updates);
    kept_free(updates);
    recall_free(updates);
    guards_free(updates);
}

static void close_updates(struct engine *engine)
{
    struct updates *updates = engine->updates;

    if (updates == NULL) {
        return;
    }
    race_close(engine);
    flights_free(updates);
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        free(updates->outboxes[i].bytes);
    }
    free(updates->dirty.at);
    free(updates->copies.at);
    pending_updates_free(updates);
    free_records(updates);
    scopes_free(updates);
    free(updates->held.at);
    choices_free(updates);
    free(updates->answer);
    free(updates);
}

static void closed(struct engine *engine, const struct extent *extent)
{
    release_leave_out(engine, extent);
    recall_forget(engine, extent);
    guards_forget(engine, extent);
}

static void forget(struct engine *engine, const struct extent *extent)
{
    page_list_leave_out(&engine->updates->dirty, extent);
    page_list_leave_out(&engine->updates->copies, extent);
    flight_forget(engine, extent);
    race_forget(engine, extent);
    notices_forget(engine, extent);
    scopes_forget(engine, extent);
    readers_forget(engine, extent);
    recent_forget(engine, extent);
    kept_forget(engine, extent);
    guards_forget(engine, extent);
}

static void order(struct engine *engine, node_id to, uint64_t mutex)
{
    if (mutex != NO_MUTEX && engine->updates->guards != NULL) {
        rules_of_mutexes(engine)->token_goes(engine, to, mutex);
    }
    notices_send(engine, to, mutex);
}

static void held(struct engine *engine, uint64_t mutex, int is_held)
{
    scopes_held(engine, mutex, is_held);
    if (is_held) {
        guards_locked(engine, mutex);
    }
}

// Nobody tells who comes, or who owns what a leaver had, of copies that can be old: M6, Z8, A6.
// While a release is under way they are cleaned behind it (R2 of release.c).
static void frozen(struct engine *engine)
{
    if (engine->updates->n_flushes == 0) {
        copies_clean_all(engine);
    }
    kept_let_all_go(engine); // Z17
}

static void roster_changed(struct engine *engine)
{
    race_forget_writers(engine);
    free_records(engine->updates);
    for (size_t i = 0; i < engine->n_extents; i++) {
        steps_made_run(engine, engine->extents[i].page,
                       engine->extents[i].n_pages, STEP_FORGETS);
    }
    scopes_forget_all(engine);
    copies_drop_all(engine);
    engine->updates->copies.n = 0; // M5
}

static void release(struct engine *engine, struct waiter *waiter)
{
    engine_release(engine, NODE_NONE, waiter);
}

static int is_quiet(const struct engine *engine)
{
    return engine->updates->n_flushes == 0 &&
           engine->updates->next_waiters == NULL;
}

static int is_valid(const struct engine *engine)
{
    const struct updates *updates = engine->updates;

    return (updates->flush_waiters == NULL || updates->n_flushes > 0) &&
           (updates->n_next == 0 || updates->n_flushes > 0) &&
           (engine->n_unfinished > 0 || updates->n_flushes == 0) &&
           readers_are_valid(engine) && recent_is_valid(engine) &&
           kept_is_valid(engine) && guards_are_valid(engine);
}

const struct protocol_base updates_base = {
    .open = open_updates,
    .close = close_updates,
    .messages =
        UINT64_C(1) << MESSAGE_update | UINT64_C(1) << MESSAGE_update_ack |
        UINT64_C(1) << MESSAGE_atomic | UINT64_C(1) << MESSAGE_atomic_done |
        UINT64_C(1) << MESSAGE_race | UINT64_C(1) << MESSAGE_notices |
        UINT64_C(1) << MESSAGE_refresh | UINT64_C(1) << MESSAGE_refreshed |
        UINT64_C(1) << MESSAGE_recall | UINT64_C(1) << MESSAGE_recalled |
        UINT64_C(1) << MESSAGE_copy | UINT64_C(1) << MESSAGE_diffs_ask |
        UINT64_C(1) << MESSAGE_diffs | UINT64_C(1) << MESSAGE_home |
        UINT64_C(1) << MESSAGE_mutex_pages,
    .receive = receive,
    .release = release,
    .release_early = release_early,
    .brought = pending_updates_apply,
    .closed = closed,
    .forget = forget,
    .frozen = frozen,
    .roster_changed = roster_changed,
    .order = order,
    .order_now = notices_hear,
    .held = held,
    .is_quiet = is_quiet,
    .is_valid = is_valid,
};

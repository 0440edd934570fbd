// SPDX-License-Identifier: BSD-3-Clause
//
// In a debug build somebody may watch what pages do, step by step: tests, which compare
// each step with the table of those that a protocol allows (tests/steps/), and a node that
// writes them to a file (runtime/step_log.c).
//
// What a page's record was at its last step is kept. So a hook only says that a step has
// been made, and why: what has changed since is the step. Most steps are made because of
// what the node is doing, a message mostly (steps_begin); the rest name their cause
// (steps_made). Within one message a page may make several, as when the messages that
// waited for it are looked at: whoever begins such a thing says so first (steps_so_far).
//
// W1 Between two messages, faults or other calls of an engine all changes have been told
//    (engine_steps_are_told): no page changes but by a step.
// W2 A step is told once, under the event that has changed the record.
// W3 Nobody who is not watched pays: hooks are empty in a release build, and compare one
//    pointer otherwise.
#include "pages/page_steps.h"

#ifdef TM_DEBUG

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages.h"

// A page as it was after its last step, and what has been sent since.
struct shadow {
    struct step_record record;
    struct node_set told;
    uint16_t sent;
    uint16_t n_sent;
};

struct steps {
    step_watch_fn *watch;
    void *owner;
    struct shadow *shadows; // [n_pages]; zeros are an untouched page
    struct step_cause cause;
};

tm_status engine_watch_steps(struct engine *engine, step_watch_fn *watch,
                             void *owner)
{
    struct steps *steps = calloc(1, sizeof *steps);

    if (steps != NULL) {
        steps->shadows = calloc(engine->space->n_pages, sizeof *steps->shadows);
    }
    if (steps == NULL || steps->shadows == NULL) {
        free(steps);
        return TM_ENOMEM;
    }
    steps->watch = watch;
    steps->owner = owner;
    engine->steps = steps;
    return TM_OK;
}

void steps_close_watch(struct engine *engine)
{
    if (engine->steps != NULL) {
        free(engine->steps->shadows);
        free(engine->steps);
        engine->steps = NULL;
    }
}

// ---- one page

static struct step_record record_of(const struct engine *engine,
                                    page_no page_number)
{
    const struct page *page = page_of(engine, page_number);
    const struct extent *extent = extent_find(engine, page_number);
    struct step_record record;

    memset(&record, 0, sizeof record);
    record.copyset = copyset_of(page);
    record.epoch = page->epoch;
    record.version = page->version;
    record.base = page->base;
    record.hint = page->hint;
    record.pushing = page->pushing;
    record.state = page->state;
    record.access = page->access;
    record.is_owner = page->is_owner;
    record.moves = page->moves;
    record.fetching = page->fetching;
    record.queues = page->queues;
    record.pinned = page->pinned;
    record.busy = page->busy;
    record.subscribed = page->subscribed;
    record.in_flight = page->in_flight;
    record.listed = page->listed;
    record.untold = page->untold;
    if (extent != NULL && extent->row->describe != NULL) {
        extent->row->describe(engine, page_number, &record);
    }
    return record;
}

static int are_equal(const struct step_record *a, const struct step_record *b)
{
    return memcmp(a, b, offsetof(struct step_record, untold) + 1) == 0;
}

static int has_changed(const struct engine *engine, page_no page)
{
    const struct shadow *shadow = &engine->steps->shadows[page];
    const struct step_record now = record_of(engine, page);

    return shadow->n_sent > 0 || !are_equal(&shadow->record, &now);
}

static unsigned fact(int is_so, unsigned bit)
{
    return is_so ? bit : 0;
}

// Pages of freed blocks make no steps: what a message still says of one is ignored. Of
// blocks whose sharing the program has named there is no table.
static void tell(struct engine *engine, page_no page,
                 const struct step_cause *cause)
{
    const struct extent *extent = extent_find(engine, page);
    struct shadow *shadow = &engine->steps->shadows[page];
    struct page_step step;

    if (extent == NULL) {
        return;
    }
    memset(&step, 0, sizeof step);
    step.page = page;
    step.serial = extent->serial;
    step.node = engine->port->self;
    step.protocol =
        (uint8_t)(extent->sharing == TM_SHARING_DEFAULT ? extent->protocol
                                                        : TM_PROTOCOL_DEFAULT);
    step.cause = *cause;
    step.cause.page = page;
    step.cause.facts |=
        (uint16_t)(fact(engine->space->pager != NULL, STEP_PAGED) |
                   fact(engine->is_frozen, STEP_FROZEN) |
                   fact(extent->sharing != TM_SHARING_DEFAULT, STEP_SAID) |
                   fact(extent_asks_back(engine, page), STEP_ASKS_BACK));
    step.sent = shadow->sent;
    step.n_sent = shadow->n_sent;
    step.told = shadow->told;
    step.before = shadow->record;
    step.after = record_of(engine, page);
    *shadow = (struct shadow){.record = step.after};
    engine->steps->watch(engine->steps->owner, &step);
}

int engine_steps_are_told(const struct engine *engine, page_no page)
{
    return engine->steps == NULL || !has_changed(engine, page);
}

// ---- hooks

static int is_watched_page(const struct engine *engine, page_no page)
{
    return engine->steps != NULL && page < engine->space->n_pages;
}

struct step_cause steps_begin(struct engine *engine, struct step_cause cause)
{
    struct step_cause before = {0};

    if (engine->steps != NULL) {
        before = engine->steps->cause;
        engine->steps->cause = cause;
    }
    return before;
}

static struct step_cause of_fetch(const struct engine *engine,
                                  const struct message_fetch *fetch)
{
    return (struct step_cause){
        .page = fetch->page,
        .event = STEP_FETCH,
        .who = fetch->requester,
        .facts =
            (uint16_t)(fact(fetch->write, STEP_WRITE) |
                       fact(fetch->requester == engine->port->self, STEP_OWN) |
                       fact(fetch->has_copy, STEP_HAS_COPY)),
    };
}

// May what has come be used? A protocol may look whether the copy is to be pushed to, as
// the page's record will say.
static int is_fresh(const struct engine *engine,
                    const struct message_page *answer)
{
    struct page *page = page_of(engine, answer->page);
    const struct protocol *protocol = protocol_of(engine, answer->page);
    const uint8_t subscribed = page->subscribed;
    int result;

    page->subscribed = (answer->flags & PAGE_SUBSCRIBED) != 0;
    result = protocol->is_fresh == NULL ||
             protocol->is_fresh(engine, answer->page, answer->version);
    page->subscribed = subscribed;
    return result;
}

// Of a page that has been asked for.
static uint16_t awaited_facts(const struct page *page)
{
    return (uint16_t)(fact(page->want_write, STEP_WRITE) |
                      fact(page->waiters != NULL, STEP_WAITED));
}

static struct step_cause of_page(const struct engine *engine,
                                 const struct message_page *answer)
{
    const struct page *page = page_of(engine, answer->page);

    return (struct step_cause){
        .page = answer->page,
        .event = STEP_PAGE,
        .version = answer->version,
        .epoch = answer->epoch,
        .facts =
            (uint16_t)(awaited_facts(page) |
                       fact(answer->flags & PAGE_WITH_OWNERSHIP,
                            STEP_OWNERSHIP) |
                       fact(answer->flags & PAGE_WITH_CONTENTS, STEP_CONTENTS) |
                       fact(answer->flags & PAGE_SUBSCRIBED, STEP_SUBSCRIBES) |
                       fact(is_fresh(engine, answer), STEP_FRESH)),
    };
}

static struct step_cause of_copy(const struct engine *engine,
                                 const struct message_copy *copy)
{
    const struct page *page = page_of(engine, copy->page);

    return (struct step_cause){
        .page = copy->page,
        .event = STEP_COPY,
        .epoch = copy->epoch,
        .facts = awaited_facts(page),
    };
}

static struct step_cause of_diffs(const struct engine *engine,
                                  const struct message_diffs *diffs)
{
    const struct page *page = page_of(engine, diffs->page);

    return (struct step_cause){
        .page = diffs->page,
        .event = STEP_DIFFS_COME,
        .facts = (uint16_t)(awaited_facts(page) |
                            fact(diffs->what == DIFFS_MORE, STEP_MORE) |
                            fact(diffs->what == DIFFS_DROPPED, STEP_GONE)),
    };
}

static struct step_cause of_one(enum step_event event, page_no page)
{
    return (struct step_cause){.event = (uint8_t)event, .page = page};
}

// Those that name a page, or a run of them.
static struct step_cause cause_of(const struct engine *engine,
                                  const struct message *message)
{
    switch (message->type) {
    case MESSAGE_fetch:
        return of_fetch(engine, &message->u.fetch);
    case MESSAGE_page:
        return of_page(engine, &message->u.page);
    case MESSAGE_grant:
        return of_one(STEP_GRANT, message->u.grant.page);
    case MESSAGE_invalidate:
        return of_one(STEP_INVALIDATE, message->u.invalidate.page);
    case MESSAGE_invalidate_ack:
        return of_one(STEP_INVALIDATE_ACK, message->u.invalidate_ack.page);
    case MESSAGE_atomic:
        return of_one(STEP_ATOMIC, message->u.atomic.page);
    case MESSAGE_page_given:
        return of_one(STEP_GIVEN, message->u.page_given.page);
    case MESSAGE_copy:
        return of_copy(engine, &message->u.copy);
    case MESSAGE_diffs_ask:
        return of_one(STEP_WANTED, message->u.diffs_ask.page);
    case MESSAGE_diffs:
        return of_diffs(engine, &message->u.diffs);
    case MESSAGE_home:
        return of_one(message->u.home.is_there ? STEP_AT_HOME : STEP_HOME,
                      message->u.home.page);
    default:
        return of_one(STEP_NONE, engine->space->n_pages);
    }
}

struct step_cause steps_begin_message(struct engine *engine, node_id from,
                                      const struct message *message)
{
    struct step_cause cause = {0};

    if (engine->steps == NULL) {
        return cause;
    }
    cause = cause_of(engine, message);
    cause.from = from;
    return steps_begin(engine, cause);
}

struct step_cause steps_begin_refreshed(struct engine *engine, node_id from,
                                        const struct wire_refreshed_copy *copy)
{
    struct step_cause cause = {0};

    if (engine->steps == NULL || !extent_has(engine, copy->page, 1)) {
        return steps_begin(engine, cause);
    }
    cause = of_page(engine,
                    &(struct message_page){
                        .page = copy->page,
                        .version = copy->version,
                        .epoch = copy->epoch,
                        .flags = (uint8_t)(copy->flags | PAGE_WITH_CONTENTS)});
    cause.from = from;
    return steps_begin(engine, cause);
}

// Each page makes a step of its own: the first is needed.
void steps_asked(struct engine *engine, const uint8_t *body, size_t size,
                 int is_write)
{
    struct wire_reader reader = wire_read(body, size);
    unsigned facts = is_write ? STEP_WRITE : 0;

    while (wire_has_more(&reader)) {
        const page_no page = wire_get_stale_copy(&reader).page;

        steps_sent(engine, page, STEP_SENT_FETCH, fetch_route(engine, page));
        steps_made(
            engine, page,
            (struct step_cause){.event = STEP_ASKS, .facts = (uint16_t)facts});
        facts |= STEP_AHEAD;
    }
}

void steps_end(struct engine *engine, struct step_cause before,
               tm_status status)
{
    if (engine->steps == NULL) {
        return;
    }
    if (status == TM_OK) {
        steps_so_far(engine, engine->steps->cause.page);
    }
    engine->steps->cause = before;
}

void steps_so_far(struct engine *engine, page_no page)
{
    struct step_cause *cause;

    if (!is_watched_page(engine, page)) {
        return;
    }
    cause = &engine->steps->cause;
    if (has_changed(engine, page) ||
        (cause->event != STEP_NONE && cause->page == page &&
         !cause->has_made)) {
        cause->has_made |= cause->page == page;
        tell(engine, page, cause);
    }
}

void steps_so_far_run(struct engine *engine, page_no page, page_no n)
{
    for (page_no at = page; engine->steps != NULL && at < page + n; at++) {
        steps_so_far(engine, at);
    }
}

void steps_made(struct engine *engine, page_no page, struct step_cause cause)
{
    if (is_watched_page(engine, page)) {
        tell(engine, page, &cause);
    }
}

void steps_made_run(struct engine *engine, page_no page, page_no n,
                    enum step_event event)
{
    const struct step_cause cause = {.event = (uint8_t)event};

    for (page_no at = page; engine->steps != NULL && at < page + n; at++) {
        if (has_changed(engine, at)) {
            tell(engine, at, &cause);
        }
    }
}

void steps_ahead(struct engine *engine, page_no page)
{
    struct step_cause cause;

    if (is_watched_page(engine, page)) {
        cause = engine->steps->cause;
        cause.facts |= STEP_AHEAD;
        cause.facts &= (uint16_t)~STEP_HAS_COPY;
        tell(engine, page, &cause);
    }
}

void steps_sent(struct engine *engine, page_no page, enum step_message message,
                node_id to)
{
    struct shadow *shadow;

    if (is_watched_page(engine, page)) {
        shadow = &engine->steps->shadows[page];
        shadow->sent |= (uint16_t)message;
        shadow->n_sent++;
        node_set_add(&shadow->told, to);
    }
}

void steps_forget(struct engine *engine, const struct extent *extent)
{
    if (engine->steps != NULL) {
        memset(&engine->steps->shadows[extent->page], 0,
               extent->n_pages * sizeof(struct shadow));
    }
}

#endif

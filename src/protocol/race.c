// SPDX-License-Identifier: BSD-3-Clause
//
// Data races: two threads of different nodes have written the same byte, and nothing
// orders the two writes. Asked for by --race-check; for pages of eager-release, where
// diffs tell who has written what.
//
// The owner of a page sees all diffs of it. For each byte it keeps who wrote it last:
// the node, its release, and a thread. A diff says what its node had heard of when it
// was made (causality.c). If it sets a byte that another node wrote in a release which
// it had not heard of, that is a race. Bytes, not words: two nodes may write
// neighbouring ones. But each aligned word of 8 bytes is told once.
//
// What a node has written and not released is overwritten if a diff with the same bytes
// comes from another node. The two cannot be ordered, or it would have been released
// before, or the diff have come before: so each node looks for that, at the owner or not
// (race_meet).
//
// What is noted must be all that was written, and stay where it is looked up. So,
// while races are looked for,
//
//   T1 no page of eager-release is exclusive: its owner too writes against a twin, and
//      each of its releases makes diffs (begin_writing, sort_out, state_alone);
//   T2 so none moves (serve), and no ownership is handed over (is_calm): a page stays
//      with its first owner, but when that leaves the run;
//   T3 no page stays writable through a release (`hot`), so who faults on it first is
//      known for each release.
//   T4 When nodes come or go everything written so far is forgotten, on all nodes.
//      Nothing is under way then, so what is written later is complete again.
//
// After [Perkovic96]. No race is invented: O3 of causality.c. Missed are those of two threads of one node, of a
// read and a write, of a write that changes no byte, and those that were ordered by
// chance: a clock is a node's, so what one of its threads has heard of they all have.
#include "protocol/race.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "mem/diff.h"
#include "pages/causality.h"
#include "protocol/updates.h"

#define WORD 8u
#define MASK_WORDS (TM_PAGE_SIZE / 64)
#define NEW UINT16_MAX

/** Bytes of a page that were last written by one node's release. */
struct race_run {
    uint16_t start;
    uint16_t end;
    node_id node;
    uint32_t release;
    uint64_t thread;
};

struct race_page {
    uint64_t
        first; ///< thread of this node that wrote it first, since its release
    uint64_t told[TM_PAGE_SIZE / WORD / 64]; ///< a bit a word
    struct race_run *runs;                   ///< [n_runs], by start
    unsigned n_runs;
};

/** A diff that is compared with what is noted of its page. */
struct comparison {
    struct engine *engine;
    struct race_page *record;
    const struct race_run *runs;
    const struct update_item *item;
    node_id origin;
    uint64_t mask[MASK_WORDS];
    uint16_t by[TM_PAGE_SIZE]; ///< of each byte: its run + 1; 0 nobody; NEW
};

static struct race_page *record_of(struct engine *engine, page_no page)
{
    struct race_page **record = &race_of(engine)->pages[page];

    if (*record == NULL) {
        *record = calloc(1, sizeof **record);
        ensure_memory(*record != NULL);
    }
    return *record;
}

static void free_record(struct race_page **record)
{
    if (*record != NULL) {
        free((*record)->runs);
        free(*record);
        *record = NULL;
    }
}

static int has_bit(const uint64_t *mask, unsigned bit)
{
    return (int)(mask[bit / 64] >> bit % 64 & 1);
}

// ---- runs

static void spread_runs(struct comparison *comparison)
{
    const struct race_page *record = comparison->record;

    for (unsigned i = 0; i < record->n_runs; i++) {
        for (unsigned k = record->runs[i].start; k < record->runs[i].end; k++) {
            comparison->by[k] = (uint16_t)(i + 1);
        }
    }
}

// The end of the bytes that are of the same run as this one.
static unsigned end_of_run(const struct comparison *comparison, unsigned start)
{
    unsigned end = start + 1;

    while (end < TM_PAGE_SIZE && comparison->by[end] == comparison->by[start]) {
        end++;
    }
    return end;
}

static struct race_run new_run(const struct comparison *comparison)
{
    return (struct race_run){
        .node = comparison->origin,
        .release =
            clock_count(comparison->item->writer.clock,
                        comparison->item->writer.size, comparison->origin),
        .thread = comparison->item->writer.thread,
    };
}

static void gather_runs(struct comparison *comparison)
{
    struct race_page *record = comparison->record;
    struct race_run *runs;
    unsigned n = 0;

    for (unsigned at = 0; at < TM_PAGE_SIZE; at = end_of_run(comparison, at)) {
        n += comparison->by[at] != 0;
    }
    runs = malloc((n + 1) * sizeof *runs); // a malformed diff may be the first
    ensure_memory(runs != NULL);
    n = 0;
    for (unsigned at = 0; at < TM_PAGE_SIZE; at = end_of_run(comparison, at)) {
        if (comparison->by[at] != 0) {
            runs[n] = comparison->by[at] == NEW
                          ? new_run(comparison)
                          : record->runs[comparison->by[at] - 1];
            runs[n].start = (uint16_t)at;
            runs[n++].end = (uint16_t)end_of_run(comparison, at);
        }
    }
    free(record->runs);
    record->runs = runs;
    record->n_runs = n;
}

// ---- races

static void tell(const struct comparison *comparison,
                 const struct race_run *before, unsigned start, unsigned end)
{
    struct message message = {
        .type = MESSAGE_race,
        .u.race = {.page = comparison->item->page,
                   .offset = (uint16_t)start,
                   .length = (uint16_t)(end - start),
                   .node1 = before->node,
                   .thread1 = before->thread,
                   .node2 = comparison->origin,
                   .thread2 = comparison->item->writer.thread},
    };

    for (unsigned word = start / WORD; word <= (end - 1) / WORD; word++) {
        comparison->record->told[word / 64] |= UINT64_C(1) << word % 64;
    }
    port_send(comparison->engine->port, 0, &message);
}

// The run that the diff races with for a byte; NULL if it does not, or that word has
// been told.
static const struct race_run *clash_at(const struct comparison *comparison,
                                       unsigned at)
{
    const struct race_writer *writer = &comparison->item->writer;
    const struct race_run *run;

    if (comparison->by[at] == 0 || !has_bit(comparison->mask, at) ||
        has_bit(comparison->record->told, at / WORD)) {
        return NULL;
    }
    run = &comparison->runs[comparison->by[at] - 1];
    return run->node != comparison->origin &&
                   clock_count(writer->clock, writer->size, run->node) <
                       run->release
               ? run
               : NULL;
}

static int are_of_one(const struct race_run *a, const struct race_run *b)
{
    return a->node == b->node && a->release == b->release &&
           a->thread == b->thread;
}

// Bytes in words next to each other together.
static void tell_clashes(const struct comparison *comparison)
{
    const struct race_run *before = NULL; // of the bytes from start to end
    unsigned start = 0;
    unsigned end = 0;

    for (unsigned at = 0; at < TM_PAGE_SIZE; at++) {
        const struct race_run *run = clash_at(comparison, at);

        if (run != NULL && before != NULL &&
            (at / WORD > (end - 1) / WORD + 1 || !are_of_one(run, before))) {
            tell(comparison, before, start, end);
            before = NULL;
            run = clash_at(comparison, at);
        }
        if (run != NULL) {
            start = before == NULL ? at : start;
            end = at + 1;
            before = run;
        }
    }
    if (before != NULL) {
        tell(comparison, before, start, end);
    }
}

static void begin_comparison(struct comparison *comparison,
                             struct engine *engine, node_id origin,
                             const struct update_item *item)
{
    comparison->engine = engine;
    comparison->record = record_of(engine, item->page);
    comparison->runs = comparison->record->runs;
    comparison->item = item;
    comparison->origin = origin;
    diff_mask(item->diff, item->size, comparison->mask);
    memset(comparison->by, 0, sizeof comparison->by);
}

void race_note(struct engine *engine, node_id origin,
               const struct update_item *item)
{
    struct comparison comparison;

    begin_comparison(&comparison, engine, origin, item);
    spread_runs(&comparison);
    tell_clashes(&comparison);
    for (unsigned i = 0; i < TM_PAGE_SIZE; i++) {
        comparison.by[i] = has_bit(comparison.mask, i) ? NEW : comparison.by[i];
    }
    gather_runs(&comparison);
}

void race_meet(struct engine *engine, node_id origin,
               const struct update_item *item)
{
    const char *bytes = space_bytes(engine->space, item->page);
    const char *twin = page_of(engine, item->page)->twin;
    struct race_run own = {.node = engine->port->self, .release = UINT32_MAX};
    struct comparison comparison;

    if (twin == NULL || item->writer.clock == NULL) {
        return;
    }
    begin_comparison(&comparison, engine, origin, item);
    own.thread = comparison.record->first;
    comparison.runs = &own;
    for (unsigned i = 0; i < TM_PAGE_SIZE; i++) {
        comparison.by[i] = bytes[i] != twin[i];
    }
    tell_clashes(&comparison);
}

void race_begin_writing(struct engine *engine, page_no page, uint64_t thread)
{
    record_of(engine, page)->first = thread;
}

struct race_writer race_writer(const struct engine *engine, page_no page)
{
    const struct race_page *record = race_of(engine)->pages[page];
    struct race_writer writer = {.thread = record != NULL ? record->first : 0};

    writer.clock = causality_of_release(engine, &writer.size);
    return writer;
}

void race_forget_writers(struct engine *engine)
{
    const struct race *race = race_of(engine);

    for (size_t i = 0; i < engine->n_extents && race != NULL; i++) {
        const struct extent *extent = &engine->extents[i];

        for (page_no at = extent->page; at < extent->page + extent->n_pages;
             at++) {
            struct race_page *record = race->pages[at];

            if (record != NULL) {
                free(record->runs);
                record->runs = NULL;
                record->n_runs = 0;
            }
        }
    }
}

void race_forget(struct engine *engine, const struct extent *extent)
{
    const struct race *race = race_of(engine);

    for (page_no at = extent->page;
         race != NULL && at < extent->page + extent->n_pages; at++) {
        free_record(&race->pages[at]);
    }
}

tm_status race_receive(struct engine *engine, const struct message *message)
{
    const struct message_race *race = &message->u.race;
    struct race_found found = {
        .page = race->page,
        .offset = race->offset,
        .length = race->length,
        .nodes = {race->node1, race->node2},
        .threads = {race->thread1, race->thread2},
    };

    if (race_of(engine) == NULL || !extent_has(engine, race->page, 1) ||
        engine->port->self != 0 || race->length == 0 ||
        race->offset + race->length > TM_PAGE_SIZE ||
        race->node1 >= TM_MAX_NODES || race->node2 >= TM_MAX_NODES) {
        return TM_EWIRE;
    }
    race_of(engine)->found(race_of(engine)->owner, &found);
    return TM_OK;
}

tm_status engine_look_for_races(struct engine *engine, race_found_fn *found,
                                void *owner)
{
    struct race *race = calloc(1, sizeof *race);

    if (race == NULL || causality_open(engine) != TM_OK) {
        free(race);
        return TM_ENOMEM;
    }
    race->pages = calloc(engine->space->n_pages, sizeof(struct race_page *));
    if (race->pages == NULL) {
        free(race);
        return TM_ENOMEM;
    }
    race->found = found;
    race->owner = owner;
    engine->updates->race = race;
    return TM_OK;
}

void race_close(struct engine *engine)
{
    struct race *race = race_of(engine);

    if (race == NULL) {
        return;
    }
    for (size_t i = 0; i < engine->n_extents; i++) {
        race_forget(engine, &engine->extents[i]);
    }
    free(race->pages);
    free(race);
    engine->updates->race = NULL;
}

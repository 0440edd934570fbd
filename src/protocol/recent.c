// SPDX-License-Identifier: BSD-3-Clause
//
// What has changed lately of a page, as its owner knows. For each line of 32 bytes there is
// the version that changed it last: so what an old copy lacks is found whatever its
// version, in as much memory whatever was written, and what was written twice is sent
// once.
//
// There is a record of a page from when a copy is given that notices may make old. While
// it is followed its owner writes it against a twin, as others do; when it has made some
// versions of it and nobody has asked for one, it does not any more, and the page is
// exclusive again.
//
// Y3 What a line had in a version from `since` on it has in the latest, if the line's version
//    is not above that. (Of a page that is exclusive in the version that its owner makes next:
//    nobody has one between, since the page is sealed before it is given: pushes.c.)
// Y4 A record is of one ownership, or has come along with it (migration.c). While others had
//    the page nobody noted here what changed.
#include "protocol/recent.h"

#include "base/ensure.h"
#include "base/map.h"
#include "mem/diff.h"

#include <stdlib.h>
#include <string.h>

#define LINE 32u
#define N_LINES (TM_PAGE_SIZE / LINE)
#define LINES_OF_WORD (64u / LINE)
#define LINE_MASK ((UINT64_C(1) << LINE) - 1)

// Of a page that goes on with its record: one of more runs than that stays behind.
#define RUNS_MAX (RECENT_LINES_MAX / WIRE_SIZE_changed_lines)

// Versions that an owner makes of a page that nobody asks for, until it is exclusive.
#define UNASKED_MAX 4u

struct recent_page {
    struct recent_page *next;
    page_no page;
    uint32_t epoch; ///< Y4
    uint32_t since;
    uint8_t n_unasked; ///< its owner's, since a copy was given
    uint32_t versions[N_LINES];
};

struct recent {
    struct map by_page;
    struct recent_page *first;
};

static int is_newer(uint32_t version, uint32_t than)
{
    return (int32_t)(version - than) > 0;
}

static struct recent_page *find(const struct engine *engine, page_no page)
{
    const struct recent *recent = engine->updates->recent;

    return recent == NULL ? NULL : map_find(&recent->by_page, page);
}

static int is_good(const struct engine *engine,
                   const struct recent_page *record)
{
    return record != NULL &&
           record->epoch == page_of(engine, record->page)->epoch; // Y4
}

static struct recent_page *add(struct engine *engine, page_no page)
{
    struct recent *recent = engine->updates->recent;
    struct recent_page *record = calloc(1, sizeof *record);

    if (recent == NULL) {
        recent = calloc(1, sizeof *recent);
        ensure_memory(recent != NULL);
        engine->updates->recent = recent;
    }
    ensure_memory(record != NULL);
    record->page = page;
    record->next = recent->first;
    recent->first = record;
    map_add(&recent->by_page, page, record);
    return record;
}

// Nothing is known of what was before a version.
static void begin(struct engine *engine, struct recent_page *record,
                  uint32_t since)
{
    record->epoch = page_of(engine, record->page)->epoch;
    record->since = since;
    for (unsigned i = 0; i < N_LINES; i++) {
        record->versions[i] = since;
    }
}

void recent_given(struct engine *engine, page_no page)
{
    struct recent_page *record = find(engine, page);

    if (engine->is_short) {
        recent_free(engine->updates); // this goes first
        return;
    }
    if (record == NULL) {
        record = add(engine, page);
        begin(engine, record, page_of(engine, page)->version);
    } else if (!is_good(engine, record)) {
        begin(engine, record, page_of(engine, page)->version);
    }
    record->n_unasked = 0;
}

static void note_lines(struct recent_page *record, uint32_t version,
                       const void *diff, size_t size)
{
    uint64_t mask[TM_PAGE_SIZE / 64];

    diff_mask(diff, size, mask);
    for (unsigned i = 0; i < N_LINES; i++) {
        if (mask[i / LINES_OF_WORD] >> i % LINES_OF_WORD * LINE & LINE_MASK) {
            record->versions[i] = version;
        }
    }
}

void recent_changed(struct engine *engine, page_no page, const void *diff,
                    size_t size)
{
    struct recent_page *record = find(engine, page);
    const uint32_t version = page_of(engine, page)->version;

    if (!is_good(engine, record)) {
        return;
    }
    if (diff == NULL) {
        begin(engine, record, version);
    } else {
        note_lines(record, version, diff, size);
    }
}

void recent_owner_wrote(struct engine *engine, page_no page, const void *diff,
                        size_t size)
{
    struct recent_page *record = find(engine, page);

    recent_changed(engine, page, diff, size);
    if (record != NULL && record->n_unasked < UNASKED_MAX) {
        record->n_unasked++;
    }
}

int recent_is_followed(const struct engine *engine, page_no page)
{
    const struct recent_page *record = find(engine, page);

    return is_good(engine, record) && record->n_unasked < UNASKED_MAX;
}

size_t recent_diff(const struct engine *engine, page_no page, uint32_t since,
                   const char *bytes, void *diff, int *is_all)
{
    const struct recent_page *record = find(engine, page);
    uint64_t mask[TM_PAGE_SIZE / 64] = {0};

    *is_all = !is_good(engine, record) || is_newer(record->since, since);
    for (unsigned i = 0; i < N_LINES; i++) {
        if (*is_all || is_newer(record->versions[i], since)) {
            mask[i / LINES_OF_WORD] |= LINE_MASK << i % LINES_OF_WORD * LINE;
        }
    }
    return diff_of_mask(bytes, mask, diff);
}

// ---- with its page to another owner

int recent_is_kept(const struct engine *engine, page_no page)
{
    return is_good(engine, find(engine, page));
}

static unsigned run_length(const struct recent_page *record, unsigned from)
{
    unsigned n = 1;

    while (from + n < N_LINES &&
           record->versions[from + n] == record->versions[from]) {
        n++;
    }
    return n;
}

size_t recent_lines(const struct engine *engine, page_no page, uint8_t *lines)
{
    const struct recent_page *record = find(engine, page);
    struct wire_writer writer = {lines, lines + RECENT_LINES_MAX, 0};

    for (unsigned i = 0; is_good(engine, record) && i < N_LINES;) {
        const unsigned n = run_length(record, i);

        if (writer.at == writer.end) {
            return 0;
        }
        wire_put_changed_lines(&writer, &(struct wire_changed_lines){
                                            (uint8_t)n, record->versions[i]});
        i += n;
    }
    return (size_t)(writer.at - lines);
}

// @return 0 they are not those of a page of this version
static int read_lines(struct recent_page *record, uint32_t latest,
                      const struct wire_bytes *lines)
{
    struct wire_reader reader = wire_read(lines->at, lines->size);
    unsigned n = 0;

    record->since = latest;
    while (wire_has_more(&reader)) {
        const struct wire_changed_lines run = wire_get_changed_lines(&reader);

        if (reader.failed || run.count > N_LINES - n ||
            is_newer(run.version, latest)) {
            return 0;
        }
        for (unsigned i = 0; i < run.count; i++) {
            record->versions[n++] = run.version;
        }
        if (is_newer(record->since, run.version)) {
            record->since = run.version;
        }
    }
    return n == N_LINES;
}

void recent_take(struct engine *engine, page_no page,
                 const struct wire_bytes *lines)
{
    const uint32_t version = page_of(engine, page)->version;
    struct recent_page *record;

    recent_given(engine, page);
    record = find(engine, page);
    if (record != NULL && !read_lines(record, version, lines)) {
        begin(engine, record, version);
    }
}

// Y3: each between `since` and what is the latest.
static int are_versions_good(const struct recent_page *record, uint32_t latest)
{
    const uint32_t most = latest - record->since;

    for (unsigned i = 0; i < N_LINES; i++) {
        if (record->versions[i] - record->since > most) {
            return 0;
        }
    }
    return 1;
}

int recent_is_valid(const struct engine *engine)
{
    const struct recent *recent = engine->updates->recent;
    const struct recent_page *record = recent != NULL ? recent->first : NULL;

    for (; record != NULL; record = record->next) {
        const struct page *page = page_of(engine, record->page);

        if (page->is_owner && is_good(engine, record) &&
            !are_versions_good(record, page->version)) {
            return 0;
        }
    }
    return 1;
}

// ---- forgetting

void recent_forget(struct engine *engine, const struct extent *extent)
{
    struct recent *recent = engine->updates->recent;
    struct recent_page **link = recent == NULL ? NULL : &recent->first;

    while (link != NULL && *link != NULL) {
        struct recent_page *record = *link;

        if (record->page >= extent->page &&
            record->page < extent->page + extent->n_pages) {
            *link = record->next;
            (void)map_take(&recent->by_page, record->page);
            free(record);
        } else {
            link = &record->next;
        }
    }
}

void recent_free(struct updates *updates)
{
    struct recent *recent = updates->recent;

    if (recent == NULL) {
        return;
    }
    while (recent->first != NULL) {
        struct recent_page *record = recent->first;

        recent->first = record->next;
        free(record);
    }
    map_release(&recent->by_page);
    free(recent);
    updates->recent = NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The store of homeless.c: one record for each page that several nodes have.
#include "protocol/kept.h"

#include "base/ensure.h"
#include "base/list.h"
#include "base/map.h"
#include "base/vector.h"
#include "protocol/notice_list.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    struct map by_page;
    struct kept_page *first;
};

struct kept_page *kept_find(const struct engine *engine, page_no page)
{
    const struct kept *kept = engine->updates->kept;

    return kept == NULL ? NULL : map_find(&kept->by_page, page);
}

static struct kept *store_of(struct engine *engine)
{
    if (engine->updates->kept == NULL) {
        engine->updates->kept = calloc(1, sizeof *engine->updates->kept);
        ensure_memory(engine->updates->kept != NULL);
    }
    return engine->updates->kept;
}

struct kept_page *kept_of(struct engine *engine, page_no page)
{
    struct kept *kept = store_of(engine);
    struct kept_page *record = map_find(&kept->by_page, page);

    if (record == NULL) {
        record = calloc(1, sizeof *record);
        ensure_memory(record != NULL);
        record->page = page;
        list_push(kept->first, record);
        map_add(&kept->by_page, page, record);
    }
    return record;
}

struct kept_page *kept_first(const struct engine *engine)
{
    const struct kept *kept = engine->updates->kept;

    return kept == NULL ? NULL : kept->first;
}

// ---- what is in the bytes

static struct kept_part *part_of(const struct kept_page *record, node_id writer)
{
    for (unsigned i = 0; i < record->n_parts; i++) {
        if (record->parts[i].writer == writer) {
            return &record->parts[i];
        }
    }
    return NULL;
}

uint64_t kept_has(const struct kept_page *record, node_id writer)
{
    const struct kept_part *part = part_of(record, writer);

    return part == NULL ? 0 : part->stamp;
}

uint64_t kept_has_or_gets(const struct kept_page *record, node_id writer)
{
    uint64_t stamp = kept_has(record, writer);

    for (const struct kept_diff *at = record->come; at != NULL; at = at->next) {
        if (at->writer == writer && at->stamp > stamp) {
            stamp = at->stamp;
        }
    }
    return stamp;
}

void kept_set(struct kept_page *record, node_id writer, uint64_t stamp)
{
    struct kept_part *part = part_of(record, writer);

    if (part == NULL) {
        vector_reserve(record->parts, record->room, record->n_parts + 1);
        part = &record->parts[record->n_parts++];
        *part = (struct kept_part){stamp, writer};
    }
    if (stamp > part->stamp) {
        part->stamp = stamp;
    }
}

// ---- who waits

void kept_await(struct kept_page *record, node_id node)
{
    for (unsigned i = 0; i < record->n_waiting; i++) {
        if (record->waiting[i] == node) {
            return;
        }
    }
    vector_reserve(record->waiting, record->waiting_room,
                   record->n_waiting + 1);
    record->waiting[record->n_waiting++] = node;
}

// ---- diffs

static struct kept_diff *copy_of(node_id writer, uint64_t stamp,
                                 const void *diff, size_t size)
{
    struct kept_diff *copy = malloc(sizeof *copy + size);

    ensure_memory(copy != NULL);
    *copy = (struct kept_diff){
        .stamp = stamp, .writer = writer, .size = (uint16_t)size};
    if (size > 0) {
        memcpy(copy->bytes, diff, size);
    }
    return copy;
}

uint64_t kept_newest(const struct kept_page *record)
{
    const struct kept_diff *at = record->own;

    while (at != NULL && at->next != NULL) {
        at = at->next;
    }
    return at == NULL ? 0 : at->stamp;
}

unsigned kept_count(const struct kept_page *record)
{
    unsigned n = 0;

    for (const struct kept_diff *at = record->own; at != NULL; at = at->next) {
        n++;
    }
    return n;
}

void kept_add(struct kept_page *record, node_id self, uint64_t stamp,
              const void *diff, size_t size)
{
    struct kept_diff **end = &record->own;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = copy_of(self, stamp, diff, size);
    record->n_bytes += (uint32_t)size;
}

void kept_drop(struct kept_page *record, uint64_t until)
{
    while (record->own != NULL && record->own->stamp <= until) {
        struct kept_diff *first = record->own;

        record->own = first->next;
        record->n_bytes -= first->size;
        record->dropped = first->stamp;
        free(first);
    }
}

static int comes_after(const struct kept_diff *diff,
                       const struct kept_diff *other)
{
    return diff->stamp == other->stamp ? diff->writer > other->writer
                                       : diff->stamp > other->stamp;
}

void kept_come(struct kept_page *record, node_id writer, uint64_t stamp,
               const void *diff, size_t size)
{
    struct kept_diff *come = copy_of(writer, stamp, diff, size);
    struct kept_diff **link = &record->come;

    while (*link != NULL && comes_after(come, *link)) { // Z12
        link = &(*link)->next;
    }
    come->next = *link;
    *link = come;
}

static void drop_oldest(struct kept_page *record)
{
    struct kept_diff *first = record->others;

    record->others = first->next;
    record->n_other_bytes -= first->size;
    free(first);
}

void kept_pass_on(struct kept_page *record, struct kept_diff *diff,
                  uint32_t most)
{
    struct kept_diff **end = &record->others;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    diff->since = kept_has(record, diff->writer);
    diff->next = NULL;
    *end = diff;
    record->n_other_bytes += diff->size;
    while (record->n_other_bytes > most) {
        drop_oldest(record);
    }
}

void kept_drop_others(struct kept_page *record)
{
    while (record->others != NULL) {
        drop_oldest(record);
    }
}

const struct kept_diff *kept_next(const struct kept_page *record,
                                  node_id writer, uint64_t since)
{
    const struct kept_diff *at = record->others;

    while (at != NULL &&
           (at->writer != writer || at->since > since || at->stamp <= since)) {
        at = at->next;
    }
    return at;
}

static void free_list(struct kept_diff **list)
{
    list_take_each (diff, *list) {
        free(diff);
    }
}

void kept_drop_come(struct kept_page *record)
{
    struct kept_diff *all = record->come;
    struct kept_diff **end = &record->come;

    record->come = NULL;
    list_take_each (diff, all) {
        if (diff->size > 0) {
            free(diff);
        } else {
            diff->next = NULL;
            *end = diff;
            end = &diff->next;
        }
    }
}

// ---- what holds

static int is_good(const struct kept_page *record)
{
    uint32_t n_bytes = 0;

    for (const struct kept_diff *at = record->own; at != NULL; at = at->next) {
        n_bytes += at->size;
        if (at->next != NULL && at->next->stamp <= at->stamp) {
            return 0;
        }
    }
    return n_bytes == record->n_bytes;
}

int kept_is_valid(const struct engine *engine)
{
    const struct kept_page *record = kept_first(engine);

    while (record != NULL && is_good(record)) {
        record = record->next;
    }
    return record == NULL;
}

// ---- forgetting

static void free_record(struct kept_page *record)
{
    free_list(&record->own);
    free_list(&record->others);
    free_list(&record->come);
    free(record->parts);
    free(record->waiting);
    free(record);
}

void kept_forget(struct engine *engine, const struct extent *extent)
{
    struct kept *kept = engine->updates->kept;
    struct kept_page **link = kept == NULL ? NULL : &kept->first;
    size_t n_unfinished = 0;

    while (link != NULL && *link != NULL) {
        struct kept_page *record = *link;

        if (record->page >= extent->page &&
            record->page < extent->page + extent->n_pages) {
            n_unfinished += record->is_going_home;
            *link = record->next;
            (void)map_take(&kept->by_page, record->page);
            free_record(record);
        } else {
            link = &record->next;
        }
    }
    if (n_unfinished > 0) {
        engine->n_unfinished -= n_unfinished;
        engine_finished(engine);
    }
}

void kept_free(struct updates *updates)
{
    struct kept *kept = updates->kept;

    if (kept == NULL) {
        return;
    }
    list_take_each (record, kept->first) {
        free_record(record);
    }
    map_release(&kept->by_page);
    free(kept);
    updates->kept = NULL;
}

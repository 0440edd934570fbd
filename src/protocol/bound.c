// SPDX-License-Identifier: BSD-3-Clause
//
// Which bytes are bound to which lock, as far as this node has heard: the table of locks,
// and all ranges, in order of their bytes. What follows from it is in entry.c, whose
// invariants are meant here.
#include "protocol/bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/vector.h"

tm_status bindings_open(struct engine *engine)
{
    engine->bindings = calloc(1, sizeof *engine->bindings);
    if (engine->bindings == NULL) {
        return TM_ENOMEM;
    }
    table_init(&engine->bindings->locks, sizeof(struct bound));
    return TM_OK;
}

void bindings_close(struct engine *engine)
{
    struct bindings *bindings = engine->bindings;
    struct bound *lock;

    if (bindings == NULL) {
        return;
    }
    for (size_t at = 0; (lock = table_next(&bindings->locks, &at)) != NULL;) {
        free(lock->known);
    }
    for (size_t i = 0; i < bindings->n; i++) {
        free(bindings->ranges[i]);
    }
    table_release(&bindings->locks);
    free(bindings->ranges);
    free(bindings->out);
    free(bindings);
    engine->bindings = NULL;
}

void engine_use_locks(struct engine *engine, const struct lock_ops *ops)
{
    engine->bindings->ops = *ops;
}

int bound_is_held(const struct bindings *bindings, uint64_t key,
                  uint64_t thread, int is_write)
{
    return bindings->ops.holds == NULL ||
           bindings->ops.holds(bindings->ops.owner, key, thread, is_write);
}

struct bound *bound_get(struct bindings *bindings, uint64_t key)
{
    struct bound *lock = table_get(&bindings->locks, key);

    lock->key = key;
    return lock;
}

// ---- ranges

size_t bound_from(const struct bindings *bindings, uint64_t at)
{
    size_t low = 0;
    size_t high = bindings->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (range_end(bindings->ranges[middle]) <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct range *bound_around(const struct bindings *bindings, uint64_t at)
{
    const size_t index = bound_from(bindings, at);

    return index < bindings->n && bindings->ranges[index]->start <= at
               ? bindings->ranges[index]
               : NULL;
}

const struct extent *bound_extent(const struct engine *engine, uint64_t start,
                                  uint64_t size)
{
    const page_no page = start / TM_PAGE_SIZE;
    const struct extent *extent = extent_find(engine, page);
    uint64_t end;

    if (extent == NULL || extent->is_closed || size == 0 ||
        protocol_of(engine, page)->admit == NULL) {
        return NULL;
    }
    end = extent->page * TM_PAGE_SIZE + extent->size;
    return start < end && size <= end - start ? extent : NULL;
}

struct range *bound_add(struct bindings *bindings, struct bound *lock,
                        const struct wire_bound_range *what, uint64_t list)
{
    const size_t n_lines = n_lines_of(what->start, what->size);
    const size_t index = bound_from(bindings, what->start);
    struct range *range =
        calloc(1, sizeof *range + n_lines * sizeof *range->stamps);

    ensure_memory(range != NULL);
    range->start = what->start;
    range->size = what->size;
    range->serial = what->serial;
    range->list = list;
    range->lock = lock;
    range->next = lock->first;
    lock->first = range;
    vector_reserve(bindings->ranges, bindings->room, bindings->n + 1);
    memmove(&bindings->ranges[index + 1], &bindings->ranges[index],
            (bindings->n - index) * sizeof range);
    bindings->ranges[index] = range;
    bindings->n++;
    return range;
}

void bound_remove(struct engine *engine, struct range *range)
{
    struct bindings *bindings = engine->bindings;
    const struct range was = {.start = range->start, .size = range->size};
    const size_t index = bound_from(bindings, range->start);
    struct range **link = &range->lock->first;

    while (*link != range) {
        link = &(*link)->next;
    }
    *link = range->next;
    bindings->n--;
    memmove(&bindings->ranges[index], &bindings->ranges[index + 1],
            (bindings->n - index) * sizeof range);
    free(range);
    bound_tell(engine, &was, STEP_UNBOUND);
}

void bound_count(struct engine *engine, const struct range *range, int by)
{
    struct piece piece = {0};

    while (next_piece(range, &piece)) {
        struct bound_use *use = bound_use_of(page_of(engine, piece.page));

        use->n_here = (uint16_t)(use->n_here + by);
    }
}

/* B6: two locks that are here, or one that is here and one that comes, have the same
 * bytes. */
static void report_both(const struct bindings *bindings,
                        const struct range *range, const struct bound *lock)
{
    char text[200];

    snprintf(text, sizeof text,
             "bytes of one block are bound to two locks at once, at 0x%llx and "
             "at 0x%llx",
             (unsigned long long)range->lock->key,
             (unsigned long long)lock->key);
    if (bindings->ops.program_error != NULL) {
        bindings->ops.program_error(bindings->ops.owner, text);
    }
}

/* May the range be added now? What is known of locks that are elsewhere is old. */
static int make_way(struct engine *engine, const struct bound *lock,
                    const struct wire_bound_range *what, int is_token)
{
    struct bindings *bindings = engine->bindings;
    const size_t index = bound_from(bindings, what->start);

    while (index < bindings->n &&
           bindings->ranges[index]->start < what->start + what->size) {
        struct range *other = bindings->ranges[index];

        if (other->lock->is_here && is_token) {
            report_both(bindings, other, lock);
        }
        if (other->lock->is_here || !is_token) {
            return 0;
        }
        bound_remove(engine, other);
    }
    return 1;
}

void bound_note(struct engine *engine, struct bound *lock,
                const struct wire_bound_range *what, uint64_t list,
                int is_token)
{
    struct bindings *bindings = engine->bindings;
    struct range *range = bound_around(bindings, what->start);
    const struct extent *extent = bound_extent(engine, what->start, what->size);

    if (extent == NULL || extent->serial != what->serial || list < lock->list) {
        return; // of a block that has been freed, or heard late
    }
    if (range != NULL && range->lock == lock && range->start == what->start &&
        range->size == what->size) {
        range->list = list;
    } else if (make_way(engine, lock, what, is_token)) {
        bound_add(bindings, lock, what, list);
    }
}

void bound_drop_older(struct engine *engine, struct bound *lock)
{
    struct range *range = lock->first;

    while (range != NULL) {
        struct range *next = range->next;

        if (range->list < lock->list) {
            bound_remove(engine, range);
        }
        range = next;
    }
}

// ---- what nodes have had

uint64_t bound_known(const struct bound *lock, node_id node)
{
    for (uint32_t i = 0; i < lock->n_known; i++) {
        if (lock->known[i].node == node) {
            return lock->known[i].incarnation;
        }
    }
    return 0;
}

void bound_knows(struct bound *lock, node_id node, uint64_t incarnation)
{
    uint32_t i = 0;

    while (i < lock->n_known && lock->known[i].node != node) {
        i++;
    }
    if (i == lock->n_known) {
        vector_reserve(lock->known, lock->known_room, lock->n_known + 1);
        lock->n_known++;
    }
    lock->known[i] = (struct known){incarnation, node};
}

// ---- what holds of it

int bindings_are_valid(const struct engine *engine)
{
    const struct bindings *bindings = engine->bindings;

    for (size_t i = 0; i < bindings->n; i++) {
        const struct range *range = bindings->ranges[i];

        if (range->size == 0 ||
            (i > 0 && range_end(bindings->ranges[i - 1]) > range->start) ||
            table_find(&bindings->locks, range->lock->key) != range->lock) {
            return 0; // B6
        }
    }
    return map_is_valid(&bindings->locks.map);
}

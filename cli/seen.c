// SPDX-License-Identifier: BSD-3-Clause
//
// What a run has shown. When it goes back to a checkpoint its threads write again what they
// have written since; who reads the output is to see each line once.
//
// Threads may be on other nodes then, and have another order among each other. So it is not
// the bytes of a node that are compared but lines, of all nodes together, however often each
// has come. Only a hash of each is kept, and only since the checkpoint before the newest
// that is whole, for that one may be gone back to.
//
// Where the cut is in a stream the stream says: at it each node writes a mark,
//
//   '\0' "cut " TOKEN ' ' GENERATION '\0'     digits are of base 16, of both 16
//
// which the launcher takes out (output.c). Where a line spans a cut each of its pieces counts
// as a line, for only the second comes again. main() is not in a checkpoint, it prepares again,
// and nodes start again; what they write meanwhile is a part of its own, which a mark of
// generation 0 ends.
//
// V1  A line that was shown after the cut that the run goes back to, or while main()
//     prepared and nodes started, is not shown again, as often as it was; every other line is.
// V2  What came before the cut of the older one of the two newest generations that are whole
//     is not kept.
#include "seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vector.h"

/** So many lines are kept, and so many of the preparing: some 64 MB each. */
#define KEPT_MAX (UINT64_C(1) << 21)

#define MARK_BEGIN 5u // '\0' "cut "

// ---- maps from a hash to a number

static uint64_t count_of(const struct map *map, uint64_t key)
{
    return (uint64_t)(uintptr_t)map_find(map, key);
}

static void set_count(struct map *map, uint64_t key, uint64_t n)
{
    (void)map_take(map, key);
    if (n > 0) {
        map_add(map, key, (void *)(uintptr_t)n);
    }
}

static void add_lines(struct map *map, uint64_t key, uint64_t n)
{
    set_count(map, key, count_of(map, key) + n);
}

static int take_line(struct map *map, uint64_t key)
{
    const uint64_t n = count_of(map, key);

    if (n == 0) {
        return 0;
    }
    set_count(map, key, n - 1);
    return 1;
}

static uint64_t count_all(const struct map *map)
{
    uint64_t n = 0;

    for (size_t i = 0; i < map->capacity; i++) {
        n += (uint64_t)(uintptr_t)map->entries[i].record;
    }
    return n;
}

static void add_all(struct map *map, const struct map *others)
{
    for (size_t i = 0; i < others->capacity; i++) {
        const struct map_entry *entry = &others->entries[i];

        if (entry->record != NULL) {
            add_lines(map, entry->key, (uint64_t)(uintptr_t)entry->record);
        }
    }
}

// ---- parts

static struct map *part_of(struct seen *seen, uint64_t cut)
{
    if (cut == SEEN_PREPARING) {
        return &seen->preparing;
    }
    for (size_t i = 0; i < seen->n_parts; i++) {
        if (seen->parts[i].cut == cut) {
            return &seen->parts[i].lines;
        }
    }
    vector_reserve(seen->parts, seen->room, seen->n_parts + 1);
    seen->parts[seen->n_parts] = (struct seen_part){.cut = cut};
    return &seen->parts[seen->n_parts++].lines;
}

static void drop_part(struct seen *seen, size_t i)
{
    seen->n_kept -= count_all(&seen->parts[i].lines);
    map_release(&seen->parts[i].lines);
    seen->parts[i] = seen->parts[--seen->n_parts];
}

// V1. From the beginning threads may write before main() waits, or after it, as they like.
static int has_come(struct seen *seen, uint64_t cut, uint64_t key)
{
    const int is_preparing = cut == SEEN_PREPARING;

    return (is_preparing || seen->base == 0) &&
           take_line(&seen->preparing_again, key);
}

static void keep(struct seen *seen, uint64_t cut, uint64_t key)
{
    uint64_t *n = cut == SEEN_PREPARING ? &seen->n_preparing : &seen->n_kept;

    if (*n < KEPT_MAX) {
        add_lines(part_of(seen, cut), key, 1);
        ++*n;
    } else if (!seen->is_overfull || cut > seen->overfull_at) {
        seen->is_overfull = 1;
        seen->overfull_at = cut;
    }
}

int seen_is_said(const struct seen *seen, const char *line, size_t size)
{
    return seen->never != NULL && size >= strlen(seen->never) &&
           memcmp(line, seen->never, strlen(seen->never)) == 0;
}

int seen_is_new(struct seen *seen, uint64_t cut, const char *line, size_t size)
{
    const uint64_t key = hash_bytes(HASH_START, line, size);
    int is_new;

    if (seen_is_said(seen, line, size)) {
        return 1;
    }
    if (has_come(seen, cut, key)) {
        return 0;
    }
    is_new = (cut == SEEN_PREPARING && seen->base != 0) ||
             !take_line(&seen->expected, key);
    keep(seen, cut, key);
    return is_new;
}

void seen_saved(struct seen *seen, uint64_t generation)
{
    size_t i = 0;

    seen->whole[1] = seen->whole[0];
    seen->whole[0] = generation;
    seen->is_overfull &= seen->overfull_at >= seen->whole[1];
    while (i < seen->n_parts) {
        if (seen->parts[i].cut < seen->whole[1]) { // V2
            drop_part(seen, i);
        } else {
            i++;
        }
    }
}

void seen_go_back(struct seen *seen, uint64_t generation)
{
    size_t i = 0;

    while (i < seen->n_parts) {
        if (seen->parts[i].cut >= generation) {
            add_all(&seen->expected, &seen->parts[i].lines);
            drop_part(seen, i);
        } else { // the older checkpoint may be gone back to yet
            i++;
        }
    }
    map_release(&seen->preparing_again);
    add_all(&seen->preparing_again, &seen->preparing);
    seen->base = generation;
    seen->whole[1] = seen->whole[0] == generation ? seen->whole[1] : 0;
    seen->whole[0] = generation;
    seen->is_overfull &= seen->overfull_at == SEEN_PREPARING;
}

uint64_t seen_settle(struct seen *seen)
{
    const uint64_t n = count_all(&seen->expected);

    map_release(&seen->expected);
    return n;
}

// ---- marks

// What stands at a place of a mark; -1: any digit.
static int at_place(const struct seen *seen, size_t at)
{
    static const char begin[] = "\0cut ";

    if (at < MARK_BEGIN) {
        return begin[at];
    }
    at -= MARK_BEGIN;
    if (at < SEEN_TOKEN) {
        return seen->token[at];
    }
    return at == SEEN_TOKEN ? ' ' : at == 2 * SEEN_TOKEN + 1 ? '\0' : -1;
}

int seen_is_mark(const struct seen *seen, const char *bytes, size_t size)
{
    if (seen->token[0] == '\0') {
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        const int wanted = at_place(seen, i);

        if (wanted >= 0 ? bytes[i] != wanted
                        : strchr("0123456789abcdef", bytes[i]) == NULL ||
                              bytes[i] == '\0') {
            return 0;
        }
    }
    return 1;
}

uint64_t seen_mark(const char *bytes)
{
    return strtoull(bytes + MARK_BEGIN + SEEN_TOKEN + 1, NULL, 16);
}

void seen_release(struct seen *seen)
{
    while (seen->n_parts > 0) {
        drop_part(seen, seen->n_parts - 1);
    }
    free(seen->parts);
    map_release(&seen->preparing);
    map_release(&seen->preparing_again);
    map_release(&seen->expected);
}

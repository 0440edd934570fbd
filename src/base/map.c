// SPDX-License-Identifier: BSD-3-Clause
//
// Open addressing with linear probing. I1: between the place that a key hashes
// to and the place where it is, no entry is empty. I2: at most half of the
// entries are used. Taking a key out moves later entries back instead of
// leaving a mark, so that a map that is filled and emptied for ever stays as
// fast as new.
#include "base/map.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/random.h"

enum { FIRST_CAPACITY = 64 };

static size_t home_of(const struct map *map, uint64_t key)
{
    return random_mix(key) & (map->capacity - 1);
}

static size_t next_place(const struct map *map, size_t place)
{
    return (place + 1) & (map->capacity - 1);
}

/* The place of a key, or the empty place where it would be. */
static size_t place_of(const struct map *map, uint64_t key)
{
    size_t place = home_of(map, key);

    while (map->entries[place].record != NULL &&
           map->entries[place].key != key) {
        place = next_place(map, place);
    }
    return place;
}

static void grow(struct map *map)
{
    struct map old = *map;

    map->capacity = old.capacity == 0 ? FIRST_CAPACITY : 2 * old.capacity;
    map->entries = calloc(map->capacity, sizeof *map->entries);
    ensure_memory(map->entries != NULL);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.entries[i].record != NULL) {
            map->entries[place_of(map, old.entries[i].key)] = old.entries[i];
        }
    }
    free(old.entries);
}

/* May the entry at `from` move back to the empty place `to`, by I1? */
static int may_move(const struct map *map, size_t from, size_t to)
{
    size_t mask = map->capacity - 1;
    size_t home = home_of(map, map->entries[from].key);

    return ((from - home) & mask) >= ((from - to) & mask);
}

void *map_find(const struct map *map, uint64_t key)
{
    if (map->n == 0) {
        return NULL;
    }
    return map->entries[place_of(map, key)].record;
}

void map_add(struct map *map, uint64_t key, void *record)
{
    if (2 * (map->n + 1) > map->capacity) {
        grow(map);
    }
    map->entries[place_of(map, key)] =
        (struct map_entry){.key = key, .record = record};
    map->n++;
}

struct map_entry *map_reach(struct map *map, uint64_t key)
{
    struct map_entry *entry;

    if (2 * (map->n + 1) > map->capacity) {
        grow(map);
    }
    entry = &map->entries[place_of(map, key)];
    if (entry->record == NULL) {
        entry->key = key;
        map->n++;
    }
    return entry;
}

void *map_take(struct map *map, uint64_t key)
{
    size_t empty;
    void *record;

    if (map->n == 0) {
        return NULL;
    }
    empty = place_of(map, key);
    record = map->entries[empty].record;
    if (record == NULL) {
        return NULL;
    }
    for (size_t place = next_place(map, empty);
         map->entries[place].record != NULL; place = next_place(map, place)) {
        if (may_move(map, place, empty)) {
            map->entries[empty] = map->entries[place];
            empty = place;
        }
    }
    map->entries[empty].record = NULL;
    map->n--;
    return record;
}

void *map_at(const struct map *map, size_t place)
{
    return map->entries[place].record;
}

void map_release(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}

int map_is_valid(const struct map *map)
{
    size_t n = 0;

    for (size_t i = 0; i < map->capacity; i++) {
        const struct map_entry *entry = &map->entries[i];

        if (entry->record != NULL) {
            n++;
            if (place_of(map, entry->key) != i) {
                return 0;
            }
        }
    }
    return n == map->n && 2 * n <= map->capacity;
}

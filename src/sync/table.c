// SPDX-License-Identifier: BSD-3-Clause
//
// Open addressing with linear probing. I1: between the place that a key hashes
// to and the place where it is, no entry is empty. I2: at most half of the
// entries are used. Taking a key out moves later entries back instead of
// leaving a mark, so that a table that is filled and emptied for ever stays as
// fast as new.
#include "sync/table.h"

#include <stdlib.h>
#include <string.h>

#include "sync/pool.h"

enum { FIRST_CAPACITY = 64 };

static size_t home_of(const struct table *table, uint64_t key)
{
    return key_hash(key) & (table->capacity - 1);
}

static size_t next_place(const struct table *table, size_t place)
{
    return (place + 1) & (table->capacity - 1);
}

/* The place of a key, or the empty place where it would be. */
static size_t place_of(const struct table *table, uint64_t key)
{
    size_t place = home_of(table, key);

    while (table->entries[place].record != NULL &&
           table->entries[place].key != key) {
        place = next_place(table, place);
    }
    return place;
}

static void grow(struct table *table)
{
    struct table old = *table;
    size_t size;

    table->capacity = old.capacity == 0 ? FIRST_CAPACITY : 2 * old.capacity;
    size = table->capacity * sizeof *table->entries;
    table->entries = memory_grow(NULL, size);
    memset(table->entries, 0, size);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.entries[i].record != NULL) {
            table->entries[place_of(table, old.entries[i].key)] =
                old.entries[i];
        }
    }
    free(old.entries);
}

/* May the entry at `from` move back to the empty place `to`, by I1? */
static int may_move(const struct table *table, size_t from, size_t to)
{
    size_t mask = table->capacity - 1;
    size_t home = home_of(table, table->entries[from].key);

    return ((from - home) & mask) >= ((from - to) & mask);
}

uint64_t key_hash(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

void *table_find(const struct table *table, uint64_t key)
{
    if (table->n == 0) {
        return NULL;
    }
    return table->entries[place_of(table, key)].record;
}

void table_add(struct table *table, uint64_t key, void *record)
{
    if (2 * (table->n + 1) > table->capacity) {
        grow(table);
    }
    table->entries[place_of(table, key)] =
        (struct table_entry){.key = key, .record = record};
    table->n++;
}

void *table_take(struct table *table, uint64_t key)
{
    size_t empty;
    void *record;

    if (table->n == 0) {
        return NULL;
    }
    empty = place_of(table, key);
    record = table->entries[empty].record;
    if (record == NULL) {
        return NULL;
    }
    for (size_t place = next_place(table, empty);
         table->entries[place].record != NULL;
         place = next_place(table, place)) {
        if (may_move(table, place, empty)) {
            table->entries[empty] = table->entries[place];
            empty = place;
        }
    }
    table->entries[empty].record = NULL;
    table->n--;
    return record;
}

void *table_at(const struct table *table, size_t place)
{
    return table->entries[place].record;
}

void table_release(struct table *table)
{
    free(table->entries);
    *table = (struct table){0};
}

int table_is_valid(const struct table *table)
{
    size_t n = 0;

    for (size_t i = 0; i < table->capacity; i++) {
        const struct table_entry *entry = &table->entries[i];

        if (entry->record != NULL) {
            n++;
            if (place_of(table, entry->key) != i) {
                return 0;
            }
        }
    }
    return n == table->n && 2 * n <= table->capacity;
}

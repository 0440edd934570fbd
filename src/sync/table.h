// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_TABLE_H
#define SYNC_TABLE_H

#include <stddef.h>
#include <stdint.h>

/** A hash table from u64 keys to records; keeps pointers, owns no records. */
struct table {
    struct table_entry *entries; ///< [capacity], open addressing
    size_t capacity;             ///< 0 or a power of two
    size_t n;
};

struct table_entry {
    uint64_t key;
    void *record; ///< NULL: the entry is empty
};

/** A well spread number for a key; the same on all nodes. */
uint64_t key_hash(uint64_t key);

/** @return the record of a key, NULL if there is none */
void *table_find(const struct table *table, uint64_t key);

/** Add a record under a key that has none; short of memory the process ends. */
void table_add(struct table *table, uint64_t key, void *record);

/** Take a key out. @return its record, NULL if there was none */
void *table_take(struct table *table, uint64_t key);

/** @return the record at a place < capacity, NULL if the place is empty */
void *table_at(const struct table *table, size_t place);

void table_release(struct table *table);

/** Checks that every record is found under its key. */
int table_is_valid(const struct table *table);

#endif

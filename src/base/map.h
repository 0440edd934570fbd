// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

/** A hash map from u64 keys to records; keeps pointers, owns no records. */
struct map {
    struct map_entry *entries; ///< [capacity], open addressing
    size_t capacity;           ///< 0 or a power of two
    size_t n;
};

struct map_entry {
    uint64_t key;
    void *record; ///< NULL: the entry is empty
};

/** @return the record of a key, NULL if there is none */
void *map_find(const struct map *map, uint64_t key);

/** Add a record under a key that has none; short of memory the process ends. */
void map_add(struct map *map, uint64_t key, void *record);

/** Take a key out. @return its record, NULL if there was none */
void *map_take(struct map *map, uint64_t key);

/** @return the record at a place < capacity, NULL if the place is empty */
void *map_at(const struct map *map, size_t place);

void map_release(struct map *map);

/* Maps to indices of an array, not to records; a map has one or the other. */

#define MAP_NONE UINT32_MAX

/** @return the index of a key, MAP_NONE if there is none */
static inline uint32_t map_find_index(const struct map *map, uint64_t key)
{
    return (uint32_t)(uintptr_t)map_find(map, key) - 1;
}

/** As map_add(). @param index  < MAP_NONE */
static inline void map_add_index(struct map *map, uint64_t key, uint32_t index)
{
    map_add(map, key, (void *)((uintptr_t)index + 1)); // NULL is none
}

/** The entry of a key, which is added if there is none: then its index is MAP_NONE, and is to be set
 * before anything else is asked of the map. Good until a key is added or taken out. */
struct map_entry *map_reach(struct map *map, uint64_t key);

/** @return the index in an entry, or MAP_NONE */
static inline uint32_t map_index_in(const struct map_entry *entry)
{
    return (uint32_t)(uintptr_t)entry->record - 1;
}

/** Put one there. @param index  < MAP_NONE */
static inline void map_set_index(struct map_entry *entry, uint32_t index)
{
    entry->record = (void *)((uintptr_t)index + 1);
}

/** Checks that every record is found under its key. */
int map_is_valid(const struct map *map);

#endif

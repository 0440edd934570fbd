// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/map.h"
#include "base/pool.h"

/** Records of one size under u64 keys: a map that owns what is in it. */
struct table {
    struct map map;
    struct pool pool;
};

/** @param size  bytes of a record */
void table_init(struct table *table, size_t size);
void table_release(struct table *table);

/** @return the record of a key, NULL if there is none */
static inline void *table_find(const struct table *table, uint64_t key)
{
    return map_find(&table->map, key);
}

/** @return the record of a key; if there was none a new one, all bytes zero */
void *table_get(struct table *table, uint64_t key);

/** Forget the record of a key, if there is one. */
void table_drop(struct table *table, uint64_t key);

/** @return the next record; NULL behind the last. Nothing may be added or dropped
 * meanwhile. @param place  0 before the first */
void *table_next(const struct table *table, size_t *place);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#include "base/table.h"

void table_init(struct table *table, size_t size)
{
    *table = (struct table){0};
    pool_init(&table->pool, size);
}

void table_release(struct table *table)
{
    map_release(&table->map);
    pool_release(&table->pool);
}

void *table_get(struct table *table, uint64_t key)
{
    void *record = table_find(table, key);

    if (record == NULL) {
        record = pool_take(&table->pool);
        map_add(&table->map, key, record);
    }
    return record;
}

void table_drop(struct table *table, uint64_t key)
{
    void *record = map_take(&table->map, key);

    if (record != NULL) {
        pool_give(&table->pool, record);
    }
}

void *table_next(const struct table *table, size_t *place)
{
    void *record = NULL;

    while (record == NULL && *place < table->map.capacity) {
        record = map_at(&table->map, (*place)++);
    }
    return record;
}

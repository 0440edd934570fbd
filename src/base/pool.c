// SPDX-License-Identifier: BSD-3-Clause
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/list.h"

struct pool_record {
    struct pool_record *next;
};

struct pool_chunk {
    struct pool_chunk *next;
    max_align_t records[];
};

enum { RECORDS_PER_CHUNK = 64 };

static void add_chunk(struct pool *pool)
{
    struct pool_chunk *chunk =
        malloc(sizeof *chunk + RECORDS_PER_CHUNK * pool->size);
    char *record;

    ensure_memory(chunk != NULL);
    record = (char *)chunk->records;
    list_push(pool->chunks, chunk);
    for (int i = 0; i < RECORDS_PER_CHUNK; i++) {
        pool_give(pool, record + (size_t)i * pool->size);
    }
}

void pool_init(struct pool *pool, size_t size)
{
    size_t unit = sizeof(max_align_t);

    *pool = (struct pool){.size = (size + unit - 1) / unit * unit};
}

void pool_release(struct pool *pool)
{
    list_take_each (chunk, pool->chunks) {
        free(chunk);
    }
    pool->free = NULL;
}

void *pool_take(struct pool *pool)
{
    struct pool_record *record;

    if (pool->free == NULL) {
        add_chunk(pool);
    }
    record = pool->free;
    pool->free = record->next;
    memset(record, 0, pool->size);
    return record;
}

void pool_give(struct pool *pool, void *record)
{
    struct pool_record *given = record;

    list_push(pool->free, given);
}

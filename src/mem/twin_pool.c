// SPDX-License-Identifier: BSD-3-Clause
/*
 * The pool is a number of chunks of 64 pages, each aligned to its size, so that a
 * buffer's chunk is known from its address. A chunk's first page is its record;
 * the others are the buffers, with a bit each. Which of the three lists a chunk
 * is on follows from its bits; buffers are taken from chunks in part used before
 * empty ones, so that those stay empty and can go.
 */
#include "mem/twin_pool.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/ensure.h"
#include "base/list.h"
#include "base/log.h"
#include "base/status.h"

#define CHUNK_PAGES 64u
#define CHUNK_SIZE (CHUNK_PAGES * (size_t)TM_PAGE_SIZE)
#define CHUNK_BUFFERS (CHUNK_PAGES - 1)
#define ALL_UNUSED (~UINT64_C(1)) // page 0 is the record

struct twin_pool_chunk {
    struct twin_pool_chunk *next;
    struct twin_pool_chunk *previous;
    uint64_t unused; ///< bit i: the buffer in page i
};

static struct twin_pool_chunk **list_of(struct twin_pool *pool,
                                        const struct twin_pool_chunk *chunk)
{
    if (chunk->unused == 0) {
        return &pool->full;
    }
    return chunk->unused == ALL_UNUSED ? &pool->empty : &pool->partial;
}

static void list(struct twin_pool *pool, struct twin_pool_chunk *chunk)
{
    struct twin_pool_chunk **first = list_of(pool, chunk);

    chunk->previous = NULL;
    chunk->next = *first;
    if (chunk->next != NULL) {
        chunk->next->previous = chunk;
    }
    *first = chunk;
}

static void unlist(struct twin_pool *pool, struct twin_pool_chunk *chunk)
{
    if (chunk->previous == NULL) {
        *list_of(pool, chunk) = chunk->next;
    } else {
        chunk->previous->next = chunk->next;
    }
    if (chunk->next != NULL) {
        chunk->next->previous = chunk->previous;
    }
}

/** Twice as much is mapped as needed, and what is not aligned goes back. */
static struct twin_pool_chunk *map_chunk(const struct twin_pool *pool)
{
    char *start = mmap(NULL, 2 * CHUNK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (start == MAP_FAILED) {
        log_fatal(EXIT_MEMORY, "out of memory for twins (%zu in use): %m",
                  pool->n_used);
    }
    before = -(uintptr_t)start % CHUNK_SIZE;
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(start + before + CHUNK_SIZE, CHUNK_SIZE - before);
    return (struct twin_pool_chunk *)(start + before);
}

static void add_chunk(struct twin_pool *pool)
{
    struct twin_pool_chunk *chunk = map_chunk(pool);

    chunk->unused = ALL_UNUSED;
    list(pool, chunk);
    pool->n_chunks++;
}

static void give_back_some(struct twin_pool *pool)
{
    while (pool->empty != NULL && pool->n_chunks > 1 &&
           pool->n_used < pool->n_chunks * CHUNK_BUFFERS / 2) {
        struct twin_pool_chunk *chunk = pool->empty;

        unlist(pool, chunk);
        pool->n_chunks--;
        (void)munmap(chunk, CHUNK_SIZE);
    }
}

static void unmap_all(struct twin_pool_chunk *chunks)
{
    list_take_each (chunk, chunks) {
        (void)munmap(chunk, CHUNK_SIZE);
    }
}

void twin_pool_init(struct twin_pool *pool)
{
    memset(pool, 0, sizeof(*pool));
}

void twin_pool_release(struct twin_pool *pool)
{
    unmap_all(pool->partial);
    unmap_all(pool->empty);
    unmap_all(pool->full);
    twin_pool_init(pool);
}

char *twin_pool_get(struct twin_pool *pool)
{
    struct twin_pool_chunk *chunk;
    unsigned page;

    if (pool->partial == NULL && pool->empty == NULL) {
        add_chunk(pool);
    }
    chunk = pool->partial != NULL ? pool->partial : pool->empty;
    page = (unsigned)__builtin_ctzll(chunk->unused);
    unlist(pool, chunk);
    chunk->unused &= ~(UINT64_C(1) << page);
    list(pool, chunk);
    pool->n_used++;
    return (char *)chunk + page * (size_t)TM_PAGE_SIZE;
}

void twin_pool_put(struct twin_pool *pool, char *buffer)
{
    size_t offset = (uintptr_t)buffer % CHUNK_SIZE;
    struct twin_pool_chunk *chunk = (struct twin_pool_chunk *)(buffer - offset);
    uint64_t bit = UINT64_C(1) << offset / TM_PAGE_SIZE;

    ensure(offset % TM_PAGE_SIZE == 0 && offset > 0 &&
           (chunk->unused & bit) == 0);
    unlist(pool, chunk);
    chunk->unused |= bit;
    list(pool, chunk);
    pool->n_used--;
    give_back_some(pool);
}

/** Whether the chunks of a list belong there; counts them and what is used. */
static int list_is_valid(const struct twin_pool_chunk *chunk, int is_full,
                         int is_empty, size_t counts[2])
{
    const struct twin_pool_chunk *before = NULL;

    for (; chunk != NULL; chunk = chunk->next) {
        if (chunk->previous != before || (chunk->unused & 1) != 0 ||
            (chunk->unused == 0) != is_full ||
            (chunk->unused == ALL_UNUSED) != is_empty) {
            return 0;
        }
        counts[0]++;
        counts[1] +=
            CHUNK_BUFFERS - (size_t)__builtin_popcountll(chunk->unused);
        before = chunk;
    }
    return 1;
}

int twin_pool_is_valid(const struct twin_pool *pool)
{
    size_t counts[2] = {0, 0};

    return list_is_valid(pool->partial, 0, 0, counts) &&
           list_is_valid(pool->empty, 0, 1, counts) &&
           list_is_valid(pool->full, 1, 0, counts) &&
           counts[0] == pool->n_chunks && counts[1] == pool->n_used;
}

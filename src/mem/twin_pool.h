// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_TWIN_POOL_H
#define MEM_TWIN_POOL_H

#include <stddef.h>

/*
 * Buffers of one page each, aligned to a page, for twins. Not thread-safe: node
 * lock. Memory comes in chunks; while less than half of the buffers is used,
 * chunks that are not used at all go back to the system, except for the last.
 */
struct twin_pool {
    struct twin_pool_chunk *partial; ///< with used and unused buffers
    struct twin_pool_chunk *empty;   ///< none used
    struct twin_pool_chunk *full;    ///< all used
    size_t n_chunks;
    size_t n_used; ///< buffers
};

void twin_pool_init(struct twin_pool *pool);

/** Buffers that are still used become invalid. */
void twin_pool_release(struct twin_pool *pool);

/** @return a buffer of TM_PAGE_SIZE bytes; never NULL: without memory the
 * process ends with a clear line (exit code 71) */
char *twin_pool_get(struct twin_pool *pool);
void twin_pool_put(struct twin_pool *pool, char *buffer);

int twin_pool_is_valid(const struct twin_pool *pool);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

/*
 * Records of one size. What is given back is taken again; the memory goes back
 * to the system with pool_release() only, so that a steady program allocates
 * nothing.
 */
struct pool {
    size_t size;
    struct pool_record *free;
    struct pool_chunk *chunks;
};

/** @param size  bytes of a record */
void pool_init(struct pool *pool, size_t size);
void pool_release(struct pool *pool);

/** @return a record, all bytes zero; short of memory the process ends */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *record);

#endif

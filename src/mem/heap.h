// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_HEAP_H
#define MEM_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Who has which part of the shared address space: blocks of whole pages, their
 * extents, each with one unused page behind it, so that running off its end faults.
 * Such pages count in the space given to heap_new(), nowhere else. Some of these
 * extents are slabs, in which nodes put small blocks (mem/slabs.h). Lives on the root.
 * All records are in private memory; shared memory is never touched here. Not
 * thread-safe: node lock.
 *
 * The pages of an extent that is new were unused or passed heap_reuse().
 */
struct heap;

struct heap_extent {
    page_no page;
    uint64_t n_pages; ///< usable; the guard page behind is not counted
};

struct heap_block {
    uint64_t address;
    uint64_t size;     ///< as asked for
    uint64_t capacity; ///< bytes up to the end of the cell or last page
    uint32_t line;     ///< of the tm_alloc()
    char file[64];     ///< its end part, if it was longer
    char name[32];     ///< its start, if it was longer
};

/** What a block is called, and where it is allocated, or freed. Texts may be NULL, and
 * too long. */
struct heap_origin {
    const char *name;
    const char *file;
    uint32_t line;
};

/** A place as text, "file.c:12". */
#define HEAP_PLACE_SIZE 80u

/** @param first_page, n_pages  the space to give out
 *  @param base                 address of first_page
 *  @return NULL if memory is short */
struct heap *heap_new(page_no first_page, uint64_t n_pages, uint64_t base);
void heap_free(struct heap *heap);

/**
 * @param size      bytes, > 0
 * @param[out] block  as allotted
 * @param[out] extent the block's
 * @return TM_OK, TM_EINVAL (size 0), TM_ENOMEM
 */
TM_CHECKED tm_status heap_alloc(struct heap *heap, uint64_t size,
                                const struct heap_origin *origin,
                                struct heap_block *block,
                                struct heap_extent *extent);

/** The same, at pages that were the block's before, in another run.
 * @return TM_OK, TM_EINVAL (it has no size, or they are in use), TM_ENOMEM */
TM_CHECKED tm_status heap_alloc_at(struct heap *heap, page_no page,
                                   uint64_t size,
                                   const struct heap_origin *origin,
                                   struct heap_block *block,
                                   struct heap_extent *extent);

/** Pages of the largest block that there is room for. */
uint64_t heap_room(const struct heap *heap);

/**
 * Free a block. Its extent is *closed* then: not given out, until heap_reuse().
 *
 * @param place     of the tm_free(), kept to explain a second one; without a name
 * @param[out] extent the extent that closes
 * @param[out] block  the block as it was; for TM_EFREED its `file`, `line` say
 *                    where it was allocated
 * @param[out] freed_at  [HEAP_PLACE_SIZE] for TM_EFREED: where it was freed first
 * @return TM_OK, TM_ENOBLOCK, TM_EFREED
 */
TM_CHECKED tm_status heap_release(struct heap *heap, uint64_t address,
                                  const struct heap_origin *place,
                                  struct heap_block *block,
                                  struct heap_extent *extent, char *freed_at);

/** All nodes have forgotten a closed extent: its addresses can be used again. */
void heap_reuse(struct heap *heap, page_no page);

/** The block that an address lies in. @return TM_OK, TM_ENOBLOCK */
TM_CHECKED tm_status heap_around(const struct heap *heap, uint64_t address,
                                 struct heap_block *block);

/** Checks every invariant; for tests and debug builds. */
int heap_is_valid(const struct heap *heap);

#endif

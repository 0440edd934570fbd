// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_HEAP_H
#define MEM_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Who has which part of the shared address space: blocks, and the extents (runs
 * of whole pages) they lie in. Lives on the root. All records are in private
 * memory; shared memory is never touched here. Not thread-safe: node lock.
 *
 * A large block (or one with attributes) is an extent of its own, with one
 * unused page behind it, so that running off its end faults. Small blocks, up to
 * HEAP_SMALL_MAX bytes, lie in slabs, extents of equal cells; a cell has at least
 * HEAP_REDZONE bytes behind the block, which the caller of tm_alloc() fills with
 * a pattern and the caller of tm_free() checks. Slabs have the unused page behind
 * them too; such pages count in the space given to heap_new(), nowhere else.
 *
 * A slab whose last block is freed closes, except for one of each size, which
 * stays for the next block. So a cell may be used again at once, as it was left;
 * the pages of an extent that is new were unused or passed heap_reuse().
 */
#define HEAP_SMALL_MAX 2048u
#define HEAP_REDZONE 8u

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

/** @param first_page, n_pages  the space to give out
 *  @param base                 address of first_page
 *  @return NULL if memory is short */
struct heap *heap_new(page_no first_page, uint64_t n_pages, uint64_t base);
void heap_free(struct heap *heap);

/**
 * @param size      bytes, > 0
 * @param alignment a power of two, 16 to TM_PAGE_SIZE; that: start on a page of its own
 *                  whatever the size
 * @param[out] block  as allotted
 * @param[out] extent the block's; n_pages is 0 if it is there already, and not new
 *                    because of this block
 * @return TM_OK, TM_EINVAL (size 0), TM_ENOMEM
 */
TM_CHECKED tm_status heap_alloc(struct heap *heap, uint64_t size,
                                uint32_t alignment, const char *name,
                                const char *file, uint32_t line,
                                struct heap_block *block,
                                struct heap_extent *extent);

/**
 * Free a block. If its extent is unused now, it is *closed*: still not given
 * out, until heap_reuse().
 *
 * @param file, line  of the tm_free(), kept to explain a second one
 * @param[out] extent the extent that closes; n_pages 0 if none does
 * @param[out] block  the block as it was; for TM_EFREED its `file`, `line` say
 *                    where it was allocated
 * @param[out] freed_at  [80] for TM_EFREED: "file.c:12" of the first free
 * @return TM_OK, TM_ENOBLOCK, TM_EFREED
 */
TM_CHECKED tm_status heap_release(struct heap *heap, uint64_t address,
                                  const char *file, uint32_t line,
                                  struct heap_block *block,
                                  struct heap_extent *extent, char *freed_at);

/** All nodes have forgotten a closed extent: its addresses can be used again. */
void heap_reuse(struct heap *heap, page_no page);

/** The block that starts at an address. @return TM_OK, TM_ENOBLOCK */
TM_CHECKED tm_status heap_lookup(const struct heap *heap, uint64_t address,
                                 struct heap_block *block);

/** The block that an address lies in. @return TM_OK, TM_ENOBLOCK */
TM_CHECKED tm_status heap_around(const struct heap *heap, uint64_t address,
                                 struct heap_block *block);

/** Checks every invariant; for tests and debug builds. */
int heap_is_valid(const struct heap *heap);

#endif

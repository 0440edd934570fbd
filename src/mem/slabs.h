// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_SLABS_H
#define MEM_SLABS_H

#include "mem/heap.h"

/*
 * The slabs that a node holds: extents of equal cells for small blocks, up to
 * HEAP_SMALL_MAX bytes. A cell has at least HEAP_REDZONE bytes behind the block, which
 * the caller of tm_alloc() fills and the caller of tm_free() checks (runtime/cell.h); but
 * see CELL_GRAIN.
 * A cell may be used again at once, as it was left. Like the heap (mem/heap.h) this
 * touches no shared memory, and is guarded by the node lock.
 */
#define HEAP_SMALL_MAX 2048u
#define HEAP_REDZONE 8u

/** Pages of a slab, or frames, if there is room for so many. */
#define SLAB_PAGES 16u

struct slabs;

/** @return NULL if memory is short */
struct slabs *slabs_new(void);
void slabs_free(struct slabs *slabs);

/** The cells of a slab are of one kind: their bytes, and CELL_GRAIN if each is a page of
 * its own, of which several lie in a frame (mem/grain.h). A block may fill such a cell,
 * which has no bytes behind it then. */
#define CELL_GRAIN 0x10000u

/** How many a cell has. */
static inline uint32_t slabs_cell_bytes(uint32_t kind)
{
    return kind & ~CELL_GRAIN;
}

/** Pages of a slab that show the same memory. */
static inline uint32_t slabs_cell_views(uint32_t kind)
{
    return kind & CELL_GRAIN ? TM_PAGE_SIZE / slabs_cell_bytes(kind) : 1;
}

/** Where a cell lies, from the first byte of its slab.
 * @param n_pages  of the slab: a multiple of slabs_cell_views() */
uint64_t slabs_cell_offset(uint32_t kind, uint64_t n_pages, uint64_t cell);

/** The cell that a byte of a slab lies in.
 * @param[out] cell
 * @return 1, or 0: it lies in none */
int slabs_cell_around(uint32_t kind, uint64_t n_pages, uint64_t offset,
                      uint64_t *cell);

/** Cells that a small block lies in; 0: it is none.
 * @param alignment  a power of two, at least 16
 * @return their kind */
uint32_t slabs_kind(uint64_t size, uint32_t alignment);

/** Cells of so many bytes that are pages of their own.
 * @return their kind; 0: there are none */
uint32_t slabs_grain_kind(uint64_t grain);

/** Is this a kind that cells have? */
int slabs_has_kind(uint64_t kind);

/** Hold one more slab, all free. Its pages are of no other.
 * @param address, n_pages  of its extent
 * @return TM_OK, TM_ENOMEM, TM_EINVAL it is held already */
TM_CHECKED tm_status slabs_add(struct slabs *slabs, uint64_t address,
                               uint64_t n_pages, uint32_t kind);

/** Put a block into a cell.
 * @param kind  of slabs_kind() or slabs_grain_kind()
 * @param size  fits
 * @return its address; 0: no slab has room for it, or memory is short */
uint64_t slabs_alloc(struct slabs *slabs, uint32_t kind, uint64_t size,
                     const struct heap_origin *origin);

/**
 * Free a block, as heap_release().
 *
 * @param[out] empty  the slab that nothing is left in, which is held no longer: it is
 *                    to be given back; 0: none is. (One empty slab of each size stays.)
 */
TM_CHECKED tm_status slabs_release(struct slabs *slabs, uint64_t address,
                                   const struct heap_origin *place,
                                   struct heap_block *block, uint64_t *empty,
                                   char *freed_at);

/** The block that an address lies in. @return TM_OK, TM_ENOBLOCK */
TM_CHECKED tm_status slabs_around(const struct slabs *slabs, uint64_t address,
                                  struct heap_block *block);

// ---- one node gives all to another

/** A block that is live, or was freed lately. */
struct slabs_entry {
    struct heap_block block;
    const char *freed_file; ///< NULL: it is live
    uint32_t freed_line;
};

/** Tell somebody of all blocks, those freed first in the order of that. */
void slabs_tell(const struct slabs *slabs,
                void (*tell)(void *owner, const struct slabs_entry *entry),
                void *owner);

/** Note what another node has told. A live block is to lie in a cell, free until now, of
 * a slab that is held here.
 * @return TM_OK, TM_ENOMEM, TM_EINVAL it does not */
TM_CHECKED tm_status slabs_hear(struct slabs *slabs,
                                const struct slabs_entry *entry);

/** Hold nothing any more. */
void slabs_clear(struct slabs *slabs);

/** Checks every invariant; for tests and debug builds. */
int slabs_is_valid(const struct slabs *slabs);

#endif

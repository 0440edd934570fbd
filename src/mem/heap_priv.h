// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_HEAP_PRIV_H
#define MEM_HEAP_PRIV_H

#include "mem/area.h"
#include "mem/heap.h"

#define HEAP_GUARD_PAGES 1u
#define HEAP_CLASSES 24u
#define HEAP_NO_CELL UINT32_MAX

struct heap_cell {
    uint64_t size; ///< as asked for; 0 if the cell is free
    char *label;   ///< file, NUL, name, NUL
    uint32_t line;
    uint32_t next_free;
};

/** A large block (one cell) or a slab of small ones. */
struct heap_slab {
    struct area *area;
    struct heap_slab *previous; ///< in its class, if it has free cells
    struct heap_slab *next;
    unsigned class; ///< HEAP_CLASSES for a large block
    uint64_t cell_size;
    uint32_t n_cells;
    uint32_t n_used;
    uint32_t first_free;
    uint32_t last_free;
    struct heap_cell cells[];
};

/** The last blocks that were freed, to explain what is done to them afterwards. */
#define HEAP_HISTORY 4096u

struct freed_block {
    struct heap_block block;
    char file[64]; ///< of the tm_free()
    uint32_t line;
};

struct heap_history {
    struct freed_block *ring; ///< [HEAP_HISTORY]
    uint64_t n_freed;         ///< ever; the next goes to n_freed % HEAP_HISTORY
};

struct heap_class {
    struct heap_slab *first;
    struct heap_slab *last;
};

struct heap {
    struct area_map areas; ///< content: the struct heap_slab
    struct heap_history history;
    struct heap_class classes[HEAP_CLASSES];
    page_no first_page;
    uint64_t n_pages;
    uint64_t base;
    uint64_t live_bytes;
    uint64_t open_pages;
};

/** @return a slab with a free cell for the block; NULL if there is no room */
struct heap_slab *heap_find_room(struct heap *heap, uint64_t size,
                                 uint32_t alignment);

/** Put a block into a slab that has room. @param label  owned by the slab then
 *  @return the cell */
uint32_t heap_use_cell(struct heap *heap, struct heap_slab *slab, uint64_t size,
                       char *label, uint32_t line);

/** Free a cell; closes the area and frees the slab if it has to.
 *  @return whether it did */
int heap_free_cell(struct heap *heap, struct heap_slab *slab, uint32_t cell);

/** Free the records of a slab, whatever is in it. */
void heap_slab_free(struct heap_slab *slab);

/** Check a slab and add up the bytes in it. */
int heap_slab_is_valid(const struct heap_slab *slab, uint64_t *bytes);

/** Check the list of a class and count what is in it. */
int heap_class_is_valid(const struct heap *heap, unsigned class,
                        uint64_t *n_listed);

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The heap of shared blocks. The space is a map of areas (mem/area.h); each area
 * in use is a slab (mem/heap_slab.c), which holds one large block or many small
 * ones.
 *
 *   area      becomes by
 *   free      used    heap_alloc(): lowest free pages that are enough
 *   used      closed  heap_release() of its last block
 *   closed    free    heap_reuse(); joins free neighbours
 *
 * What was freed lately is kept in a history, to explain a
 * second tm_free().
 *
 * Finding a block takes time logarithmic in the number of areas.
 *
 * Invariants, besides those of areas and slabs
 * I1  An area has a slab if and only if it is used; the slab's cells fill all its
 *     pages but the last.
 * I2  live_bytes and open_pages are the sums over all blocks and over all areas
 *     that are not free, guard pages left out.
 */
#include "mem/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "mem/heap_priv.h"

static uint64_t address_of(const struct heap *heap, page_no page)
{
    return heap->base + (page - heap->first_page) * TM_PAGE_SIZE;
}

static uint64_t cell_address(const struct heap *heap,
                             const struct heap_slab *slab, uint32_t cell)
{
    return address_of(heap, slab->area->page) + cell * slab->cell_size;
}

static uint64_t usable_pages(const struct area *area)
{
    return area->n_pages - HEAP_GUARD_PAGES;
}

/** Copy a text that may be too long: its end part. @param size  of `to` */
static void copy_end(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size) {
        text += length - (size - 1);
        length = size - 1;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

/** File and name in one piece of memory, cut to what a heap_block holds. */
static char *new_label(const char *file, const char *name)
{
    struct heap_block cut = {0};
    size_t file_size;
    size_t name_size;
    char *label;

    copy_end(cut.file, sizeof(cut.file), file == NULL ? "" : file);
    if (name != NULL) {
        strncpy(cut.name, name, sizeof(cut.name) - 1);
    }
    file_size = strlen(cut.file) + 1;
    name_size = strlen(cut.name) + 1;
    label = malloc(file_size + name_size);
    if (label != NULL) {
        memcpy(label, cut.file, file_size);
        memcpy(label + file_size, cut.name, name_size);
    }
    return label;
}

static void describe(const struct heap *heap, const struct heap_slab *slab,
                     uint32_t number, struct heap_block *block)
{
    const struct heap_cell *cell = &slab->cells[number];
    size_t file_size = strlen(cell->label) + 1;

    memset(block, 0, sizeof(*block));
    block->address = cell_address(heap, slab, number);
    block->size = cell->size;
    block->capacity = slab->cell_size;
    block->line = cell->line;
    memcpy(block->file, cell->label, file_size);
    memcpy(block->name, cell->label + file_size,
           strlen(cell->label + file_size));
}

/* ---- Finding ------------------------------------------------------------ */

/** The area that an address is in; NULL outside the heap. */
static struct area *area_around(const struct heap *heap, uint64_t address)
{
    if (address < heap->base) {
        return NULL;
    }
    return area_find(&heap->areas,
                     heap->first_page + (address - heap->base) / TM_PAGE_SIZE);
}

/** The live block in whose cell an address is.
 * @param[out] cell  @return its slab; NULL if there is none */
static struct heap_slab *live_around(const struct heap *heap, uint64_t address,
                                     uint32_t *cell)
{
    struct area *area = area_around(heap, address);
    struct heap_slab *slab = area == NULL ? NULL : area->content;
    uint64_t number;

    if (slab == NULL) {
        return NULL;
    }
    number = (address - address_of(heap, area->page)) / slab->cell_size;
    if (number >= slab->n_cells || slab->cells[number].size == 0) {
        return NULL;
    }
    *cell = (uint32_t)number;
    return slab;
}

/* ---- History ------------------------------------------------------------ */

/** Remember a block; the oldest one is forgotten. */
static void note_freed(struct heap_history *history,
                       const struct heap_block *block, const char *file,
                       uint32_t line)
{
    struct freed_block *freed = &history->ring[history->n_freed % HEAP_HISTORY];

    freed->block = *block;
    copy_end(freed->file, sizeof(freed->file), file == NULL ? "" : file);
    freed->line = line;
    history->n_freed++;
}

/** @return the block that started there, freed last of all such; NULL if it is
 *          not known */
static const struct freed_block *find_freed(const struct heap_history *history,
                                            uint64_t address)
{
    uint64_t n_known =
        history->n_freed < HEAP_HISTORY ? history->n_freed : HEAP_HISTORY;

    for (uint64_t i = 1; i <= n_known; i++) { // the last one first
        const struct freed_block *freed =
            &history->ring[(history->n_freed - i) % HEAP_HISTORY];

        if (freed->block.address == address) {
            return freed;
        }
    }
    return NULL;
}

/* ---- Public ------------------------------------------------------------- */

struct heap *heap_new(page_no first_page, uint64_t n_pages, uint64_t base)
{
    struct heap *heap = calloc(1, sizeof(*heap));

    if (heap == NULL) {
        return NULL;
    }
    heap->first_page = first_page;
    heap->n_pages = n_pages;
    heap->base = base;
    heap->history.ring = calloc(HEAP_HISTORY, sizeof *heap->history.ring);
    if (area_map_init(&heap->areas, first_page, n_pages) != TM_OK ||
        heap->history.ring == NULL) {
        heap_free(heap);
        return NULL;
    }
    return heap;
}

void heap_free(struct heap *heap)
{
    struct area *area;

    if (heap == NULL) {
        return;
    }
    area = area_find(&heap->areas, heap->first_page);
    for (; area != NULL; area = area_next(&heap->areas, area)) {
        heap_slab_free(area->content);
    }
    free(heap->history.ring);
    area_map_release(&heap->areas);
    free(heap);
}

// NOLINTNEXTLINE(readability-function-size): a block has that many properties
tm_status heap_alloc(struct heap *heap, uint64_t size, uint32_t alignment,
                     const char *name, const char *file, uint32_t line,
                     struct heap_block *block, struct heap_extent *extent)
{
    uint64_t pages_before = heap->open_pages;
    struct heap_slab *slab;
    char *label;

    if (size == 0) {
        return TM_EINVAL;
    }
    label = new_label(file, name);
    slab = label == NULL ? NULL : heap_find_room(heap, size, alignment);
    if (slab == NULL) {
        free(label);
        return TM_ENOMEM;
    }
    describe(heap, slab, heap_use_cell(heap, slab, size, label, line), block);
    extent->page = slab->area->page;
    extent->n_pages = heap->open_pages - pages_before;
    return TM_OK;
}

/** heap_release() of an address where no block is. */
static tm_status explain(const struct heap *heap, uint64_t address,
                         struct heap_block *block, char *freed_at)
{
    const struct freed_block *freed = find_freed(&heap->history, address);

    if (freed == NULL) {
        return TM_ENOBLOCK;
    }
    *block = freed->block;
    snprintf(freed_at, 80, "%s:%u", freed->file, freed->line);
    return TM_EFREED;
}

tm_status heap_release(struct heap *heap, uint64_t address, const char *file,
                       uint32_t line, struct heap_block *block,
                       struct heap_extent *extent, char *freed_at)
{
    uint32_t cell = 0;
    struct heap_slab *slab = live_around(heap, address, &cell);
    struct area *area;

    if (slab == NULL) {
        return explain(heap, address, block, freed_at);
    }
    if (cell_address(heap, slab, cell) != address) {
        return TM_ENOBLOCK;
    }
    area = slab->area;
    describe(heap, slab, cell, block);
    note_freed(&heap->history, block, file, line);
    extent->page = area->page;
    extent->n_pages = heap_free_cell(heap, slab, cell) ? usable_pages(area) : 0;
    return TM_OK;
}

void heap_reuse(struct heap *heap, page_no page)
{
    struct area *area = area_find(&heap->areas, page);

    ensure(area != NULL && area->page == page && area->state == AREA_CLOSED);
    heap->open_pages -= usable_pages(area);
    area_give(&heap->areas, area);
}

tm_status heap_lookup(const struct heap *heap, uint64_t address,
                      struct heap_block *block)
{
    uint32_t cell = 0;
    struct heap_slab *slab = live_around(heap, address, &cell);

    if (slab == NULL || cell_address(heap, slab, cell) != address) {
        return TM_ENOBLOCK;
    }
    describe(heap, slab, cell, block);
    return TM_OK;
}

tm_status heap_around(const struct heap *heap, uint64_t address,
                      struct heap_block *block)
{
    uint32_t cell = 0;
    struct heap_slab *slab = live_around(heap, address, &cell);

    if (slab == NULL) {
        return TM_ENOBLOCK;
    }
    describe(heap, slab, cell, block);
    return TM_OK;
}

/* ---- Invariants --------------------------------------------------------- */

/** I1, and what is in the slab. */
static int area_is_valid(const struct area *area, uint64_t *bytes)
{
    const struct heap_slab *slab = area->content;

    if (slab == NULL) {
        return area->state != AREA_USED;
    }
    return area->state == AREA_USED && slab->area == area &&
           slab->n_cells ==
               usable_pages(area) * TM_PAGE_SIZE / slab->cell_size &&
           heap_slab_is_valid(slab, bytes);
}

static int has_room(const struct heap_slab *slab)
{
    return slab != NULL && slab->class != HEAP_CLASSES &&
           slab->n_used < slab->n_cells;
}

int heap_is_valid(const struct heap *heap)
{
    const struct area *area = area_find(&heap->areas, heap->first_page);
    uint64_t end = heap->first_page;
    uint64_t bytes = 0;
    uint64_t pages = 0;
    uint64_t n_listed = 0;

    if (!area_map_is_valid(&heap->areas)) {
        return 0;
    }
    for (unsigned i = 0; i < HEAP_CLASSES; i++) {
        if (!heap_class_is_valid(heap, i, &n_listed)) {
            return 0;
        }
    }
    for (; area != NULL; area = area_next(&heap->areas, area)) {
        if (!area_is_valid(area, &bytes)) {
            return 0;
        }
        pages += area->state == AREA_FREE ? 0 : usable_pages(area);
        n_listed -= has_room(area->content);
        end += area->n_pages;
    }
    return end == heap->first_page + heap->n_pages && n_listed == 0 &&
           bytes == heap->live_bytes && pages == heap->open_pages;
}

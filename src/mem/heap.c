// SPDX-License-Identifier: BSD-3-Clause
/*
 * The heap of shared blocks. The space is a map of areas (mem/area.h); each area
 * in use is one block, with one page behind it that is never used.
 *
 *   area      becomes by
 *   free      used    heap_alloc(): lowest free pages that are enough
 *   used      closed  heap_release()
 *   closed    free    heap_reuse(); joins free neighbours
 *
 * Finding a block takes time logarithmic in the number of areas.
 *
 * Invariants, besides those of areas
 * I1  An area has a block's record if and only if it is used.
 * I2  live_bytes and open_pages are the sums over all blocks and over all areas
 *     that are not free, guard pages left out.
 */
#include "mem/heap.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "mem/heap_priv.h"

static uint64_t address_of(const struct heap *heap, page_no page)
{
    return heap->base + (page - heap->first_page) * TM_PAGE_SIZE;
}

static uint64_t usable_pages(const struct area *area)
{
    return area->n_pages - HEAP_GUARD_PAGES;
}

static void describe(const struct heap *heap, const struct area *area,
                     struct heap_block *block)
{
    heap_record_describe(area->content, block);
    block->address = address_of(heap, area->page);
    block->capacity = usable_pages(area) * TM_PAGE_SIZE;
}

/** The area of the live block that an address lies in; NULL if there is none. */
static struct area *live_around(const struct heap *heap, uint64_t address)
{
    struct area *area =
        address < heap->base
            ? NULL
            : area_find(&heap->areas,
                        heap->first_page +
                            (address - heap->base) / TM_PAGE_SIZE);

    return area != NULL && area->state == AREA_USED &&
                   address - address_of(heap, area->page) <
                       usable_pages(area) * TM_PAGE_SIZE
               ? area
               : NULL;
}

static void free_record(struct heap_record *record)
{
    if (record != NULL) {
        heap_record_clear(record);
        free(record);
    }
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
    if (area_map_init(&heap->areas, first_page, n_pages) != TM_OK ||
        heap_history_init(&heap->history) != TM_OK) {
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
        free_record(area->content);
    }
    heap_history_release(&heap->history);
    area_map_release(&heap->areas);
    free(heap);
}

/** Have an area be a block's. @param area  NULL if there is none */
static tm_status become_block(struct heap *heap, struct area *area,
                              uint64_t size, const struct heap_origin *origin,
                              struct heap_block *block,
                              struct heap_extent *extent)
{
    struct heap_record *record = calloc(1, sizeof *record);

    if (area == NULL || record == NULL ||
        heap_record_set(record, size, origin) != TM_OK) {
        if (area != NULL) {
            area_give(&heap->areas, area);
        }
        free(record);
        return TM_ENOMEM;
    }
    area->content = record;
    heap->live_bytes += size;
    heap->open_pages += usable_pages(area);
    describe(heap, area, block);
    *extent = (struct heap_extent){area->page, usable_pages(area)};
    return TM_OK;
}

tm_status heap_alloc(struct heap *heap, uint64_t size,
                     const struct heap_origin *origin, struct heap_block *block,
                     struct heap_extent *extent)
{
    const uint64_t n_pages = (size - 1) / TM_PAGE_SIZE + 1;

    if (size == 0) {
        return TM_EINVAL;
    }
    return become_block(
        heap,
        n_pages < heap->n_pages
            ? area_take(&heap->areas, n_pages + HEAP_GUARD_PAGES)
            : NULL,
        size, origin, block, extent);
}

tm_status heap_alloc_at(struct heap *heap, page_no page, uint64_t size,
                        const struct heap_origin *origin,
                        struct heap_block *block, struct heap_extent *extent)
{
    const uint64_t n_pages = (size - 1) / TM_PAGE_SIZE + 1;
    struct area *area =
        size == 0 || n_pages >= heap->n_pages
            ? NULL
            : area_take_at(&heap->areas, page, n_pages + HEAP_GUARD_PAGES);

    return area == NULL ? TM_EINVAL
                        : become_block(heap, area, size, origin, block, extent);
}

uint64_t heap_room(const struct heap *heap)
{
    const uint64_t largest = area_largest_free(&heap->areas);

    return largest < HEAP_GUARD_PAGES ? 0 : largest - HEAP_GUARD_PAGES;
}

tm_status heap_release(struct heap *heap, uint64_t address,
                       const struct heap_origin *place,
                       struct heap_block *block, struct heap_extent *extent,
                       char *freed_at)
{
    struct area *area = live_around(heap, address);

    if (area == NULL) {
        return heap_history_explain(&heap->history, address, block, freed_at);
    }
    if (address_of(heap, area->page) != address) {
        return TM_ENOBLOCK;
    }
    describe(heap, area, block);
    heap_history_note(&heap->history, block, place->file, place->line);
    heap->live_bytes -= block->size;
    free_record(area->content);
    area->content = NULL;
    area->state = AREA_CLOSED;
    *extent = (struct heap_extent){area->page, usable_pages(area)};
    return TM_OK;
}

void heap_reuse(struct heap *heap, page_no page)
{
    struct area *area = area_find(&heap->areas, page);

    ensure(area != NULL && area->page == page && area->state == AREA_CLOSED);
    heap->open_pages -= usable_pages(area);
    area_give(&heap->areas, area);
}

tm_status heap_around(const struct heap *heap, uint64_t address,
                      struct heap_block *block)
{
    const struct area *area = live_around(heap, address);

    if (area == NULL) {
        return TM_ENOBLOCK;
    }
    describe(heap, area, block);
    return TM_OK;
}

/* ---- Invariants --------------------------------------------------------- */

/** I1, and that the block fits. */
static int area_is_valid(const struct area *area)
{
    const struct heap_record *record = area->content;

    if (record == NULL) {
        return area->state != AREA_USED;
    }
    return area->state == AREA_USED && record->size > 0 &&
           record->label != NULL &&
           record->size <= usable_pages(area) * TM_PAGE_SIZE;
}

int heap_is_valid(const struct heap *heap)
{
    const struct area *area = area_find(&heap->areas, heap->first_page);
    uint64_t end = heap->first_page;
    uint64_t bytes = 0;
    uint64_t pages = 0;

    if (!area_map_is_valid(&heap->areas)) {
        return 0;
    }
    for (; area != NULL; area = area_next(&heap->areas, area)) {
        const struct heap_record *record = area->content;

        if (!area_is_valid(area)) {
            return 0;
        }
        bytes += record == NULL ? 0 : record->size;
        pages += area->state == AREA_FREE ? 0 : usable_pages(area);
        end += area->n_pages;
    }
    return end == heap->first_page + heap->n_pages &&
           bytes == heap->live_bytes && pages == heap->open_pages;
}

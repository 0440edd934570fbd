// SPDX-License-Identifier: BSD-3-Clause
/*
 * Slabs: areas of the heap that are in use, cut into equal cells, with one page
 * behind them that is never used. A large block is a slab of one cell. Small
 * blocks lie in slabs of 16 pages (fewer if that is all there is), each for one
 * size class; there are about four classes per doubling, and a cell has room for
 * the block and HEAP_REDZONE bytes.
 *
 * One slab per class stays open when it is empty, so that a program which
 * allocates and frees one small block in turn does not open and close a slab
 * each time. The cells of a slab are used in the order in which they were freed,
 * oldest first, so that a second tm_free() of a block is most likely noticed.
 *
 * Invariants
 * S1  The live cells (size > 0) are n_used, and the others are linked from
 *     first_free to last_free.
 * S2  A class lists its slabs that have free cells. At most one of them is
 *     empty; it is the last, so it is used only when the others are full.
 */
#include "mem/heap_priv.h"

#include <stdlib.h>

#define SLAB_PAGES 16u

/** Bytes of a cell; multiples of 16. Cells of a slab begin at a page, so blocks whose
 * cells have a multiple of a power of two are aligned to that. */
static const uint32_t cell_sizes[] = {
    16,  32,  48,  64,  80,  96,  112, 128,  160,  192,  224,  256,
    320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2064,
};

_Static_assert(sizeof(cell_sizes) / sizeof(cell_sizes[0]) == HEAP_CLASSES,
               "HEAP_CLASSES");

/* ---- Lists -------------------------------------------------------------- */

static void append_free(struct heap_slab *slab, uint32_t cell)
{
    slab->cells[cell].next_free = HEAP_NO_CELL;
    if (slab->first_free == HEAP_NO_CELL) {
        slab->first_free = cell;
    } else {
        slab->cells[slab->last_free].next_free = cell;
    }
    slab->last_free = cell;
}

static void unlist(struct heap *heap, struct heap_slab *slab)
{
    struct heap_class *class = &heap->classes[slab->class];

    *(slab->previous == NULL ? &class->first : &slab->previous->next) =
        slab->next;
    *(slab->next == NULL ? &class->last : &slab->next->previous) =
        slab->previous;
}

/** Put a slab into its class: at the end if it is empty, else in front (S2). */
static void list(struct heap *heap, struct heap_slab *slab)
{
    struct heap_class *class = &heap->classes[slab->class];
    int is_empty = slab->n_used == 0;

    slab->previous = is_empty ? class->last : NULL;
    slab->next = is_empty ? NULL : class->first;
    *(slab->previous == NULL ? &class->first : &slab->previous->next) = slab;
    *(slab->next == NULL ? &class->last : &slab->next->previous) = slab;
}

/* ---- Open and close ----------------------------------------------------- */

static struct heap_slab *open_slab(struct heap *heap, uint64_t n_pages,
                                   uint64_t cell_size, unsigned class)
{
    uint32_t n_cells = (uint32_t)(n_pages * TM_PAGE_SIZE / cell_size);
    struct heap_slab *slab =
        calloc(1, sizeof(*slab) + n_cells * sizeof(slab->cells[0]));

    if (slab == NULL) {
        return NULL;
    }
    slab->area = area_take(&heap->areas, n_pages + HEAP_GUARD_PAGES);
    if (slab->area == NULL) {
        free(slab);
        return NULL;
    }
    slab->area->content = slab;
    slab->class = class;
    slab->cell_size = cell_size;
    slab->n_cells = n_cells;
    slab->first_free = HEAP_NO_CELL;
    for (uint32_t i = 0; i < n_cells; i++) {
        append_free(slab, i);
    }
    if (class != HEAP_CLASSES) {
        list(heap, slab);
    }
    heap->open_pages += n_pages;
    return slab;
}

static struct heap_slab *open_small(struct heap *heap, unsigned class)
{
    uint64_t largest = area_largest_free(&heap->areas);
    uint64_t n_pages = SLAB_PAGES;

    if (largest <= HEAP_GUARD_PAGES) {
        return NULL;
    }
    if (largest < SLAB_PAGES + HEAP_GUARD_PAGES) {
        n_pages = largest - HEAP_GUARD_PAGES;
    }
    return open_slab(heap, n_pages, cell_sizes[class], class);
}

static struct heap_slab *open_large(struct heap *heap, uint64_t size)
{
    uint64_t n_pages = (size - 1) / TM_PAGE_SIZE + 1;

    if (n_pages >= heap->n_pages) {
        return NULL;
    }
    return open_slab(heap, n_pages, n_pages * TM_PAGE_SIZE, HEAP_CLASSES);
}

/** Whether a slab that is empty now is not to be kept. */
static int must_close(const struct heap *heap, const struct heap_slab *slab)
{
    const struct heap_slab *last;

    if (slab->class == HEAP_CLASSES) {
        return 1;
    }
    last = heap->classes[slab->class].last;
    return last != NULL && last != slab && last->n_used == 0;
}

/* ---- For heap.c --------------------------------------------------------- */

struct heap_slab *heap_find_room(struct heap *heap, uint64_t size,
                                 uint32_t alignment)
{
    unsigned class = 0;

    while (class < HEAP_CLASSES && (cell_sizes[class] < size + HEAP_REDZONE ||
                                    cell_sizes[class] % alignment != 0)) {
        class ++;
    }
    if (size > HEAP_SMALL_MAX || class == HEAP_CLASSES) {
        return open_large(heap, size);
    }
    if (heap->classes[class].first != NULL) {
        return heap->classes[class].first;
    }
    return open_small(heap, class);
}

uint32_t heap_use_cell(struct heap *heap, struct heap_slab *slab, uint64_t size,
                       char *label, uint32_t line)
{
    uint32_t number = slab->first_free;
    struct heap_cell *cell = &slab->cells[number];

    slab->first_free = cell->next_free;
    slab->n_used++;
    cell->size = size;
    cell->label = label;
    cell->line = line;
    heap->live_bytes += size;
    if (slab->class != HEAP_CLASSES && slab->n_used == slab->n_cells) {
        unlist(heap, slab);
    }
    return number;
}

int heap_free_cell(struct heap *heap, struct heap_slab *slab, uint32_t cell)
{
    int is_listed = slab->n_used < slab->n_cells;

    heap->live_bytes -= slab->cells[cell].size;
    free(slab->cells[cell].label);
    slab->cells[cell].label = NULL;
    slab->cells[cell].size = 0;
    slab->n_used--;
    append_free(slab, cell);
    if (is_listed && slab->n_used > 0) {
        return 0;
    }
    if (is_listed) {
        unlist(heap, slab);
    }
    if (slab->n_used > 0 || !must_close(heap, slab)) {
        list(heap, slab);
        return 0;
    }
    slab->area->state = AREA_CLOSED;
    slab->area->content = NULL;
    free(slab);
    return 1;
}

void heap_slab_free(struct heap_slab *slab)
{
    if (slab == NULL) {
        return;
    }
    for (uint32_t i = 0; i < slab->n_cells; i++) {
        free(slab->cells[i].label);
    }
    free(slab);
}

/* ---- Invariants --------------------------------------------------------- */

static int cell_is_valid(const struct heap_slab *slab,
                         const struct heap_cell *cell)
{
    uint64_t redzone = slab->class == HEAP_CLASSES ? 0 : HEAP_REDZONE;

    if (cell->size == 0) {
        return cell->label == NULL;
    }
    return cell->label != NULL && cell->size + redzone <= slab->cell_size;
}

int heap_slab_is_valid(const struct heap_slab *slab, uint64_t *bytes)
{
    uint32_t n_live = 0;
    uint32_t n_free = 0;
    uint32_t last = slab->last_free;

    for (uint32_t i = 0; i < slab->n_cells; i++) {
        if (!cell_is_valid(slab, &slab->cells[i])) {
            return 0;
        }
        n_live += slab->cells[i].size > 0;
        *bytes += slab->cells[i].size;
    }
    for (uint32_t i = slab->first_free; i != HEAP_NO_CELL;
         i = slab->cells[i].next_free) {
        if (slab->cells[i].size > 0 || ++n_free > slab->n_cells) {
            return 0;
        }
        last = i;
    }
    return n_live == slab->n_used && n_live + n_free == slab->n_cells &&
           last == slab->last_free;
}

int heap_class_is_valid(const struct heap *heap, unsigned class,
                        uint64_t *n_listed)
{
    const struct heap_slab *before = NULL;
    const struct heap_slab *slab = heap->classes[class].first;

    for (; slab != NULL; slab = slab->next) {
        if (slab->class != class || slab->previous != before ||
            slab->n_used == slab->n_cells ||
            (slab->n_used == 0 && slab->next != NULL)) {
            return 0;
        }
        before = slab;
        (*n_listed)++;
    }
    return heap->classes[class].last == before;
}

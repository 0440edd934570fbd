// SPDX-License-Identifier: BSD-3-Clause
/*
 * Slabs: extents that are cut into equal cells, each slab for one size class; there are
 * about four classes per doubling, and a cell has room for the block and HEAP_REDZONE
 * bytes.
 *
 * One slab per class is kept when it is empty, so that a program which allocates and
 * frees one small block in turn does not ask for a slab and give it back each time. The
 * cells of a slab are used in the order in which they were freed, oldest first, so that
 * a second tm_free() of a block is most likely noticed.
 *
 * Invariants
 * S1  The live cells (size > 0) are n_used, and the others are linked from
 *     first_free to last_free.
 * S2  A class lists its slabs that have free cells. Those that are empty come last, so
 *     they are used only when the others are full. A slab that becomes empty is given
 *     up if there is another such.
 * S3  A slab is found by each of its pages.
 */
#include "mem/slabs.h"

#include <stdlib.h>

#include "base/map.h"
#include "mem/heap_records.h"

#define N_SIZES 24u
#define N_CLASSES (N_SIZES + 6u)
#define NO_CELL UINT32_MAX

/** Bytes of a cell; multiples of 16. Cells of a slab begin at a page, so blocks whose
 * cells have a multiple of a power of two are aligned to that. Then, from N_SIZES on, cells
 * that are pages of their own. */
#define APART(bytes) (CELL_GRAIN | (bytes))
static const uint32_t kinds[N_CLASSES] = {
    16,        32,         48,         64,         80,          96,
    112,       128,        160,        192,        224,         256,
    320,       384,        448,        512,        640,         768,
    896,       1024,       1280,       1536,       1792,        2064,
    APART(64), APART(128), APART(256), APART(512), APART(1024), APART(2048),
};

struct cell {
    struct heap_record record;
    uint32_t next_free;
};

struct slab {
    struct slab *previous; ///< in its class, if it has free cells
    struct slab *next;
    uint64_t address;
    uint64_t n_pages;
    unsigned class;
    uint32_t n_cells;
    uint32_t n_used;
    uint32_t first_free;
    uint32_t last_free;
    struct cell cells[];
};

struct slab_class {
    struct slab *first;
    struct slab *last;
};

struct slabs {
    struct slab_class classes[N_CLASSES];
    struct map by_page; ///< S3: address / TM_PAGE_SIZE
    struct heap_history history;
};

/* ---- Lists -------------------------------------------------------------- */

static void append_free(struct slab *slab, uint32_t cell)
{
    slab->cells[cell].next_free = NO_CELL;
    if (slab->first_free == NO_CELL) {
        slab->first_free = cell;
    } else {
        slab->cells[slab->last_free].next_free = cell;
    }
    slab->last_free = cell;
}

/** @param before  the free cell before it; NO_CELL: it is the first */
static void take_free(struct slab *slab, uint32_t before, uint32_t cell)
{
    const uint32_t next = slab->cells[cell].next_free;

    *(before == NO_CELL ? &slab->first_free : &slab->cells[before].next_free) =
        next;
    if (slab->last_free == cell) {
        slab->last_free = before;
    }
}

static void unlist(struct slabs *slabs, struct slab *slab)
{
    struct slab_class *class = &slabs->classes[slab->class];

    *(slab->previous == NULL ? &class->first : &slab->previous->next) =
        slab->next;
    *(slab->next == NULL ? &class->last : &slab->next->previous) =
        slab->previous;
}

/** Put a slab into its class: at the end if it is empty, else in front (S2). */
static void list(struct slabs *slabs, struct slab *slab)
{
    struct slab_class *class = &slabs->classes[slab->class];
    const int is_empty = slab->n_used == 0;

    slab->previous = is_empty ? class->last : NULL;
    slab->next = is_empty ? NULL : class->first;
    *(slab->previous == NULL ? &class->first : &slab->previous->next) = slab;
    *(slab->next == NULL ? &class->last : &slab->next->previous) = slab;
}

/* ---- Cells -------------------------------------------------------------- */

uint64_t slabs_cell_offset(uint32_t kind, uint64_t n_pages, uint64_t cell)
{
    const uint64_t n_frames = n_pages / slabs_cell_views(kind);

    return kind & CELL_GRAIN
               ? cell * TM_PAGE_SIZE + cell / n_frames * slabs_cell_bytes(kind)
               : cell * kind;
}

int slabs_cell_around(uint32_t kind, uint64_t n_pages, uint64_t offset,
                      uint64_t *cell)
{
    *cell = offset / (kind & CELL_GRAIN ? TM_PAGE_SIZE : kind);
    return offset - slabs_cell_offset(kind, n_pages, *cell) <
               slabs_cell_bytes(kind) &&
           offset < n_pages * TM_PAGE_SIZE;
}

static uint64_t cell_address(const struct slab *slab, uint32_t cell)
{
    return slab->address +
           slabs_cell_offset(kinds[slab->class], slab->n_pages, cell);
}

static uint32_t bytes_in(const struct slab *slab)
{
    return slabs_cell_bytes(kinds[slab->class]);
}

/** Bytes that a block leaves free in its cell. */
static uint32_t redzone_in(const struct slab *slab)
{
    return kinds[slab->class] & CELL_GRAIN ? 0 : HEAP_REDZONE;
}

static void describe(const struct slab *slab, uint32_t cell,
                     struct heap_block *block)
{
    heap_record_describe(&slab->cells[cell].record, block);
    block->address = cell_address(slab, cell);
    block->capacity = bytes_in(slab);
}

/** The cell that an address lies in. @param[out] cell
 * @return its slab; NULL if there is none */
static struct slab *find_cell(const struct slabs *slabs, uint64_t address,
                              uint32_t *cell)
{
    struct slab *slab = map_find(&slabs->by_page, address / TM_PAGE_SIZE);
    uint64_t number;

    if (slab == NULL) {
        return NULL;
    }
    if (!slabs_cell_around(kinds[slab->class], slab->n_pages,
                           address - slab->address, &number)) {
        return NULL;
    }
    *cell = (uint32_t)number;
    return number < slab->n_cells ? slab : NULL;
}

/** The same of a live block. */
static struct slab *live_around(const struct slabs *slabs, uint64_t address,
                                uint32_t *cell)
{
    struct slab *slab = find_cell(slabs, address, cell);

    return slab != NULL && slab->cells[*cell].record.size > 0 ? slab : NULL;
}

/** A block is in a free cell now. */
static void use_cell(struct slabs *slabs, struct slab *slab, uint32_t before,
                     uint32_t cell)
{
    take_free(slab, before, cell);
    unlist(slabs, slab);
    slab->n_used++;
    if (slab->n_used < slab->n_cells) {
        list(slabs, slab);
    }
}

static void free_slab(struct slabs *slabs, struct slab *slab)
{
    if (slab->n_used < slab->n_cells) {
        unlist(slabs, slab);
    }
    for (uint64_t i = 0; i < slab->n_pages; i++) {
        (void)map_take(&slabs->by_page, slab->address / TM_PAGE_SIZE + i);
    }
    for (uint32_t i = 0; i < slab->n_cells; i++) {
        heap_record_clear(&slab->cells[i].record);
    }
    free(slab);
}

/** Free a cell. @return the address of its slab, if that is given up; else 0 */
static uint64_t empty_cell(struct slabs *slabs, struct slab *slab,
                           uint32_t cell)
{
    const uint64_t address = slab->address;
    const struct slab *last;

    if (slab->n_used < slab->n_cells) {
        unlist(slabs, slab);
    }
    heap_record_clear(&slab->cells[cell].record);
    append_free(slab, cell);
    slab->n_used--;
    last = slabs->classes[slab->class].last;
    list(slabs, slab);
    if (slab->n_used > 0 || last == NULL || last->n_used > 0) {
        return 0;
    }
    free_slab(slabs, slab); // S2
    return address;
}

/* ---- Public ------------------------------------------------------------- */

struct slabs *slabs_new(void)
{
    struct slabs *slabs = calloc(1, sizeof *slabs);

    if (slabs != NULL && heap_history_init(&slabs->history) != TM_OK) {
        free(slabs);
        slabs = NULL;
    }
    return slabs;
}

void slabs_clear(struct slabs *slabs)
{
    for (size_t i = 0; i < slabs->by_page.capacity; i++) {
        struct slab *slab = map_at(&slabs->by_page, i);

        if (slab != NULL) {
            free_slab(slabs, slab);
            i = SIZE_MAX; // what is left may lie elsewhere now: begin again
        }
    }
    slabs->history.n_freed = 0;
}

void slabs_free(struct slabs *slabs)
{
    if (slabs != NULL) {
        slabs_clear(slabs);
        map_release(&slabs->by_page);
        heap_history_release(&slabs->history);
        free(slabs);
    }
}

int slabs_has_kind(uint64_t kind)
{
    unsigned class = 0;

    while (class < N_CLASSES && kinds[class] != kind) {
        class ++;
    }
    return class < N_CLASSES;
}

static unsigned class_of(uint32_t kind)
{
    unsigned class = 0;

    while (kinds[class] != kind) {
        class ++;
    }
    return class;
}

uint32_t slabs_kind(uint64_t size, uint32_t alignment)
{
    unsigned class = 0;

    if (size > HEAP_SMALL_MAX) {
        return 0;
    }
    while (class < N_SIZES && (kinds[class] < size + HEAP_REDZONE ||
                               kinds[class] % alignment != 0)) {
        class ++;
    }
    return class < N_SIZES ? kinds[class] : 0;
}

uint32_t slabs_grain_kind(uint64_t grain)
{
    const uint64_t kind = grain | CELL_GRAIN;

    return grain < CELL_GRAIN && slabs_has_kind(kind) ? (uint32_t)kind : 0;
}

tm_status slabs_add(struct slabs *slabs, uint64_t address, uint64_t n_pages,
                    uint32_t kind)
{
    const uint32_t n_views = slabs_cell_views(kind);
    const uint32_t n_cells =
        (uint32_t)(n_pages / n_views * TM_PAGE_SIZE / slabs_cell_bytes(kind));
    const uint32_t n_frames = n_cells / n_views;
    struct slab *slab;

    if (map_find(&slabs->by_page, address / TM_PAGE_SIZE) != NULL) {
        return TM_EINVAL;
    }
    slab = calloc(1, sizeof *slab + n_cells * sizeof slab->cells[0]);
    if (slab == NULL) {
        return TM_ENOMEM;
    }
    slab->address = address;
    slab->n_pages = n_pages;
    slab->class = class_of(kind);
    slab->n_cells = n_cells;
    slab->first_free = NO_CELL;
    for (uint32_t i = 0; i < n_cells; i++) { // frame after frame is used
        append_free(slab,
                    n_views == 1 ? i : i % n_views * n_frames + i / n_views);
    }
    list(slabs, slab);
    for (uint64_t i = 0; i < n_pages; i++) {
        map_add(&slabs->by_page, address / TM_PAGE_SIZE + i, slab);
    }
    return TM_OK;
}

uint64_t slabs_alloc(struct slabs *slabs, uint32_t kind, uint64_t size,
                     const struct heap_origin *origin)
{
    struct slab *slab = slabs->classes[class_of(kind)].first;
    uint32_t cell;

    if (slab == NULL) {
        return 0;
    }
    cell = slab->first_free;
    if (heap_record_set(&slab->cells[cell].record, size, origin) != TM_OK) {
        return 0;
    }
    use_cell(slabs, slab, NO_CELL, cell);
    return cell_address(slab, cell);
}

tm_status slabs_release(struct slabs *slabs, uint64_t address,
                        const struct heap_origin *place,
                        struct heap_block *block, uint64_t *empty,
                        char *freed_at)
{
    uint32_t cell = 0;
    struct slab *slab = live_around(slabs, address, &cell);

    if (slab == NULL) {
        return heap_history_explain(&slabs->history, address, block, freed_at);
    }
    if (cell_address(slab, cell) != address) {
        return TM_ENOBLOCK;
    }
    describe(slab, cell, block);
    heap_history_note(&slabs->history, block, place->file, place->line);
    *empty = empty_cell(slabs, slab, cell);
    return TM_OK;
}

tm_status slabs_around(const struct slabs *slabs, uint64_t address,
                       struct heap_block *block)
{
    uint32_t cell = 0;
    const struct slab *slab = live_around(slabs, address, &cell);

    if (slab == NULL) {
        return TM_ENOBLOCK;
    }
    describe(slab, cell, block);
    return TM_OK;
}

/* ---- Giving ------------------------------------------------------------- */

static void tell_live(const struct slab *slab,
                      void (*tell)(void *owner,
                                   const struct slabs_entry *entry),
                      void *owner)
{
    struct slabs_entry entry = {.freed_file = NULL};

    for (uint32_t i = 0; i < slab->n_cells; i++) {
        if (slab->cells[i].record.size > 0) {
            describe(slab, i, &entry.block);
            tell(owner, &entry);
        }
    }
}

void slabs_tell(const struct slabs *slabs,
                void (*tell)(void *owner, const struct slabs_entry *entry),
                void *owner)
{
    const struct heap_history *history = &slabs->history;

    for (uint64_t i = history->n_freed < HEAP_HISTORY
                          ? 0
                          : history->n_freed - HEAP_HISTORY;
         i < history->n_freed; i++) {
        const struct freed_block *freed = &history->ring[i % HEAP_HISTORY];

        tell(owner, &(struct slabs_entry){.block = freed->block,
                                          .freed_file = freed->file,
                                          .freed_line = freed->line});
    }
    for (size_t i = 0; i < slabs->by_page.capacity; i++) {
        const struct slab *slab = map_at(&slabs->by_page, i);

        if (slab != NULL && // once: by its first page
            slabs->by_page.entries[i].key == slab->address / TM_PAGE_SIZE) {
            tell_live(slab, tell, owner);
        }
    }
}

tm_status slabs_hear(struct slabs *slabs, const struct slabs_entry *entry)
{
    const struct heap_block *block = &entry->block;
    const struct heap_origin origin = {block->name, block->file, block->line};
    uint32_t before = NO_CELL;
    uint32_t cell = 0;
    struct slab *slab;

    if (entry->freed_file != NULL) {
        heap_history_note(&slabs->history, block, entry->freed_file,
                          entry->freed_line);
        return TM_OK;
    }
    slab = find_cell(slabs, block->address, &cell);
    if (slab == NULL || cell_address(slab, cell) != block->address ||
        slab->cells[cell].record.size > 0 || block->size == 0 ||
        block->size + redzone_in(slab) > bytes_in(slab)) {
        return TM_EINVAL;
    }
    for (uint32_t i = slab->first_free; i != cell;
         i = slab->cells[i].next_free) {
        before = i;
    }
    if (heap_record_set(&slab->cells[cell].record, block->size, &origin) !=
        TM_OK) {
        return TM_ENOMEM;
    }
    use_cell(slabs, slab, before, cell);
    return TM_OK;
}

/* ---- Invariants --------------------------------------------------------- */

static int cell_is_valid(const struct slab *slab, const struct cell *cell)
{
    const struct heap_record *record = &cell->record;

    if (record->size == 0) {
        return record->label == NULL;
    }
    return record->label != NULL &&
           record->size + redzone_in(slab) <= bytes_in(slab);
}

/** S1 */
static int slab_is_valid(const struct slab *slab)
{
    uint32_t n_live = 0;
    uint32_t n_free = 0;
    uint32_t last = NO_CELL;

    for (uint32_t i = 0; i < slab->n_cells; i++) {
        if (!cell_is_valid(slab, &slab->cells[i])) {
            return 0;
        }
        n_live += slab->cells[i].record.size > 0;
    }
    for (uint32_t i = slab->first_free; i != NO_CELL;
         i = slab->cells[i].next_free) {
        if (slab->cells[i].record.size > 0 || ++n_free > slab->n_cells) {
            return 0;
        }
        last = i;
    }
    return n_live == slab->n_used && n_live + n_free == slab->n_cells &&
           (last == NO_CELL || last == slab->last_free);
}

/** S2. @param[out] n_listed  grows by the slabs of the list */
static int class_is_valid(const struct slabs *slabs, unsigned class,
                          size_t *n_listed)
{
    const struct slab *before = NULL;
    const struct slab *slab = slabs->classes[class].first;

    for (; slab != NULL; slab = slab->next) {
        if (slab->class != class || slab->previous != before ||
            slab->n_used == slab->n_cells ||
            (before != NULL && before->n_used == 0 && slab->n_used > 0)) {
            return 0;
        }
        before = slab;
        (*n_listed)++;
    }
    return slabs->classes[class].last == before;
}

int slabs_is_valid(const struct slabs *slabs)
{
    size_t n_listed = 0;
    size_t n_with_room = 0;
    uint64_t n_pages = 0;

    for (unsigned i = 0; i < N_CLASSES; i++) {
        if (!class_is_valid(slabs, i, &n_listed)) {
            return 0;
        }
    }
    for (size_t i = 0; i < slabs->by_page.capacity; i++) {
        const struct slab *slab = map_at(&slabs->by_page, i);

        if (slab == NULL ||
            slabs->by_page.entries[i].key != slab->address / TM_PAGE_SIZE) {
            continue;
        }
        if (!slab_is_valid(slab)) {
            return 0;
        }
        n_with_room += slab->n_used < slab->n_cells;
        n_pages += slab->n_pages;
    }
    return n_listed == n_with_room && n_pages == slabs->by_page.n &&
           map_is_valid(&slabs->by_page);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The pages of a lock's bytes: which are mapped, and what is written to them. Invariants
// are those of entry.c.
#include <string.h>

#include "protocol/bound.h"

// ---- what is mapped

/* Neighbours whose access ends in one call of the system. */
struct run {
    page_no page;
    page_no n;
};

static void end_run(struct engine *engine, struct run *run, enum page_access to)
{
    if (run->n > 0) {
        space_set_access(engine->space, run->page, run->n, to);
    }
    run->n = 0;
}

static void add_to_run(struct engine *engine, struct run *run, page_no page,
                       enum page_access to)
{
    if (run->n == 0 || page != run->page + run->n) {
        end_run(engine, run, to);
        run->page = page;
    }
    run->n++;
}

void bound_make(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->state == PAGE_ABSENT) {
        space_populate(engine->space, page_number, 1);
        page->state = PAGE_BOUND;
    }
}

static void drop_twin(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->twin != NULL) {
        const unsigned n_unstamped = bound_n_unstamped(engine, page_number);

        twin_pool_put(&engine->space->twins, page->twin);
        page->twin = NULL;
        bound_tell_twin(engine, page_number, n_unstamped);
    }
}

/* Pages of the range that no lock here has any more are mapped no longer. */
static void unmap_unused(struct engine *engine, const struct range *range)
{
    struct piece piece = {0};
    struct run run = {0};

    while (next_piece(range, &piece)) {
        struct page *page = page_of(engine, piece.page);

        if (bound_use_of(page)->n_here == 0 && page->access != ACCESS_NONE) {
            add_to_run(engine, &run, piece.page, ACCESS_NONE);
        }
    }
    end_run(engine, &run, ACCESS_NONE);
}

static void drop_unused_twins(struct engine *engine, const struct range *range)
{
    struct piece piece = {0};

    while (next_piece(range, &piece)) {
        if (bound_use_of(page_of(engine, piece.page))->n_here == 0) {
            drop_twin(engine, piece.page);
        }
    }
}

// ---- what was written

/* @return whether a line of a page differs from the twin, which has it from now on */
static int take_line(const char *bytes, char *twin, const struct piece *line)
{
    const size_t size = line->end - line->from;

    if (memcmp(bytes + line->from, twin + line->from, size) == 0) {
        return 0;
    }
    memcpy(twin + line->from, bytes + line->from, size);
    return 1;
}

static int stamp_piece(struct engine *engine, struct range *range,
                       const struct piece *piece, uint64_t stamp)
{
    const char *bytes = space_bytes(engine->space, piece->page);
    struct piece line = {.page = piece->page, .end = piece->from};
    int n = 0;

    while (next_line(piece, &line)) {
        if (take_line(bytes, page_of(engine, piece->page)->twin, &line)) {
            range->stamps[line_of(range, piece_at(&line))] = stamp;
            n++;
        }
    }
    return n;
}

/* B3 */
void bound_stamp(struct engine *engine, struct bound *lock)
{
    int n = 0;

    for (struct range *range = lock->first; range != NULL;
         range = range->next) {
        struct piece piece = {0};

        while (next_piece(range, &piece)) {
            if (page_of(engine, piece.page)->twin != NULL) {
                n += stamp_piece(engine, range, &piece, lock->incarnation + 1);
            }
        }
    }
    lock->incarnation += n > 0;
    for (const struct range *range = lock->first; range != NULL;
         range = range->next) {
        bound_tell(engine, range, STEP_STAMPED);
    }
}

void bound_begin_writing(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->twin == NULL) {
        page->twin = twin_pool_get(&engine->space->twins);
        memcpy(page->twin, space_bytes_to_change(engine->space, page_number),
               TM_PAGE_SIZE);
        engine->stats.twins++;
    }
}

// ---- locks come and go

void bound_begin_here(struct engine *engine, struct bound *lock)
{
    lock->is_here = 1;
    for (const struct range *range = lock->first; range != NULL;
         range = range->next) {
        bound_count(engine, range, 1);
        bound_tell(engine, range, STEP_LOCK_COMES);
    }
}

void bound_end_here(struct engine *engine, struct bound *lock)
{
    lock->is_here = 0;
    for (const struct range *range = lock->first; range != NULL;
         range = range->next) {
        bound_count(engine, range, -1);
        unmap_unused(engine, range); // B4
        bound_tell(engine, range, STEP_LOCK_GOES);
    }
    bound_stamp(engine, lock); // B3
    for (const struct range *range = lock->first; range != NULL;
         range = range->next) {
        drop_unused_twins(engine, range);
    }
}

/* Memory is short: what is written now need not stay. */
void bound_relieve(struct engine *engine)
{
    struct bindings *all = engine->bindings;
    struct bound *lock;
    struct run run = {0};

    for (size_t i = 0; i < all->n; i++) {
        struct piece piece = {0};

        while (next_piece(all->ranges[i], &piece)) {
            if (page_of(engine, piece.page)->access == ACCESS_WRITE) {
                add_to_run(engine, &run, piece.page, ACCESS_READ);
            }
        }
        end_run(engine, &run, ACCESS_READ);
        bound_tell(engine, all->ranges[i], STEP_RELEASED);
    }
    for (size_t at = 0; (lock = table_next(&all->locks, &at)) != NULL;) {
        if (lock->is_here) {
            bound_stamp(engine, lock);
        }
    }
    for (size_t i = 0; i < all->n; i++) {
        struct piece piece = {0};

        while (next_piece(all->ranges[i], &piece)) {
            drop_twin(engine, piece.page);
        }
    }
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The heap: random steps against a model, where blocks lie, and what it tells of a
 * program's mistakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "mem/heap.h"
#include "mem/heap_priv.h"
#include "mem/random_numbers_test.h"

#define BASE UINT64_C(0x7e8000000000)
#define FIRST_PAGE 7u
#define PAGE ((uint64_t)TM_PAGE_SIZE)

#ifdef __SANITIZE_THREAD__
#define STEPS(n) ((n) / 5)
#else
#define STEPS(n) (n)
#endif

/** Bytes in live blocks, and pages in extents that are not free. */
static void heap_usage(const struct heap *heap, uint64_t *bytes,
                       uint64_t *pages)
{
    *bytes = heap->live_bytes;
    *pages = heap->open_pages;
}

/** What the last call gave. */
struct result {
    struct heap_block block;
    struct heap_extent extent;
    char freed_at[HEAP_PLACE_SIZE];
};

static tm_status allocate(struct heap *heap, uint64_t size,
                          struct result *result)
{
    return heap_alloc(heap, size, &(struct heap_origin){"name", "file.c", 1},
                      &result->block, &result->extent);
}

static tm_status release(struct heap *heap, uint64_t address,
                         struct result *result)
{
    return heap_release(heap, address,
                        &(struct heap_origin){.file = "free.c", .line = 2},
                        &result->block, &result->extent, result->freed_at);
}

static uint64_t address_of(page_no page)
{
    return BASE + (page - FIRST_PAGE) * PAGE;
}

/* ---- Random steps against a model --------------------------------------- */

#define MODEL_PAGES 2048u
#define MODEL_BLOCKS 1500u

enum page_use {
    UNUSED,
    OPEN,
    CLOSED,
};

struct model {
    struct heap *heap;
    struct heap_block blocks[MODEL_BLOCKS];
    size_t n_blocks;
    struct heap_extent closed[MODEL_PAGES];
    size_t n_closed;
    uint64_t bytes;
    uint64_t pages;
    uint8_t use[MODEL_PAGES]; ///< enum page_use
};

static void set_use(struct model *model, const struct heap_extent *extent,
                    enum page_use from, enum page_use to)
{
    uint64_t first = extent->page - FIRST_PAGE;

    assert_true(extent->page >= FIRST_PAGE);
    assert_true(first + extent->n_pages < MODEL_PAGES);
    for (uint64_t i = first; i < first + extent->n_pages; i++) {
        assert_int_equal(model->use[i], from);
        model->use[i] = (uint8_t)to;
    }
    assert_int_equal(model->use[first + extent->n_pages], UNUSED); // guard
}

static void check_block(const struct heap_block *block, uint64_t size)
{
    assert_int_equal(block->size, size);
    assert_int_equal(block->address % PAGE, 0);
    assert_int_equal(block->capacity, (size + PAGE - 1) / PAGE * PAGE);
}

static uint64_t random_size(void)
{
    switch (random_below(5)) {
    case 0:
        return 1 + random_below(40 * PAGE);
    case 1:
        return 1 + random_below(3 * PAGE);
    case 2:
        return PAGE * (1 + random_below(4));
    default:
        return 1 + random_below(PAGE);
    }
}

static void model_allocate(struct model *model)
{
    uint64_t size = random_size();
    struct result result;
    tm_status status;

    if (model->n_blocks == MODEL_BLOCKS) {
        return;
    }
    status = allocate(model->heap, size, &result);
    if (status == TM_ENOMEM) {
        assert_true(heap_room(model->heap) * PAGE < size);
        return;
    }
    assert_int_equal(status, TM_OK);
    check_block(&result.block, size);
    assert_int_equal(result.extent.n_pages * PAGE, result.block.capacity);
    assert_int_equal(result.block.address, address_of(result.extent.page));
    set_use(model, &result.extent, UNUSED, OPEN);
    model->pages += result.extent.n_pages;
    model->blocks[model->n_blocks++] = result.block;
    model->bytes += size;
}

static void model_release(struct model *model)
{
    struct result result;
    struct heap_block *block;

    if (model->n_blocks == 0) {
        return;
    }
    block = &model->blocks[random_below(model->n_blocks)];
    assert_int_equal(release(model->heap, block->address, &result), TM_OK);
    assert_memory_equal(&result.block, block, sizeof(*block));
    set_use(model, &result.extent, OPEN, CLOSED);
    model->closed[model->n_closed++] = result.extent;
    model->bytes -= block->size;
    *block = model->blocks[--model->n_blocks];
}

static void model_reuse(struct model *model)
{
    struct heap_extent *extent;

    if (model->n_closed == 0) {
        return;
    }
    extent = &model->closed[random_below(model->n_closed)];
    heap_reuse(model->heap, extent->page);
    set_use(model, extent, CLOSED, UNUSED);
    model->pages -= extent->n_pages;
    *extent = model->closed[--model->n_closed];
}

static void model_check(const struct model *model)
{
    uint64_t bytes;
    uint64_t pages;

    heap_usage(model->heap, &bytes, &pages);
    assert_int_equal(bytes, model->bytes);
    assert_int_equal(pages, model->pages);
    assert_true(heap_is_valid(model->heap));
}

static void model_look_up(const struct model *model)
{
    const struct heap_block *block;
    struct heap_block found;
    uint64_t inside;

    if (model->n_blocks == 0) {
        return;
    }
    block = &model->blocks[random_below(model->n_blocks)];
    inside = block->address + random_below(block->capacity);
    assert_int_equal(heap_around(model->heap, inside, &found), TM_OK);
    assert_memory_equal(&found, block, sizeof(found));
}

// Most of the time more is allocated than freed, then the other way round.
static void model_step(struct model *model, int is_growing)
{
    size_t choice = random_below(100);

    if (choice < (is_growing ? 60u : 25u)) {
        model_allocate(model);
    } else if (choice < 80) {
        model_release(model);
    } else if (choice < 90) {
        model_reuse(model);
    } else {
        model_look_up(model);
    }
}

static void random_blocks_never_overlap(void **state)
{
    struct model *model = calloc(1, sizeof(*model));
    uint64_t bytes;
    uint64_t pages;

    (void)state;
    assert_non_null(model);
    model->heap = heap_new(FIRST_PAGE, MODEL_PAGES, BASE);
    assert_non_null(model->heap);
    for (int i = 0; i < STEPS(20000); i++) {
        model_step(model, i / STEPS(2500) % 2 == 0);
        if (i % 16 == 0) {
            model_check(model);
        }
    }
    while (model->n_blocks > 0) {
        model_release(model);
    }
    while (model->n_closed > 0) {
        model_reuse(model);
    }
    model_check(model);
    heap_usage(model->heap, &bytes, &pages);
    assert_int_equal(bytes, 0);
    assert_int_equal(pages, 0);
    heap_free(model->heap);
    free(model);
}

/* ---- Sizes and places --------------------------------------------------- */

static void a_block_has_an_unused_page_behind_it(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 4096, BASE);
    struct result first;
    struct result second;

    (void)state;
    assert_int_equal(allocate(heap, 2 * PAGE, &first), TM_OK);
    assert_int_equal(first.extent.n_pages, 2);
    assert_int_equal(first.block.address, address_of(first.extent.page));
    assert_int_equal(allocate(heap, 1, &second), TM_OK);
    assert_int_equal(second.extent.n_pages, 1);
    assert_int_equal(second.block.capacity, PAGE);
    assert_int_equal(second.block.address, first.block.address + 3 * PAGE);
    heap_free(heap);
}

static void an_address_comes_back_after_reuse_only(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 4096, BASE);
    struct result first;
    struct result result;

    (void)state;
    assert_int_equal(allocate(heap, 5 * PAGE, &first), TM_OK);
    assert_int_equal(release(heap, first.block.address, &result), TM_OK);
    assert_memory_equal(&result.extent, &first.extent, sizeof(first.extent));
    assert_int_equal(allocate(heap, 5 * PAGE, &result), TM_OK);
    assert_int_not_equal(result.block.address, first.block.address);
    heap_reuse(heap, first.extent.page);
    assert_int_equal(allocate(heap, 5 * PAGE, &result), TM_OK);
    assert_int_equal(result.block.address, first.block.address);
    heap_free(heap);
}

static void a_space_that_is_used_up_is_reported(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 20, BASE);
    struct result large;
    struct result result;

    (void)state;
    assert_int_equal(allocate(heap, 0, &result), TM_EINVAL);
    assert_int_equal(allocate(heap, 20 * PAGE, &result), TM_ENOMEM);
    assert_int_equal(allocate(heap, UINT64_MAX, &result), TM_ENOMEM);
    assert_int_equal(heap_room(heap), 19);
    assert_int_equal(allocate(heap, 17 * PAGE, &large), TM_OK);
    assert_int_equal(heap_room(heap), 1);
    assert_int_equal(allocate(heap, 2 * PAGE, &result), TM_ENOMEM);
    assert_int_equal(allocate(heap, PAGE, &result), TM_OK);
    assert_int_equal(heap_room(heap), 0);
    assert_int_equal(allocate(heap, 1, &result), TM_ENOMEM);
    assert_int_equal(release(heap, large.block.address, &result), TM_OK);
    assert_int_equal(allocate(heap, 1, &result), TM_ENOMEM);
    heap_reuse(heap, large.extent.page);
    assert_int_equal(allocate(heap, 17 * PAGE, &result), TM_OK);
    assert_true(heap_is_valid(heap));
    heap_free(heap);
}

static void a_hundred_thousand_blocks_in_64_gib(void **state)
{
    const size_t n = STEPS(100000);
    struct heap *heap = heap_new(FIRST_PAGE, UINT64_C(1) << 24, BASE);
    uint64_t *addresses = calloc(n, sizeof(*addresses));
    struct result result;
    uint64_t bytes;
    uint64_t pages;

    (void)state;
    assert_non_null(addresses);
    for (size_t i = 0; i < 3 * n;
         i++) { // in the 2nd and 3rd turn, half are new
        uint64_t *address = &addresses[i < n ? i : random_below(n)];

        if (*address != 0) {
            assert_int_equal(release(heap, *address, &result), TM_OK);
            heap_reuse(heap, result.extent.page);
        }
        assert_int_equal(allocate(heap, 1 + random_below(40 * PAGE), &result),
                         TM_OK);
        *address = result.block.address;
    }
    assert_true(heap_is_valid(heap));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(release(heap, addresses[i], &result), TM_OK);
        heap_reuse(heap, result.extent.page);
    }
    heap_usage(heap, &bytes, &pages);
    assert_int_equal(bytes, 0);
    assert_true(heap_is_valid(heap));
    heap_free(heap);
    free(addresses);
}

static void all_of_64_gib_but_the_guard_is_one_block(void **state)
{
    struct heap *heap = heap_new(0, UINT64_C(1) << 24, BASE);
    struct result result;

    (void)state;
    assert_int_equal(allocate(heap, UINT64_C(1) << 36, &result), TM_ENOMEM);
    assert_int_equal(allocate(heap, (UINT64_C(1) << 36) - PAGE, &result),
                     TM_OK);
    assert_int_equal(result.block.address, BASE);
    assert_int_equal(allocate(heap, 1, &result), TM_ENOMEM);
    heap_free(heap);
}

/* ---- Mistakes of the program -------------------------------------------- */

static void check_second_free(struct heap *heap, uint64_t size)
{
    struct heap_block block;
    struct heap_extent extent;
    struct result result;

    assert_int_equal(heap_alloc(heap, size,
                                &(struct heap_origin){"grid", "jacobi.c", 20},
                                &block, &extent),
                     TM_OK);
    assert_int_equal(
        heap_release(heap, block.address,
                     &(struct heap_origin){.file = "done.c", .line = 99},
                     &result.block, &result.extent, result.freed_at),
        TM_OK);
    assert_int_equal(release(heap, block.address, &result), TM_EFREED);
    assert_string_equal(result.freed_at, "done.c:99");
    assert_memory_equal(&result.block, &block, sizeof(block));
    assert_string_equal(result.block.file, "jacobi.c");
    assert_int_equal(result.block.line, 20);
    assert_true(heap_is_valid(heap));
}

static void a_second_free_is_explained(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 4096, BASE);

    (void)state;
    check_second_free(heap, 10);
    check_second_free(heap, 10);
    check_second_free(heap, 10 * PAGE);
    heap_free(heap);
}

static void frees_are_forgotten_in_the_end(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 65536, BASE);
    struct result first;
    struct result result;

    (void)state;
    assert_int_equal(allocate(heap, PAGE, &first), TM_OK);
    assert_int_equal(release(heap, first.block.address, &result), TM_OK);
    for (unsigned i = 0; i < 4095; i++) {
        assert_int_equal(allocate(heap, PAGE, &result), TM_OK);
        assert_int_equal(release(heap, result.block.address, &result), TM_OK);
    }
    assert_int_equal(release(heap, first.block.address, &result), TM_EFREED);
    assert_int_equal(allocate(heap, PAGE, &result), TM_OK);
    assert_int_equal(release(heap, result.block.address, &result), TM_OK);
    assert_int_equal(release(heap, first.block.address, &result), TM_ENOBLOCK);
    heap_free(heap);
}

static void what_is_not_the_start_of_a_block_is_refused(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 4096, BASE);
    struct result large;
    struct result result;

    (void)state;
    assert_int_equal(allocate(heap, 3 * PAGE, &large), TM_OK);
    const uint64_t wrong[] = {
        0,
        1,
        BASE - 1,
        large.block.address + 1,
        large.block.address + PAGE,
        large.block.address + 3 * PAGE, // its guard page
        large.block.address + 4 * PAGE, // free
        BASE + 4096 * PAGE - 1,
        BASE + 4096 * PAGE,
        UINT64_MAX,
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(release(heap, wrong[i], &result), TM_ENOBLOCK);
    }
    assert_int_equal(
        heap_around(heap, large.block.address + 3 * PAGE, &result.block),
        TM_ENOBLOCK);
    assert_int_equal(release(heap, large.block.address, &result), TM_OK);
    assert_true(heap_is_valid(heap));
    heap_free(heap);
}

// Freed where a live block is now: not a second free of what was there.
static void an_old_free_inside_a_new_block_is_not_told(void **state)
{
    struct heap *heap = heap_new(FIRST_PAGE, 4096, BASE);
    struct result old[2];
    struct result new;
    struct result result;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(allocate(heap, PAGE, &old[i]), TM_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(release(heap, old[i].block.address, &result), TM_OK);
        heap_reuse(heap, result.extent.page);
    }
    assert_int_equal(allocate(heap, 10 * PAGE, &new), TM_OK);
    assert_int_equal(new.block.address, old[0].block.address);
    assert_int_equal(release(heap, old[1].block.address, &result), TM_ENOBLOCK);
    heap_free(heap);
}

static void long_texts_are_cut(void **state)
{
    const struct heap_origin origin = {
        .name = "the left half of the grid of temperatures",
        .file = "/a/very/long/path/to/the/sources/of/a/program/that/"
                "somebody/wrote/once/jacobi.c",
        .line = UINT32_MAX,
    };
    struct heap *heap = heap_new(FIRST_PAGE, 4096, BASE);
    struct result result;
    struct heap_block block;

    (void)state;
    assert_int_equal(heap_alloc(heap, 10, &origin, &block, &result.extent),
                     TM_OK);
    assert_int_equal(strlen(block.file), 63);
    assert_string_equal(block.file, origin.file + strlen(origin.file) - 63);
    assert_int_equal(strlen(block.name), 31);
    assert_memory_equal(block.name, origin.name, 31);
    assert_int_equal(heap_release(heap, block.address, &origin, &result.block,
                                  &result.extent, result.freed_at),
                     TM_OK);
    assert_int_equal(release(heap, block.address, &result), TM_EFREED);
    assert_int_equal(strlen(result.freed_at), 63 + 11);
    assert_string_equal(result.freed_at + 63, ":4294967295");
    assert_int_equal(
        heap_alloc(heap, 10, &(struct heap_origin){0}, &block, &result.extent),
        TM_OK);
    assert_string_equal(block.file, "");
    assert_string_equal(block.name, "");
    heap_free(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_never_overlap),
        cmocka_unit_test(a_block_has_an_unused_page_behind_it),
        cmocka_unit_test(an_address_comes_back_after_reuse_only),
        cmocka_unit_test(a_space_that_is_used_up_is_reported),
        cmocka_unit_test(a_hundred_thousand_blocks_in_64_gib),
        cmocka_unit_test(all_of_64_gib_but_the_guard_is_one_block),
        cmocka_unit_test(a_second_free_is_explained),
        cmocka_unit_test(frees_are_forgotten_in_the_end),
        cmocka_unit_test(what_is_not_the_start_of_a_block_is_refused),
        cmocka_unit_test(an_old_free_inside_a_new_block_is_not_told),
        cmocka_unit_test(long_texts_are_cut),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

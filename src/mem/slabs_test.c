// SPDX-License-Identifier: BSD-3-Clause
/*
 * Slabs: random steps against a model, where small blocks lie, what is known of those
 * that were freed, and how all of it goes to another node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem/random_numbers_test.h"
#include "mem/slabs.h"

#define BASE UINT64_C(0x7e8000000000)
#define SLAB_BYTES ((uint64_t)SLAB_PAGES * TM_PAGE_SIZE)

#ifdef __SANITIZE_THREAD__
#define STEPS(n) ((n) / 5)
#else
#define STEPS(n) (n)
#endif

static const struct heap_origin origin = {"name", "file.c", 1};
static const struct heap_origin place = {.file = "free.c", .line = 2};

/** What the last slabs_release() gave. */
struct result {
    struct heap_block block;
    uint64_t empty;
    char freed_at[HEAP_PLACE_SIZE];
};

static tm_status release(struct slabs *slabs, uint64_t address,
                         struct result *result)
{
    result->empty = 0;
    return slabs_release(slabs, address, &place, &result->block, &result->empty,
                         result->freed_at);
}

static uint64_t allocate(struct slabs *slabs, uint64_t size)
{
    return slabs_alloc(slabs, slabs_kind(size, 16), size, &origin);
}

/** Slabs with one of cells of that size. */
static struct slabs *one_slab(uint32_t cell_size)
{
    struct slabs *slabs = slabs_new();

    assert_non_null(slabs);
    assert_int_equal(slabs_add(slabs, BASE, SLAB_PAGES, cell_size), TM_OK);
    return slabs;
}

/* ---- Random steps against a model --------------------------------------- */

#define MODEL_SLABS 40u
#define MODEL_BLOCKS 3000u
#define GRAIN 16u
#define N_GRAINS (MODEL_SLABS * SLAB_BYTES / GRAIN)

struct model {
    struct slabs *slabs;
    struct heap_block blocks[MODEL_BLOCKS];
    size_t n_blocks;
    uint32_t cell_size[MODEL_SLABS]; ///< 0: it is not held
    uint8_t taken[N_GRAINS];         ///< by the cell of a live block
};

static void set_taken(struct model *model, const struct heap_block *block,
                      uint8_t taken)
{
    const uint64_t first = (block->address - BASE) / GRAIN;

    assert_int_equal(model->cell_size[(block->address - BASE) / SLAB_BYTES],
                     block->capacity);
    for (uint64_t i = first; i < first + block->capacity / GRAIN; i++) {
        assert_int_equal(model->taken[i], !taken);
        model->taken[i] = taken;
    }
}

static int hold_one_more(struct model *model, uint32_t cell_size)
{
    const unsigned first = (unsigned)random_below(MODEL_SLABS);

    for (unsigned i = 0; i < MODEL_SLABS; i++) {
        const unsigned slab = (first + i) % MODEL_SLABS;

        if (model->cell_size[slab] == 0) {
            model->cell_size[slab] = cell_size;
            assert_int_equal(slabs_add(model->slabs, BASE + slab * SLAB_BYTES,
                                       SLAB_PAGES, cell_size),
                             TM_OK);
            return 1;
        }
    }
    return 0;
}

static void model_allocate(struct model *model)
{
    struct heap_block *block = &model->blocks[model->n_blocks];
    const uint64_t size = 1 + random_below(HEAP_SMALL_MAX);
    const uint32_t cell_size = slabs_kind(size, 16);
    uint64_t address;

    if (model->n_blocks == MODEL_BLOCKS) {
        return;
    }
    address = slabs_alloc(model->slabs, cell_size, size, &origin);
    if (address == 0 && hold_one_more(model, cell_size)) {
        address = slabs_alloc(model->slabs, cell_size, size, &origin);
        assert_int_not_equal(address, 0);
    }
    if (address == 0) {
        return;
    }
    assert_int_equal(slabs_around(model->slabs, address, block), TM_OK);
    assert_int_equal(block->address, address);
    assert_int_equal(block->size, size);
    assert_int_equal(block->capacity, cell_size);
    assert_string_equal(block->name, "name");
    set_taken(model, block, 1);
    model->n_blocks++;
}

static void model_release(struct model *model)
{
    struct heap_block *block;
    struct result result;

    if (model->n_blocks == 0) {
        return;
    }
    block = &model->blocks[random_below(model->n_blocks)];
    assert_int_equal(release(model->slabs, block->address, &result), TM_OK);
    assert_memory_equal(&result.block, block, sizeof *block);
    set_taken(model, block, 0);
    if (result.empty != 0) {
        const uint64_t slab = (result.empty - BASE) / SLAB_BYTES;

        assert_int_equal(slab, (block->address - BASE) / SLAB_BYTES);
        model->cell_size[slab] = 0;
    }
    *block = model->blocks[--model->n_blocks];
}

static void model_look_up(const struct model *model)
{
    const struct heap_block *block;
    struct heap_block found;

    if (model->n_blocks == 0) {
        return;
    }
    block = &model->blocks[random_below(model->n_blocks)];
    assert_int_equal(
        slabs_around(model->slabs,
                     block->address + random_below(block->capacity), &found),
        TM_OK);
    assert_memory_equal(&found, block, sizeof found);
}

static void hear(void *owner, const struct slabs_entry *entry)
{
    assert_int_equal(slabs_hear(owner, entry), TM_OK);
}

// All goes to another node, which has none.
static void model_give(struct model *model)
{
    struct slabs *heir = slabs_new();

    assert_non_null(heir);
    for (unsigned i = 0; i < MODEL_SLABS; i++) {
        if (model->cell_size[i] != 0) {
            assert_int_equal(slabs_add(heir, BASE + i * SLAB_BYTES, SLAB_PAGES,
                                       model->cell_size[i]),
                             TM_OK);
        }
    }
    slabs_tell(model->slabs, hear, heir);
    slabs_clear(model->slabs);
    assert_true(slabs_is_valid(model->slabs));
    slabs_free(model->slabs);
    model->slabs = heir;
}

// Most of the time more is allocated than freed, then the other way round.
static void model_step(struct model *model, int is_growing)
{
    const size_t choice = random_below(1000);

    if (choice < (is_growing ? 600u : 250u)) {
        model_allocate(model);
    } else if (choice < 850) {
        model_release(model);
    } else if (choice < 999) {
        model_look_up(model);
    } else {
        model_give(model);
    }
}

static void random_blocks_never_overlap(void **state)
{
    struct model *model = calloc(1, sizeof *model);
    unsigned n_held = 0;

    (void)state;
    assert_non_null(model);
    model->slabs = slabs_new();
    assert_non_null(model->slabs);
    for (int i = 0; i < STEPS(30000); i++) {
        model_step(model, i / STEPS(3000) % 2 == 0);
        if (i % 16 == 0) {
            assert_true(slabs_is_valid(model->slabs));
        }
    }
    while (model->n_blocks > 0) {
        model_release(model);
    }
    assert_true(slabs_is_valid(model->slabs));
    for (unsigned i = 0; i < MODEL_SLABS; i++) {
        n_held += model->cell_size[i] != 0;
    }
    assert_true(n_held <= 24); // an empty slab of each size
    slabs_free(model->slabs);
    free(model);
}

/* ---- Sizes and places --------------------------------------------------- */

static void every_small_size_has_its_red_zone(void **state)
{
    (void)state;
    for (uint64_t size = 1; size <= HEAP_SMALL_MAX; size++) {
        const uint32_t cell_size = slabs_kind(size, 16);

        assert_true(slabs_has_kind(cell_size));
        assert_int_equal(cell_size % 16, 0);
        assert_true(cell_size >= size + HEAP_REDZONE);
        assert_true(cell_size <= size + HEAP_REDZONE + 16 + size / 4);
    }
    assert_int_equal(slabs_kind(HEAP_SMALL_MAX + 1, 16), 0);
    assert_int_equal(slabs_kind(UINT64_MAX, 16), 0);
}

static void cells_are_aligned_as_was_asked_for(void **state)
{
    (void)state;
    for (uint32_t alignment = 16; alignment <= TM_PAGE_SIZE; alignment *= 2) {
        for (uint64_t size = 1; size < HEAP_SMALL_MAX; size++) {
            const uint32_t cell_size = slabs_kind(size, alignment);

            assert_int_equal(cell_size % alignment, 0);
            assert_true(cell_size > 0 || alignment > 16);
        }
    }
    assert_int_equal(slabs_kind(50, 64), 64);
    assert_int_equal(slabs_kind(1, 2048), 0);
}

static void cells_lie_side_by_side(void **state)
{
    struct slabs *slabs = one_slab(112);

    (void)state;
    assert_int_equal(allocate(slabs, 100), BASE);
    assert_int_equal(allocate(slabs, 104), BASE + 112);
    assert_int_equal(allocate(slabs, 10), 0); // no slab has such cells
    slabs_free(slabs);
}

// Of 16 frames and 8 views: cells of 512 bytes.
static void cells_of_a_grain_fill_frame_after_frame(void **state)
{
    const uint32_t kind = slabs_grain_kind(512);
    struct slabs *slabs = slabs_new();
    struct heap_block block;

    (void)state;
    assert_int_equal(slabs_cell_bytes(kind), 512);
    assert_int_equal(slabs_cell_views(kind), 8);
    assert_int_equal(slabs_add(slabs, BASE, 128, kind), TM_OK);
    for (uint64_t i = 0; i < 128; i++) {
        const uint64_t page = i % 8 * 16 + i / 8;
        const uint64_t address = BASE + page * TM_PAGE_SIZE + i % 8 * 512;

        assert_int_equal(slabs_alloc(slabs, kind, 512, &origin), address);
        assert_int_equal(slabs_around(slabs, address + 511, &block), TM_OK);
        assert_int_equal(block.address, address);
        assert_int_equal(block.capacity, 512);
        assert_int_equal(slabs_around(slabs, address + 512, &block),
                         TM_ENOBLOCK);
        assert_true(address % TM_PAGE_SIZE == 0 ||
                    slabs_around(slabs, address - 1, &block) == TM_ENOBLOCK);
    }
    assert_int_equal(slabs_alloc(slabs, kind, 1, &origin), 0);
    assert_true(slabs_is_valid(slabs));
    slabs_free(slabs);
}

static void grains_are_powers_of_two_from_64_to_2048(void **state)
{
    (void)state;
    for (uint64_t grain = 0; grain < 3 * UINT64_C(65536); grain++) {
        const int is_good =
            grain >= 64 && grain <= 2048 && (grain & (grain - 1)) == 0;

        assert_int_equal(slabs_grain_kind(grain) != 0, is_good);
    }
    assert_int_equal(slabs_grain_kind(UINT64_MAX), 0);
}

static void a_slab_is_held_once(void **state)
{
    struct slabs *slabs = one_slab(112);

    (void)state;
    assert_int_equal(slabs_add(slabs, BASE, SLAB_PAGES, 112), TM_EINVAL);
    slabs_free(slabs);
}

static void one_empty_slab_of_a_size_stays(void **state)
{
    struct slabs *slabs = one_slab(2064);
    uint64_t blocks[62]; // 31 blocks of 2048 bytes fill a slab
    struct result result;
    unsigned n_empty = 0;

    (void)state;
    assert_int_equal(slabs_add(slabs, BASE + SLAB_BYTES, SLAB_PAGES, 2064),
                     TM_OK);
    for (unsigned i = 0; i < 62; i++) {
        blocks[i] = allocate(slabs, 2048);
        assert_int_not_equal(blocks[i], 0);
    }
    assert_int_equal(allocate(slabs, 2048), 0);
    for (unsigned i = 0; i < 62; i++) {
        assert_int_equal(release(slabs, blocks[i], &result), TM_OK);
        n_empty += result.empty != 0;
        assert_true(slabs_is_valid(slabs));
    }
    assert_int_equal(n_empty, 1);
    assert_int_not_equal(allocate(slabs, 2048), 0);
    slabs_free(slabs);
}

static void a_freed_cell_is_used_again_last(void **state)
{
    struct slabs *slabs = one_slab(2064);
    struct result result;

    (void)state;
    assert_int_equal(allocate(slabs, 2048), BASE);
    assert_int_equal(release(slabs, BASE, &result), TM_OK);
    for (unsigned i = 0; i < 30; i++) {
        assert_int_not_equal(allocate(slabs, 2048), BASE);
    }
    assert_int_equal(allocate(slabs, 2048), BASE);
    slabs_free(slabs);
}

/* ---- Mistakes of the program -------------------------------------------- */

static void a_second_free_is_explained(void **state)
{
    struct slabs *slabs = one_slab(32);
    struct heap_block block;
    struct result result;

    (void)state;
    assert_int_equal(
        slabs_alloc(slabs, 32, 10, &(struct heap_origin){"few", "main.c", 20}),
        BASE);
    assert_int_equal(slabs_around(slabs, BASE, &block), TM_OK);
    assert_int_equal(release(slabs, BASE, &result), TM_OK);
    assert_int_equal(release(slabs, BASE, &result), TM_EFREED);
    assert_string_equal(result.freed_at, "free.c:2");
    assert_memory_equal(&result.block, &block, sizeof block);
    assert_string_equal(result.block.file, "main.c");
    assert_int_equal(result.block.line, 20);
    slabs_free(slabs);
}

static void what_is_not_the_start_of_a_block_is_refused(void **state)
{
    struct slabs *slabs = one_slab(2064);
    const uint64_t wrong[] = {
        0,
        BASE - 1,
        BASE + 1,
        BASE + 2063,
        BASE + 2064,           // a free cell
        BASE + SLAB_BYTES - 1, // behind the last cell
        BASE + SLAB_BYTES,
        UINT64_MAX,
    };
    struct result result;

    (void)state;
    assert_int_equal(allocate(slabs, 2048), BASE);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(release(slabs, wrong[i], &result), TM_ENOBLOCK);
    }
    assert_int_equal(release(slabs, BASE, &result), TM_OK);
    assert_true(slabs_is_valid(slabs));
    slabs_free(slabs);
}

/* ---- Giving ------------------------------------------------------------- */

static void what_was_freed_is_known_to_the_heir(void **state)
{
    struct slabs *slabs = one_slab(32);
    struct slabs *heir = one_slab(32);
    struct result result;

    (void)state;
    assert_int_equal(allocate(slabs, 10), BASE);
    assert_int_equal(allocate(slabs, 11), BASE + 32);
    assert_int_equal(release(slabs, BASE, &result), TM_OK);
    slabs_tell(slabs, hear, heir);
    assert_int_equal(release(heir, BASE, &result), TM_EFREED);
    assert_string_equal(result.freed_at, "free.c:2");
    assert_int_equal(release(heir, BASE + 32, &result), TM_OK);
    slabs_free(slabs);
    slabs_free(heir);
}

static void a_block_that_fits_no_free_cell_is_refused(void **state)
{
    struct slabs *slabs = one_slab(32);
    struct slabs_entry entry = {.block = {.address = BASE, .size = 24}};

    (void)state;
    assert_int_equal(slabs_hear(slabs, &entry), TM_OK);
    assert_int_equal(slabs_hear(slabs, &entry), TM_EINVAL);
    entry.block.address = BASE + 33;
    assert_int_equal(slabs_hear(slabs, &entry), TM_EINVAL);
    entry.block.address = BASE + SLAB_BYTES;
    assert_int_equal(slabs_hear(slabs, &entry), TM_EINVAL);
    entry.block = (struct heap_block){.address = BASE + 32, .size = 25};
    assert_int_equal(slabs_hear(slabs, &entry), TM_EINVAL);
    assert_true(slabs_is_valid(slabs));
    slabs_free(slabs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_never_overlap),
        cmocka_unit_test(every_small_size_has_its_red_zone),
        cmocka_unit_test(cells_are_aligned_as_was_asked_for),
        cmocka_unit_test(cells_lie_side_by_side),
        cmocka_unit_test(cells_of_a_grain_fill_frame_after_frame),
        cmocka_unit_test(grains_are_powers_of_two_from_64_to_2048),
        cmocka_unit_test(a_slab_is_held_once),
        cmocka_unit_test(one_empty_slab_of_a_size_stays),
        cmocka_unit_test(a_freed_cell_is_used_again_last),
        cmocka_unit_test(a_second_free_is_explained),
        cmocka_unit_test(what_is_not_the_start_of_a_block_is_refused),
        cmocka_unit_test(what_was_freed_is_known_to_the_heir),
        cmocka_unit_test(a_block_that_fits_no_free_cell_is_refused),
    };

    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A heap in one range: blocks keep their bytes, and all of it comes back. TM_TEST_SEEDS=
// first,number chooses the seeds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/seeds_test.h"
#include "ult/arena.h"

enum { SIZE = 1 << 18, N_BLOCKS = 64, N_STEPS = 4000 };

static _Alignas(4096) char range[SIZE];
static struct arena *arena = (struct arena *)range;

struct block {
    unsigned char *bytes;
    size_t size;
};

static void begin(void)
{
    memset(range, 0, sizeof range);
    arena_init(arena, SIZE);
    assert_int_equal(arena_used(arena), 0);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make_block(struct block *block, size_t size)
{
    block->size = size;
    block->bytes = arena_alloc(arena, size);
    if (block->bytes != NULL) {
        assert_int_equal((uintptr_t)block->bytes % 16, 0);
        assert_true((char *)block->bytes + size <= range + arena_used(arena));
        memset(block->bytes, (int)(size % 251), size);
    }
}

static void free_block(struct block *block)
{
    for (size_t i = 0; i < block->size; i++) {
        assert_int_equal(block->bytes[i], block->size % 251);
    }
    assert_int_equal(arena_free(arena, block->bytes), TM_OK);
    block->bytes = NULL;
}

static void run_seed(uint64_t seed)
{
    struct block blocks[N_BLOCKS] = {{0}};
    uint64_t state = seed;

    begin();
    for (unsigned step = 0; step < N_STEPS; step++) {
        struct block *block = &blocks[next_random(&state) % N_BLOCKS];

        if (block->bytes != NULL) {
            free_block(block);
        } else {
            make_block(block,
                       next_random(&state) % (1u << next_random(&state) % 15));
        }
        if (!arena_is_valid(arena)) {
            fail_msg("seed %llu, step %u", (unsigned long long)seed, step);
        }
    }
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        if (blocks[i].bytes != NULL) {
            free_block(&blocks[i]);
        }
    }
    assert_int_equal(arena_used(arena), 0);
}

static void blocks_keep_their_bytes_and_all_of_it_comes_back(void **state)
{
    const struct seeds seeds = seeds_of_test(40);

    (void)state;
    for (unsigned long long seed = seeds.first; seed < seeds.end; seed++) {
        run_seed(seed);
    }
}

static void what_is_no_block_is_refused(void **state)
{
    char *blocks[3];
    char elsewhere[64] = {0};

    (void)state;
    begin();
    assert_int_equal(arena_free(arena, range), TM_ENOBLOCK);
    for (int i = 0; i < 3; i++) {
        blocks[i] = arena_alloc(arena, 100);
        memset(blocks[i], 0xff, 100);
    }
    assert_int_equal(arena_free(arena, elsewhere + 16), TM_ENOBLOCK);
    assert_int_equal(arena_free(arena, blocks[1] + 16), TM_ENOBLOCK);
    assert_int_equal(arena_free(arena, blocks[1] + 1), TM_ENOBLOCK);
    assert_int_equal(arena_free(arena, range + SIZE + 16), TM_ENOBLOCK);
    assert_int_equal(arena_free(arena, blocks[1]), TM_OK);
    assert_int_equal(arena_free(arena, blocks[1]), TM_ENOBLOCK);
    assert_int_equal(arena_free(arena, blocks[2]), TM_OK);
    assert_int_equal(arena_free(arena, blocks[2]), TM_ENOBLOCK); // behind all
    assert_true(arena_is_valid(arena));
}

static void all_of_it_can_be_had_and_no_more(void **state)
{
    void *block;
    unsigned n = 0;

    (void)state;
    begin();
    assert_null(arena_alloc(arena, SIZE));
    assert_null(arena_alloc(arena, SIZE_MAX));
    while ((block = arena_alloc(arena, 1000)) != NULL) {
        n++;
    }
    assert_true(n >= (SIZE - 4096) / 1024);
    assert_int_equal(arena_used(arena) <= SIZE, 1);
    assert_true(arena_is_valid(arena));
}

/* As when its thread has moved: the used bytes are all there is to it. */
static void its_used_bytes_are_all_there_is_to_it(void **state)
{
    static char copy[SIZE];
    struct block blocks[N_BLOCKS];
    size_t used;

    (void)state;
    begin();
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        make_block(&blocks[i], 10 * i);
    }
    for (unsigned i = 0; i < N_BLOCKS; i += 2) {
        free_block(&blocks[i]);
    }
    arena_set_root(arena, blocks[1].bytes);
    used = arena_used(arena);
    memcpy(copy, range, used);
    memset(range, 0, sizeof range);
    memcpy(range, copy, used);
    assert_true(arena_is_valid(arena));
    assert_ptr_equal(arena_root(arena), blocks[1].bytes);
    make_block(&blocks[0], 500);
    for (unsigned i = 1; i < N_BLOCKS; i += 2) {
        free_block(&blocks[i]);
    }
    assert_true(arena_is_valid(arena));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_their_bytes_and_all_of_it_comes_back),
        cmocka_unit_test(what_is_no_block_is_refused),
        cmocka_unit_test(all_of_it_can_be_had_and_no_more),
        cmocka_unit_test(its_used_bytes_are_all_there_is_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/pool.h"

enum { N_KEYS = 300 };

static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % bound;
}

static void table_equals_an_array_after_random_steps(void **state)
{
    static char records[N_KEYS];
    int there[N_KEYS] = {0};
    struct map map = {0};

    (void)state;
    random_state = 7;
    for (int step = 0; step < 20000; step++) {
        uint64_t i = random_below(N_KEYS);
        uint64_t key = i * 64; // as addresses of objects in an array

        if (there[i]) {
            assert_ptr_equal(map_find(&map, key), &records[i]);
            if (random_below(100) < (step / 2000 % 2 == 0 ? 20u : 80u)) {
                assert_ptr_equal(map_take(&map, key), &records[i]);
                there[i] = 0;
            }
        } else {
            assert_null(map_find(&map, key));
            assert_null(map_take(&map, key));
            map_add(&map, key, &records[i]);
            there[i] = 1;
        }
        assert_true(map_is_valid(&map));
    }
    map_release(&map);
}

static void an_index_is_found_or_set_where_its_key_is(void **state)
{
    uint32_t indices[N_KEYS];
    struct map map = {0};

    (void)state;
    memset(indices, 0xff, sizeof indices); // MAP_NONE
    random_state = 8;
    for (uint32_t step = 0; step < 20000; step++) {
        const uint64_t i = random_below(N_KEYS);
        struct map_entry *entry = map_reach(&map, i * 64);

        assert_int_equal(map_index_in(entry), indices[i]);
        map_set_index(entry, step);
        indices[i] = step;
        assert_int_equal(map_find_index(&map, i * 64), step);
        if (random_below(3) == 0) {
            assert_non_null(map_take(&map, i * 64));
            indices[i] = MAP_NONE;
        }
        assert_true(map_is_valid(&map));
    }
    map_release(&map);
}

static void pool_gives_zeroed_records_that_do_not_overlap(void **state)
{
    struct pool pool;
    unsigned char *records[500];

    (void)state;
    pool_init(&pool, 40);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 500; i++) {
            records[i] = pool_take(&pool);
            for (int byte = 0; byte < 40; byte++) {
                assert_int_equal(records[i][byte], 0);
            }
            memset(records[i], i % 255 + 1, 40);
        }
        for (int i = 0; i < 500; i++) {
            assert_int_equal(records[i][0], i % 255 + 1);
            assert_int_equal(records[i][39], i % 255 + 1);
            pool_give(&pool, records[i]);
        }
    }
    pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_equals_an_array_after_random_steps),
        cmocka_unit_test(an_index_is_found_or_set_where_its_key_is),
        cmocka_unit_test(pool_gives_zeroed_records_that_do_not_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

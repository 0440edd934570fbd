// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "mem/slabs.h"
#include "runtime/cell.h"

static char bytes[2 * 2064];

static void a_block_is_live_then_freed(void **state)
{
    node_id by = 0;

    (void)state;
    for (uint64_t size = 1; size <= HEAP_SMALL_MAX; size++) {
        const uint64_t capacity = slabs_kind(size, 16);

        memset(bytes, 7, sizeof bytes);
        cell_prepare(bytes, size, capacity);
        assert_int_equal(bytes[0], 0);
        assert_int_equal(bytes[size - 1], 0);
        assert_int_equal(bytes[capacity], 7);
        assert_int_equal(cell_read(bytes, capacity, &by), CELL_LIVE);
        assert_int_equal(cell_overrun(bytes, size, capacity), 0);
        cell_free(bytes, capacity, (node_id)(size % TM_MAX_NODES));
        assert_int_equal(cell_read(bytes, capacity, &by), CELL_FREED);
        assert_int_equal(by, size % TM_MAX_NODES);
    }
}

// Whatever byte behind the block changes, and to what it seldom would: a zero, too.
static void any_byte_behind_a_block_that_changes_is_found(void **state)
{
    node_id by;

    (void)state;
    for (uint64_t size = 1; size <= HEAP_SMALL_MAX; size += size / 8 + 1) {
        const uint64_t capacity = slabs_kind(size, 16);

        for (uint64_t at = size; at < capacity; at++) {
            cell_prepare(bytes, size, capacity);
            bytes[at] ^= 1;
            assert_int_equal(cell_read(bytes, capacity, &by), CELL_DAMAGED);
            assert_int_equal(cell_overrun(bytes, size, capacity), at);
        }
        cell_prepare(bytes, size, capacity);
        bytes[size] = 0;
        assert_int_equal(cell_read(bytes, capacity, &by), CELL_DAMAGED);
    }
}

static void a_block_that_fills_its_cell_is_not_told(void **state)
{
    node_id by;

    (void)state;
    for (uint64_t size = 57; size <= 64; size++) {
        memset(bytes, 1, sizeof bytes);
        cell_prepare(bytes, size, 64);
        for (uint64_t i = 0; i < sizeof bytes; i++) {
            assert_int_equal(bytes[i], i < size ? 0 : 1);
        }
        assert_int_equal(cell_read(bytes, 64, &by), CELL_DAMAGED);
        assert_int_equal(cell_overrun(bytes, size, 64), 0);
    }
}

static void what_was_never_a_block_is_none(void **state)
{
    node_id by;

    (void)state;
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(cell_read(bytes, 64, &by), CELL_DAMAGED);
    cell_prepare(bytes, 40, 64);
    memcpy(bytes + 64, bytes, 64); // a copy of a cell
    assert_int_equal(cell_read(bytes + 64, 64, &by), CELL_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_live_then_freed),
        cmocka_unit_test(any_byte_behind_a_block_that_changes_is_found),
        cmocka_unit_test(a_block_that_fills_its_cell_is_not_told),
        cmocka_unit_test(what_was_never_a_block_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

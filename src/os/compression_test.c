// SPDX-License-Identifier: BSD-3-Clause
#include "os/compression.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/random.h"

enum { SIZE = 65536 };

static uint8_t bytes[SIZE];
static uint8_t packed[SIZE];
static uint8_t again[SIZE];

static struct compression *open_or_skip(void)
{
    struct compression *compression = compression_open();

    if (compression == NULL) {
        skip();
    }
    return compression;
}

static void bytes_come_back_as_they_were(void **state)
{
    struct compression *compression = open_or_skip();

    (void)state;
    for (uint32_t size = 1; size <= SIZE; size *= 2) {
        uint32_t n;

        memset(bytes, (int)(size % 251), size);
        n = compression_pack(compression, bytes, size, packed, SIZE);
        assert_in_range(n, 1, SIZE);
        memset(again, 0, size);
        assert_true(compression_unpack(compression, packed, n, again, size));
        assert_memory_equal(bytes, again, size);
        assert_false(
            compression_unpack(compression, packed, n, again, size - 1));
        assert_false(
            compression_unpack(compression, packed, n - 1, again, size));
    }
    compression_close(compression);
}

static void what_does_not_become_fewer_is_told(void **state)
{
    struct compression *compression = open_or_skip();
    uint64_t seed = 5;

    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (uint8_t)random_next(&seed);
    }
    assert_int_equal(
        compression_pack(compression, bytes, SIZE, packed, SIZE * 7 / 8), 0);
    assert_false(compression_unpack(compression, bytes, SIZE, again, SIZE));
    compression_close(compression);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back_as_they_were),
        cmocka_unit_test(what_does_not_become_fewer_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "os/spare_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <string.h>

static void it_can_be_used_again_after_it_was_lent(void **state)
{
    struct spare_memory spare = {0};
    char *first = spare_memory_take(&spare, 1 << 20);

    (void)state;
    for (char round = 1; round < 4; round++) {
        char *bytes = spare_memory_take(&spare, 1 << 20);

        assert_ptr_equal(bytes, first);
        memset(bytes, round, 1 << 20);
        assert_int_equal(bytes[0], round);
        assert_int_equal(bytes[(1 << 20) - 1], round);
        spare_memory_lend(&spare);
    }
    spare_memory_release(&spare);
}

static void it_becomes_more_when_more_is_needed(void **state)
{
    struct spare_memory spare = {0};

    (void)state;
    spare_memory_lend(&spare); // there is none
    for (size_t size = 1; size <= 8 << 20; size *= 3) {
        char *bytes = spare_memory_take(&spare, size);

        assert_non_null(bytes);
        assert_true(spare.size >= size);
        bytes[0] = bytes[size - 1] = 1;
        spare_memory_lend(&spare);
    }
    spare_memory_release(&spare);
    assert_null(spare.bytes);
}

static void more_than_there_can_be_is_refused(void **state)
{
    struct spare_memory spare = {0};

    (void)state;
    assert_null(spare_memory_take(&spare, SIZE_MAX / 4));
    assert_int_equal(spare.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_can_be_used_again_after_it_was_lent),
        cmocka_unit_test(it_becomes_more_when_more_is_needed),
        cmocka_unit_test(more_than_there_can_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

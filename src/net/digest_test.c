// SPDX-License-Identifier: BSD-3-Clause
#include "net/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static struct digests *digests;

static int begin(void **state)
{
    (void)state;
    return digests_open(&digests) == TM_OK ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    digests_close(digests);
    return 0;
}

static int is_same(const uint8_t *left, const uint8_t *right)
{
    return memcmp(left, right, DIGEST_SIZE) == 0;
}

static void each_bit_that_changes_and_the_number_and_the_length_are_seen(
    void **state)
{
    uint8_t bytes[512] = {1, 2, 3};
    uint8_t was[DIGEST_SIZE];
    uint8_t is[DIGEST_SIZE];

    (void)state;
    digest_of(digests, 7, bytes, sizeof bytes, was);
    for (size_t i = 0; i < 8 * sizeof bytes; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        digest_of(digests, 7, bytes, sizeof bytes, is);
        assert_false(is_same(was, is));
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    digest_of(digests, 7, bytes, sizeof bytes, is);
    assert_true(is_same(was, is));
    digest_of(digests, 8, bytes, sizeof bytes, is);
    assert_false(is_same(was, is));
    digest_of(digests, 7, bytes, sizeof bytes - 1, is);
    assert_false(is_same(was, is));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            each_bit_that_changes_and_the_number_and_the_length_are_seen, begin,
            end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

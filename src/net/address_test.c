// SPDX-License-Identifier: BSD-3-Clause
#include "net/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 50u

static void make_address(uint8_t *wrapped)
{
    uint8_t address[N];

    for (unsigned i = 0; i < N; i++) {
        address[i] = (uint8_t)(i * 5);
    }
    address_wrap(address, N, wrapped);
}

static void an_address_comes_out_of_its_wrapper(void **unused)
{
    uint8_t wrapped[N + 8];
    const uint8_t *address;

    (void)unused;
    assert_int_equal(address_wrapped_size(N), sizeof wrapped);
    make_address(wrapped);
    address = address_unwrap(wrapped, sizeof wrapped);
    assert_ptr_equal(address, wrapped + 8);
    assert_int_equal(address[49], 245);
}

static void an_address_with_a_wrong_bit_is_refused(void **unused)
{
    uint8_t wrapped[N + 8];

    (void)unused;
    make_address(wrapped);
    for (unsigned bit = 0; bit < 8 * sizeof wrapped; bit++) {
        wrapped[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_null(address_unwrap(wrapped, sizeof wrapped));
        wrapped[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_non_null(address_unwrap(wrapped, sizeof wrapped));
}

static void an_address_cut_at_any_length_is_refused(void **unused)
{
    uint8_t wrapped[N + 8];

    (void)unused;
    make_address(wrapped);
    for (size_t size = 0; size < sizeof wrapped; size++) {
        uint8_t *cut = malloc(size + 1);

        assert_non_null(cut);
        memcpy(cut + 1, wrapped, size); // ASan sees what is read behind it
        assert_null(address_unwrap(cut + 1, size));
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_comes_out_of_its_wrapper),
        cmocka_unit_test(an_address_with_a_wrong_bit_is_refused),
        cmocka_unit_test(an_address_cut_at_any_length_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

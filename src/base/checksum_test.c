// SPDX-License-Identifier: BSD-3-Clause
#include "base/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE 4096

static _Alignas(8) unsigned char page[SIZE];

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static unsigned n_equal(uint32_t *sums, unsigned n)
{
    unsigned equal = 0;

    qsort(sums, n, sizeof *sums, compare);
    for (unsigned i = 1; i < n; i++) {
        equal += sums[i] == sums[i - 1];
    }
    return equal;
}

// By chance, 32,768 numbers of 32 bits have 0.125 pairs of equal ones.
static void pages_that_differ_by_a_bit_differ(void **state)
{
    static uint32_t sums[SIZE * 8];

    (void)state;
    for (unsigned i = 0; i < SIZE * 8; i++) {
        page[i / 8] ^= (unsigned char)(1u << i % 8);
        sums[i] = checksum(page, SIZE, 0);
        page[i / 8] ^= (unsigned char)(1u << i % 8);
        assert_true(sums[i] != checksum(page, SIZE, 0) && sums[i] != 0);
    }
    assert_true(n_equal(sums, SIZE * 8) <= 2);
}

static void seeds_and_exchanged_words_make_a_difference(void **state)
{
    static uint32_t sums[4096];
    uint64_t word = 7;

    (void)state;
    for (unsigned i = 0; i < 4096; i++) {
        sums[i] = checksum(page, SIZE, i);
    }
    assert_true(n_equal(sums, 4096) <= 1);
    for (unsigned i = 0; i < SIZE / 8; i++) {
        memcpy(page + i * 8, &word, 8);
        sums[i] = checksum(page, SIZE, 0);
        memset(page + i * 8, 0, 8);
    }
    assert_true(n_equal(sums, SIZE / 8) <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_differ_by_a_bit_differ),
        cmocka_unit_test(seeds_and_exchanged_words_make_a_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// mem/diff.c: any bytes as a diff change a page as they say or not at all; the diff of
// two pages makes one of the other, by each of the processor's kernels.
#include <string.h>

#include "fuzz.h"
#include "mem/diff_priv.h"

static _Alignas(64) uint8_t page[TM_PAGE_SIZE];
static _Alignas(64) uint8_t twin[TM_PAGE_SIZE];
static _Alignas(64) uint8_t other[TM_PAGE_SIZE];

static int are_equal(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, TM_PAGE_SIZE) == 0;
}

/** The bytes as a diff. */
static void apply(const uint8_t *data, size_t size)
{
    size_t n = diff_count(data, size);
    size_t n_changed = 0;

    memset(page, 0x5a, sizeof page);
    memset(twin, 0x5a, sizeof twin);
    memset(other, 0x5a, sizeof other);
    if (diff_apply(data, size, page, twin) != TM_OK) {
        FUZZ_CHECK(n == 0 && are_equal(page, other));
        return;
    }
    FUZZ_CHECK(n > 0 && n <= TM_PAGE_SIZE);
    FUZZ_CHECK(are_equal(page, twin));
    for (size_t i = 0; i < TM_PAGE_SIZE; i++) {
        n_changed += page[i] != other[i];
    }
    FUZZ_CHECK(n_changed <= n);
}

/** The bytes as what is written into a page of zeros: offset u16, length u8, value u8.
 * @return how many are not zero afterwards */
static size_t write_page(struct wire_reader *input)
{
    size_t n = 0;

    memset(page, 0, sizeof page);
    while (fuzz_left(input) >= 4) {
        size_t offset = wire_get_u16(input) % TM_PAGE_SIZE;
        size_t length = wire_get_u8(input);
        uint8_t value = wire_get_u8(input);

        if (length > TM_PAGE_SIZE - offset) {
            length = TM_PAGE_SIZE - offset;
        }
        for (size_t i = offset; i < offset + length; i++) {
            n -= page[i] != 0;
            page[i] ^= (uint8_t)(value + (value & i));
            n += page[i] != 0;
        }
    }
    return n;
}

/** @param n  bytes of the page that are not zero */
static void encode(const struct diff_kernel *kernel, size_t n)
{
    uint8_t diff[DIFF_MAX];
    size_t size;

    memset(twin, 0, sizeof twin);
    memset(other, 0, sizeof other);
    size = diff_encode_by(kernel, page, twin, diff);
    FUZZ_CHECK(size <= DIFF_MAX);
    FUZZ_CHECK((size == 0) == (n == 0));
    FUZZ_CHECK(are_equal(page, twin));
    FUZZ_CHECK(diff_count(diff, size) == n);
    if (size > 0) {
        FUZZ_CHECK(diff_apply_by(kernel, diff, size, other, NULL) == TM_OK);
    }
    FUZZ_CHECK(are_equal(page, other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    size_t n;

    apply(data, size);
    n = write_page(&input);
    for (unsigned i = 0; i < n_diff_kernels; i++) {
        if (diff_kernels[i]->is_usable()) {
            encode(diff_kernels[i], n);
        }
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Diffs of pages.
 *
 * Encoding goes in two steps. The scan compares page and twin, 64 bytes at a
 * time, and makes a mask with a bit for every byte that differs. It reads every
 * byte of the page exactly once and stores what it read into the twin; from
 * then on the page is not looked at, and the bytes of the diff are taken from
 * the twin. So a byte that another thread writes during the scan is either
 * seen (in twin and diff) or not (in neither, found by the next diff). The
 * second step writes the diff in the shorter of two forms:
 *
 *   runs     0x01, then for each run, in ascending order: u16 offset,
 *            u16 length, bytes
 *   bitmap   0x02, 512 bytes of mask (bit i of byte j is page byte 8 j + i),
 *            then the bytes of all set bits, in ascending order
 *
 * Numbers are little-endian. Runs are shorter up to 128 of them. Every diff sets
 * at least one byte; one without bytes is malformed, as is any that is not
 * exactly as long as its contents say.
 *
 * The loops over all bytes are in mem/diff_kernel.c.
 *
 * Invariants
 * I1  No byte of the page is read twice by one diff_encode().
 * I2  diff_apply() stores to no byte that the diff does not name, not even the
 *     value that is there: somebody else may be writing it. What it names is
 *     stored in naturally aligned pieces as large as possible, so that aligned
 *     integers and doubles of the program change in one step.
 * I3  A diff is checked completely before the first byte is stored.
 *
 * Twins and multiple writers are those of Munin: J. B. Carter, J. K. Bennett,
 * W. Zwaenepoel, "Implementation and performance of Munin", SOSP 1991; there
 * the grain is a word, here it is a byte.
 */
#include "mem/diff.h"

#include <endian.h>
#include <string.h>

#include "mem/diff_priv.h"

#define MASK_BYTES (TM_PAGE_SIZE / 8)
#define BITMAP_HEADER (1 + MASK_BYTES)
#define RUN_HEADER 4u
#define MAX_RUNS (MASK_BYTES / RUN_HEADER)

_Static_assert(BITMAP_HEADER + TM_PAGE_SIZE <= DIFF_MAX, "longest bitmap");
_Static_assert(1 + MAX_RUNS * RUN_HEADER + TM_PAGE_SIZE <= DIFF_MAX,
               "longest list of runs");

enum form {
    FORM_RUNS = 1,
    FORM_BITMAP = 2,
};

static void put_u16(uint8_t *to, size_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static size_t get_u16(const uint8_t *from)
{
    return from[0] | (size_t)from[1] << 8;
}

static void put_mask(uint8_t *to, const uint64_t *mask)
{
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        uint64_t word = htole64(mask[i]);

        memcpy(to + i * sizeof(word), &word, sizeof(word));
    }
}

static void get_mask(uint64_t *mask, const uint8_t *from)
{
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        memcpy(&mask[i], from + i * sizeof(mask[i]), sizeof(mask[i]));
        mask[i] = le64toh(mask[i]);
    }
}

static const struct diff_kernel *best_kernel(void)
{
    unsigned i = 0;

    while (!diff_kernels[i]->is_usable()) {
        i++; // the last is usable everywhere
    }
    return diff_kernels[i];
}

/* ---- Encode ------------------------------------------------------------- */

/** The first byte from `from` on that changed (flip 0) or did not (flip ~0);
 * 4096 if there is none. */
static size_t find_byte(const uint64_t *mask, size_t from, uint64_t flip)
{
    size_t i = from / DIFF_BLOCK;
    uint64_t bits;

    if (i == DIFF_BLOCKS) {
        return TM_PAGE_SIZE;
    }
    bits = (mask[i] ^ flip) & ~UINT64_C(0) << from % DIFF_BLOCK;
    while (bits == 0) {
        if (++i == DIFF_BLOCKS) {
            return TM_PAGE_SIZE;
        }
        bits = mask[i] ^ flip;
    }
    return i * DIFF_BLOCK + (size_t)__builtin_ctzll(bits);
}

static uint8_t *encode_runs(const struct diff_kernel *kernel,
                            const uint64_t *mask, size_t n_runs,
                            const uint8_t *twin, uint8_t *out)
{
    int is_end_changed = (int)(mask[DIFF_BLOCKS - 1] >> (DIFF_BLOCK - 1));
    size_t end = 0;

    *out++ = FORM_RUNS;
    for (size_t i = 0; i < n_runs; i++) {
        size_t start = find_byte(mask, end, 0);

        if (i + 1 == n_runs && is_end_changed) {
            end = TM_PAGE_SIZE; // a page that is all new, without a search
        } else {
            end = find_byte(mask, start, ~UINT64_C(0));
        }
        put_u16(out, start);
        put_u16(out + 2, end - start);
        kernel->copy(out + RUN_HEADER, twin + start, end - start);
        out += RUN_HEADER + end - start;
    }
    return out;
}

static size_t encode_mask(const struct diff_kernel *kernel,
                          const uint64_t *mask, size_t n_runs,
                          const uint8_t *bytes, uint8_t *start)
{
    uint8_t *end;

    if (n_runs == 0) {
        return 0;
    }
    if (n_runs <= MAX_RUNS) {
        end = encode_runs(kernel, mask, n_runs, bytes, start);
    } else {
        start[0] = FORM_BITMAP;
        put_mask(start + 1, mask);
        end = kernel->pack(mask, bytes, start + BITMAP_HEADER);
    }
    return (size_t)(end - start);
}

size_t diff_encode_by(const struct diff_kernel *kernel, const void *page,
                      void *twin, void *diff)
{
    uint64_t mask[DIFF_BLOCKS];
    size_t n_runs = kernel->scan(page, twin, mask);

    return encode_mask(kernel, mask, n_runs, twin, diff);
}

size_t diff_encode(const void *page, void *twin, void *diff)
{
    return diff_encode_by(best_kernel(), page, twin, diff);
}

size_t diff_of_mask(const void *page, const uint64_t *mask, void *diff)
{
    uint64_t before = 0; // the bit before the first of a word
    size_t n_runs = 0;

    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        n_runs += diff_count_bits(mask[i] & ~(mask[i] << 1 | before));
        before = mask[i] >> (DIFF_BLOCK - 1);
    }
    return encode_mask(best_kernel(), mask, n_runs, page, diff);
}

/* ---- Check -------------------------------------------------------------- */

static size_t count_in_runs(const uint8_t *diff, size_t size)
{
    size_t n_bytes = 0;
    size_t at = 1;
    size_t end = 0; // of the run before

    while (at < size) {
        size_t start;
        size_t length;

        if (size - at < RUN_HEADER) {
            return 0;
        }
        start = get_u16(diff + at);
        length = get_u16(diff + at + 2);
        at += RUN_HEADER;
        if (length == 0 || start < end || start + length > TM_PAGE_SIZE ||
            length > size - at) {
            return 0;
        }
        n_bytes += length;
        at += length;
        end = start + length;
    }
    return n_bytes;
}

static size_t count_in_bitmap(const uint8_t *diff, size_t size)
{
    uint64_t mask[DIFF_BLOCKS];
    size_t n_bytes = 0;

    if (size < BITMAP_HEADER) {
        return 0;
    }
    get_mask(mask, diff + 1);
    for (size_t i = 0; i < DIFF_BLOCKS; i++) {
        n_bytes += diff_count_bits(mask[i]);
    }
    return size == BITMAP_HEADER + n_bytes ? n_bytes : 0;
}

size_t diff_count(const void *diff, size_t size)
{
    const uint8_t *bytes = diff;

    if (size == 0 || size > DIFF_MAX) {
        return 0;
    }
    switch (bytes[0]) {
    case FORM_RUNS:
        return count_in_runs(bytes, size);
    case FORM_BITMAP:
        return count_in_bitmap(bytes, size);
    default:
        return 0;
    }
}

static void mask_of_runs(const uint8_t *diff, size_t size, uint64_t *mask)
{
    for (size_t at = 1; at < size;) {
        size_t start = get_u16(diff + at);
        size_t length = get_u16(diff + at + 2);

        for (size_t i = start; i < start + length; i++) {
            mask[i / DIFF_BLOCK] |= UINT64_C(1) << i % DIFF_BLOCK;
        }
        at += RUN_HEADER + length;
    }
}

void diff_mask(const void *diff, size_t size, uint64_t *mask)
{
    const uint8_t *bytes = diff;

    memset(mask, 0, DIFF_BLOCKS * sizeof *mask);
    if (diff_count(diff, size) == 0) {
        return;
    }
    if (bytes[0] == FORM_BITMAP) {
        get_mask(mask, bytes + 1);
    } else {
        mask_of_runs(bytes, size, mask);
    }
}

/* ---- Apply -------------------------------------------------------------- */

static void apply_runs(const uint8_t *diff, size_t size, uint8_t *page)
{
    for (size_t at = 1; at < size;) {
        size_t start = get_u16(diff + at);
        size_t length = get_u16(diff + at + 2);

        at += RUN_HEADER;
        diff_store(page + start, diff + at, length);
        at += length;
    }
}

static void apply_bitmap(const struct diff_kernel *kernel, const uint8_t *diff,
                         uint8_t *page, uint8_t *twin)
{
    uint64_t mask[DIFF_BLOCKS];

    get_mask(mask, diff + 1);
    kernel->unpack(mask, diff + BITMAP_HEADER, page);
    if (twin != NULL) {
        kernel->unpack(mask, diff + BITMAP_HEADER, twin);
    }
}

tm_status diff_apply_by(const struct diff_kernel *kernel, const void *diff,
                        size_t size, void *page, void *twin)
{
    const uint8_t *bytes = diff;

    if (diff_count(diff, size) == 0) {
        return TM_EWIRE;
    }
    if (bytes[0] == FORM_BITMAP) {
        apply_bitmap(kernel, bytes, page, twin);
        return TM_OK;
    }
    apply_runs(bytes, size, page);
    if (twin != NULL) {
        apply_runs(bytes, size, twin);
    }
    return TM_OK;
}

tm_status diff_apply(const void *diff, size_t size, void *page, void *twin)
{
    return diff_apply_by(best_kernel(), diff, size, page, twin);
}

size_t diff_of_range(const void *bytes, size_t offset, size_t length,
                     void *diff)
{
    uint8_t *out = diff;

    out[0] = FORM_RUNS;
    put_u16(out + 1, offset);
    put_u16(out + 3, length);
    memcpy(out + 1 + RUN_HEADER, bytes, length);
    return 1 + RUN_HEADER + length;
}

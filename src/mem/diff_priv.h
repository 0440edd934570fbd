// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_DIFF_PRIV_H
#define MEM_DIFF_PRIV_H

#include "mem/diff.h"

#define DIFF_BLOCK 64u
#define DIFF_BLOCKS (TM_PAGE_SIZE / DIFF_BLOCK)

/**
 * The loops over a page, for one kind of processor. A mask has one bit
 * for each byte of the page: bit i of word j is byte 64 j + i. All kernels give
 * the same results.
 */
struct diff_kernel {
    const char *name;

    int (*is_usable)(void); ///< on this processor

    /** Compare, and make the twin equal to the page; reads each byte of the
     * page once. @return the number of runs of set bits */
    size_t (*scan)(const uint8_t *page, uint8_t *twin, uint64_t *mask);

    /** Put the page's bytes with set bits side by side into out[4096], which may
     * be written behind them too. @return the end of what was put */
    uint8_t *(*pack)(const uint64_t *mask, const uint8_t *page, uint8_t *out);

    /** As memcpy(), which takes four times as long for a page on processors
     * whose string copy is slow when both ends lie alike in their pages. */
    void (*copy)(uint8_t *to, const uint8_t *from, size_t length);

    /** The reverse of pack(); stores to no byte whose bit is not set. */
    void (*unpack)(const uint64_t *mask, const uint8_t *packed, uint8_t *page);
};

/** From the fastest to the one in plain C, which is always usable. */
extern const struct diff_kernel *const diff_kernels[];
extern const unsigned n_diff_kernels;

/** diff_encode() and diff_apply() with a kernel of the caller's choice. */
size_t diff_encode_by(const struct diff_kernel *kernel, const void *page,
                      void *twin, void *diff);
TM_CHECKED tm_status diff_apply_by(const struct diff_kernel *kernel,
                                   const void *diff, size_t size, void *page,
                                   void *twin);

/** Store bytes side by side, in naturally aligned pieces as large as possible;
 * touches no others. */
void diff_store(uint8_t *to, const uint8_t *from, size_t length);

static inline unsigned diff_count_bits(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(bits * 0x0101010101010101u >> 56);
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_DIFF_H
#define MEM_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * The diff of a page against its twin: exactly the bytes that differ, never a
 * neighbour, because another node may be writing that one. Two encodings, the
 * shorter is taken: runs (u16 offset, u16 length, bytes) and a bitmap of 4096
 * bits followed by the bytes. First byte: which.
 */

/** The longest encoded diff. */
#define DIFF_MAX 4624u

/**
 * Encode, and make the twin equal to the page. Other threads may be writing the
 * page meanwhile: every byte is read once, and what is not in this diff is found
 * by the next.
 *
 * @param page          [4096]  aligned to 64
 * @param[in,out] twin  [4096]  aligned to 64; becomes the page as it was read
 * @param[out] diff     [DIFF_MAX]
 * @return bytes of the diff, 0 if nothing differs
 * Context: any thread; pure.
 */
size_t diff_encode(const void *page, void *twin, void *diff);

/**
 * Write a diff's bytes, and only those, into a page and, if there is one, its
 * twin. Other threads may be writing other bytes of the page meanwhile. Accepts
 * any bytes as a diff; one that is malformed changes nothing.
 *
 * @param page  [4096]
 * @param twin  [4096] or NULL
 * @return TM_OK, TM_EWIRE
 */
TM_CHECKED tm_status diff_apply(const void *diff, size_t size, void *page,
                                void *twin);

/**
 * The diff that sets one run of bytes.
 *
 * @param bytes      [length]
 * @param offset     in the page; offset + length <= 4096, length > 0
 * @param[out] diff  [DIFF_MAX]
 * @return bytes of the diff
 */
size_t diff_of_range(const void *bytes, size_t offset, size_t length,
                     void *diff);

/**
 * The diff that sets the bytes of a mask, which nobody writes meanwhile.
 *
 * @param page       [4096]  aligned to 64
 * @param mask       [64]    as of diff_mask()
 * @param[out] diff  [DIFF_MAX]
 * @return bytes of the diff, 0 if the mask is empty
 */
size_t diff_of_mask(const void *page, const uint64_t *mask, void *diff);

/**
 * Which bytes of the page the diff sets.
 *
 * @param[out] mask  [64]  bit i of word j is byte 64 j + i; all 0 if malformed
 */
void diff_mask(const void *diff, size_t size, uint64_t *mask);

/** @return the number of bytes that the diff sets; 0 if malformed */
size_t diff_count(const void *diff, size_t size);

#endif

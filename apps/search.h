// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_SEARCH_H
#define APPS_SEARCH_H
/*
 * The arithmetic of motion: full search for blocks of 16 x 16 pixels. Whole
 * numbers only, compiled once for the program and its sequential twin.
 */

#include <stddef.h>
#include <stdint.h>

enum { MACROBLOCK = 16 };

/** Two frames that follow each other. */
struct frame_pair {
    const uint8_t *before; ///< [height][width]
    const uint8_t *now;    ///< [height][width]
    size_t width, height;
    unsigned range; ///< vectors reach so far, each way
};

/** What was found for a block. */
struct motion {
    int16_t x, y;   ///< from the block to where it was before
    uint32_t sad;   ///< sum of the absolute differences of its pixels
    uint32_t error; ///< sum of their squares
};

/** Blocks side by side in a frame, the last of which may be narrower. */
static inline size_t blocks_in(size_t n_pixels)
{
    return (n_pixels + MACROBLOCK - 1) / MACROBLOCK;
}

/**
 * Search for the blocks of one row of blocks. Blocks at the right and lower
 * edge have as many pixels as there are. Of all vectors within the range that
 * stay inside the frame before, the one with the least SAD is taken; among
 * equals the zero vector, then the first from the top, and in a row from the
 * left.
 *
 * @param[out] found  [blocks_in(width)]
 * @param row         number of the row of blocks
 */
void search_row(struct motion *found, const struct frame_pair *pair,
                size_t row);

#endif

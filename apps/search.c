// SPDX-License-Identifier: BSD-3-Clause
#include "search.h"

#include <stdlib.h>

// A block in a frame.
struct block {
    size_t x, y;
    size_t width, height;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline uint32_t sad_of(const uint8_t *restrict a,
                              const uint8_t *restrict b, size_t stride,
                              size_t width, size_t height)
{
    int sum = 0; // abs() and int: compilers know this loop

    for (size_t row = 0; row < height; row++) {
        for (size_t column = 0; column < width; column++) {
            sum += abs(a[row * stride + column] - b[row * stride + column]);
        }
    }
    return (uint32_t)sum;
}

// The same; whole blocks with loops whose length the compiler knows.
static uint32_t block_sad(const uint8_t *a, const uint8_t *b, size_t stride,
                          const struct block *block)
{
    if (block->width == MACROBLOCK) {
        return sad_of(a, b, stride, MACROBLOCK, block->height);
    }
    return sad_of(a, b, stride, block->width, block->height);
}

static uint32_t block_error(const uint8_t *a, const uint8_t *b, size_t stride,
                            const struct block *block)
{
    uint32_t sum = 0;

    for (size_t row = 0; row < block->height; row++) {
        for (size_t column = 0; column < block->width; column++) {
            const int difference =
                a[row * stride + column] - b[row * stride + column];

            sum += (uint32_t)(difference * difference);
        }
    }
    return sum;
}

static struct motion block_search(const struct frame_pair *pair,
                                  const struct block *block)
{
    const size_t stride = pair->width;
    const uint8_t *now = &pair->now[block->y * stride + block->x];
    const ptrdiff_t left = -(ptrdiff_t)least(block->x, pair->range);
    const ptrdiff_t top = -(ptrdiff_t)least(block->y, pair->range);
    const ptrdiff_t right =
        (ptrdiff_t)least(pair->width - block->width - block->x, pair->range);
    const ptrdiff_t bottom =
        (ptrdiff_t)least(pair->height - block->height - block->y, pair->range);
    const uint8_t *before = &pair->before[block->y * stride + block->x];
    struct motion best = {.sad = block_sad(now, before, stride, block)};

    for (ptrdiff_t dy = top; dy <= bottom; dy++) {
        for (ptrdiff_t dx = left; dx <= right; dx++) {
            const uint32_t sad = block_sad(
                now, &before[dy * (ptrdiff_t)stride + dx], stride, block);

            if (sad < best.sad) {
                best = (struct motion){
                    .x = (int16_t)dx, .y = (int16_t)dy, .sad = sad};
            }
        }
    }
    best.error = block_error(now, &before[best.y * (ptrdiff_t)stride + best.x],
                             stride, block);
    return best;
}

void search_row(struct motion *found, const struct frame_pair *pair, size_t row)
{
    const size_t y = row * MACROBLOCK;

    for (size_t i = 0; i < blocks_in(pair->width); i++) {
        const size_t x = i * MACROBLOCK;
        const struct block block = {.x = x,
                                    .y = y,
                                    .width = least(MACROBLOCK, pair->width - x),
                                    .height =
                                        least(MACROBLOCK, pair->height - y)};

        found[i] = block_search(pair, &block);
    }
}

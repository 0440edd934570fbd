// SPDX-License-Identifier: BSD-3-Clause
#include "scene.h"

enum {
    CELL = 8, // pixels from one random value of a texture to the next
    N_SQUARES = 4
};

// 64 bits that look drawn by lot, from three numbers.
static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bits = (a + 1) * 0x9e3779b97f4a7c15u +
                    (b + 1) * 0xc2b2ae3d27d4eb4fu +
                    (c + 1) * 0x165667b19e3779f9u;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
    return bits >> 32;
}

// A texture, at a point that is not negative: 0 to 251.
static unsigned texture(uint64_t x, uint64_t y, uint64_t number)
{
    const uint64_t column = x / CELL;
    const uint64_t row = y / CELL;
    const unsigned right = (unsigned)(x % CELL);
    const unsigned down = (unsigned)(y % CELL);
    const unsigned top =
        (unsigned)(mix(column, row, number) % 252) * (CELL - right) +
        (unsigned)(mix(column + 1, row, number) % 252) * right;
    const unsigned bottom =
        (unsigned)(mix(column, row + 1, number) % 252) * (CELL - right) +
        (unsigned)(mix(column + 1, row + 1, number) % 252) * right;

    return (top * (CELL - down) + bottom * down) / (CELL * CELL);
}

// `value` modulo `length`, also of negative ones.
static uint64_t wrap(int64_t value, size_t length)
{
    const int64_t rest = value % (int64_t)length;

    return (uint64_t)(rest < 0 ? rest + (int64_t)length : rest);
}

// Something that moves: the background, number 0, or a square.
struct mover {
    uint64_t number; // of its texture, too
    int64_t x, y;    // how far it has come
};

static struct mover mover_at(const struct scene *scene, unsigned which,
                             size_t frame)
{
    const uint64_t number = (uint64_t)scene->seed * (N_SQUARES + 1) + which;
    const int64_t speed_x = (int64_t)(mix(number, 0, 0) % 15) - 7;
    const int64_t speed_y = (int64_t)(mix(number, 1, 0) % 15) - 7;

    return (struct mover){
        .number = number,
        .x = (int64_t)mix(number, 2, 0) + speed_x * (int64_t)frame,
        .y = (int64_t)mix(number, 3, 0) + speed_y * (int64_t)frame};
}

// A pixel without noise. Squares leave the frame on one side and enter it on
// the other.
static unsigned pixel_at(const struct mover *movers, size_t x, size_t y,
                         const struct scene *scene)
{
    const uint64_t side = (scene->width + scene->height) / 8;
    const int64_t far = (int64_t)1 << 32; // so that nothing is negative

    for (unsigned k = N_SQUARES; k > 0; k--) {
        const uint64_t column = wrap((int64_t)x - movers[k].x, scene->width);
        const uint64_t row = wrap((int64_t)y - movers[k].y, scene->height);

        if (column < side && row < side) {
            return texture(column, row, movers[k].number);
        }
    }
    return texture((uint64_t)((int64_t)x - movers[0].x + far),
                   (uint64_t)((int64_t)y - movers[0].y + far),
                   movers[0].number);
}

void scene_fill(uint8_t *pixels, size_t x, size_t n, size_t y, size_t frame,
                const struct scene *scene)
{
    struct mover movers[N_SQUARES + 1];

    for (unsigned k = 0; k <= N_SQUARES; k++) {
        movers[k] = mover_at(scene, k, frame);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t noise = mix(x + i, y, frame) % 4;

        pixels[i] = (uint8_t)(pixel_at(movers, x + i, y, scene) + noise);
    }
}

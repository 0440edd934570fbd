// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_SCENE_H
#define APPS_SCENE_H
/*
 * Pictures that are made up, for motion and vq when they are given none: a
 * soft random texture that drifts, four squares of other textures that move
 * over it, each its own way, and a little noise. Whole numbers only: the same
 * picture on every machine.
 */

#include <stddef.h>
#include <stdint.h>

struct scene {
    size_t width, height;
    uint32_t seed; ///< another one gives another scene
};

/**
 * A part of a row of a frame.
 * @param[out] pixels  [n]  0 is black, 255 white
 */
void scene_fill(uint8_t *pixels, size_t x, size_t n, size_t y, size_t frame,
                const struct scene *scene);

#endif

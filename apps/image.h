// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_IMAGE_H
#define APPS_IMAGE_H
/*
 * Reads and writes PGM and PPM images: grey or red, green and blue; P2, P3, P5,
 * P6. Whatever is wrong with a file ends the program; see files.h.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct image {
    size_t width, height;
    size_t n_planes; ///< values of a pixel: 1 or 3
    uint8_t *values; ///< [height][width][n_planes]  0 to 255
};

/**
 * Read an image. Values up to another maximum than 255 are scaled.
 * @return its values are for free()
 */
struct image image_read(const char *path);

/** Write an image as P5 or P6. */
void image_write(FILE *file, const struct image *image);

#endif

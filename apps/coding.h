// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_CODING_H
#define APPS_CODING_H
/*
 * Around the algorithm of vq: cuts images into vectors, puts them together
 * again from codewords, and writes files.
 */

#include <stddef.h>
#include <stdint.h>

#include "image.h"
#include "scene.h"

/** How an image is divided into vectors, one for each block of pixels. */
struct layout {
    size_t width, height, n_planes; ///< of the image
    size_t block;                   ///< rows and columns of a block
    size_t n_vectors;
    size_t n_values; ///< of a vector
};

struct layout layout_make(const struct image *image, size_t block);

/** What is computed, in one piece of memory, so that it can be compared. */
struct coding {
    uint16_t *numbers; ///< [n_vectors]  of the codewords
    uint8_t *codebook; ///< [n_codewords][n_values]  behind them
    size_t n_codewords;
    size_t n_bytes; ///< of all that
};

/** @return without values; its numbers are for free() */
struct coding coding_make(const struct layout *layout, size_t n_codewords);

/**
 * Cut vectors `first` to `end` - 1 out of an image.
 * @param[out] vectors  [n_vectors][n_values]
 * @param image         without values: they are made up
 */
void vectors_cut(uint8_t *vectors, const struct image *image,
                 const struct layout *layout, uint32_t seed, size_t first,
                 size_t end);

/** Bits that tell so many codewords apart. */
unsigned bits_for(size_t n_codewords);

/** Print how small the coded image is, and how far from the first. */
void coding_print(const struct coding *coding, const struct image *image,
                  const struct layout *layout, uint32_t seed);

/** The files that a coding is written to. */
struct outputs {
    const char *name; ///< what their names begin with; NULL: no files
    FILE *codebook;
    FILE *coded;
    FILE *decoded;
    const char *image_end; ///< how the name of the last one ends
};

/** Open NAME.codebook, NAME.vq, and NAME.pgm or NAME.ppm. */
struct outputs outputs_open(const char *name, const struct layout *layout);

/** Write and close them. */
void outputs_write(struct outputs *outputs, const struct coding *coding,
                   const struct layout *layout);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_CODEBOOK_H
#define APPS_CODEBOOK_H
/*
 * The arithmetic of vq: vector quantization by the LBG algorithm (generalized
 * Lloyd). Vectors and codewords are bytes, all sums are whole numbers: the
 * order of additions is of no importance. The best codeword of bytes for a
 * cell, the vectors for which it is the nearest one, is their rounded mean; so
 * the error grows in no pass, as with real numbers.
 *
 * Compiled once for the program and its sequential twin.
 */

#include <stddef.h>
#include <stdint.h>

/** Vectors that lie side by side. */
struct vectors {
    const uint8_t *values; ///< [n][n_values]
    size_t n;
    size_t n_values; ///< of one vector; at most 64 x 64 x 3
};

/**
 * Numbers from one cell to the next, where cells lie in an array: how many
 * vectors there are in it, the sum of their squared distances from the
 * codeword, and their sum.
 */
static inline size_t cell_width(size_t n_values)
{
    return n_values + 2;
}

/**
 * Half a pass: add vectors to the cells of their nearest codewords, of equally
 * near ones to the first.
 *
 * @param cells     [n_codewords][cell_width()]  set to zero at first
 * @param codebook  [n_codewords][n_values]
 */
void cells_collect(uint64_t *cells, const struct vectors *vectors,
                   const uint8_t *codebook, size_t n_codewords);

/** Add cells to others. */
void cells_add(uint64_t *cells, const uint64_t *others, size_t n_codewords,
               size_t n_values);

/** The sum of the errors of all cells. */
uint64_t cells_error(const uint64_t *cells, size_t n_codewords,
                     size_t n_values);

/**
 * The other half: each codeword becomes the mean of its cell. Those whose cell
 * is empty, and new ones, begin beside the codewords of the cells with the
 * greatest errors, which stay where they are: such a split costs nothing.
 *
 * @param codebook     [n_next][n_values]
 * @param cells        [n_codewords][cell_width()]
 * @param n_codewords  that there are
 * @param n_next       that there shall be, not fewer
 * @param order        [n_codewords]  room to sort in
 */
void codebook_renew(uint8_t *codebook, const uint64_t *cells,
                    size_t n_codewords, size_t n_next, size_t n_values,
                    size_t *order);

/**
 * A first codebook of vectors that are drawn by lot, spread over all of them.
 * @param n_codewords  at most vectors->n
 */
void codebook_draw(uint8_t *codebook, const struct vectors *vectors,
                   size_t n_codewords, uint32_t seed);

/** The number of the nearest codeword for each vector. */
void vectors_code(uint16_t *numbers, const struct vectors *vectors,
                  const uint8_t *codebook, size_t n_codewords);

#endif

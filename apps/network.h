// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_NETWORK_H
#define APPS_NETWORK_H
/*
 * The arithmetic of layers: a neural network of whole numbers, as it is evaluated where
 * memory is scarce. Weights and values have 8 bits, so a sum has the same bits in any order.
 */

#include <stddef.h>
#include <stdint.h>

enum { N_LAYERS = 32 };

/** A matrix of weights, which makes the values of one vector out of those of another. */
struct layer {
    size_t n_in, n_out;
    size_t weights;   ///< where [n_out][n_in] begin among all
    size_t values[2]; ///< where [n_out] begin among all: two, which take turns
    size_t sums;      ///< where [n_out] begin among all
};

/** Whatever is of one layer begins on a page of its own. */
struct network {
    struct layer layers[N_LAYERS];
    size_t n_inputs;
    size_t inputs[2]; ///< as `values`
    size_t n_weights; ///< all, without what fills up pages
    size_t weight_bytes, value_bytes, sum_bytes;
    size_t n_outputs; ///< of all layers
};

/**
 * Layers of unequal size: a layer has from a half to four times `size` inputs, and as
 * many outputs.
 */
void network_shape(struct network *network, size_t size);

/** @param[out] weights  [n]  row `row` of layer `layer` */
void weights_fill(int8_t *weights, size_t layer, size_t row, size_t n);

/** @param[out] values  [end - first]  of what looks drawn by lot, those from `first` on */
void values_fill(int8_t *values, uint64_t seed, size_t first, size_t end);

/**
 * Some outputs of a layer: sums of weighted inputs, scaled so that they neither grow nor
 * vanish from layer to layer, and cut off at 127.
 *
 * @param[out] out  [n_rows]
 * @param weights   [n_rows][n_in]
 * @param in        [n_in]
 * @param effort    how often the arithmetic is done, all but the first in vain
 */
void layer_rows(int8_t *restrict out, const int8_t *restrict weights,
                const int8_t *restrict in, size_t n_rows, size_t n_in,
                unsigned effort);

#endif

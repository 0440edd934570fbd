// SPDX-License-Identifier: BSD-3-Clause
#include "network.h"

#include <math.h>

/** Columns whose sum fits 32 bits. */
enum { COLUMNS = 32768, PAGE = 4096 };

/** Vectors come in these widths, in turn: quarters of the size. */
static const uint8_t quarters[] = {4, 4, 16, 4, 2, 8, 4, 12};

static size_t width_of(size_t vector, size_t size)
{
    return (size * quarters[vector % sizeof quarters] + 3) / 4;
}

// @return where `size` bytes begin that are put behind `*end`
static size_t place_behind(size_t *end, size_t size)
{
    const size_t at = *end;

    *end += (size + PAGE - 1) / PAGE * PAGE;
    return at;
}

void network_shape(struct network *network, size_t size)
{
    *network = (struct network){.n_inputs = width_of(0, size)};
    for (unsigned i = 0; i < 2; i++) {
        network->inputs[i] =
            place_behind(&network->value_bytes, network->n_inputs);
    }
    for (size_t l = 0; l < N_LAYERS; l++) {
        struct layer *layer = &network->layers[l];

        layer->n_in = width_of(l, size);
        layer->n_out = width_of(l + 1, size);
        layer->weights =
            place_behind(&network->weight_bytes, layer->n_in * layer->n_out);
        for (unsigned i = 0; i < 2; i++) {
            layer->values[i] =
                place_behind(&network->value_bytes, layer->n_out);
        }
        layer->sums =
            place_behind(&network->sum_bytes, layer->n_out * sizeof(int32_t)) /
            sizeof(int32_t);
        network->n_weights += layer->n_in * layer->n_out;
        network->n_outputs += layer->n_out;
    }
}

void weights_fill(int8_t *weights, size_t layer, size_t row, size_t n)
{
    uint64_t state = ((uint64_t)layer << 32 | row) * 0x9e3779b97f4a7c15u;

    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        weights[i] = (int8_t)(int)((state >> 56) - 128);
    }
}

void values_fill(int8_t *values, uint64_t seed, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        uint64_t bits =
            (seed + 1) * 0x9e3779b97f4a7c15u + (i + 1) * 0xc2b2ae3d27d4eb4fu;

        bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
        bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
        values[i - first] = (int8_t)((int)(bits >> 40 & 255) - 128);
    }
}

// With 16 bits in between compilers find the instruction that multiplies and adds.
static int32_t sum_products(const int8_t *restrict a, const int8_t *restrict b,
                            size_t n)
{
    int32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += (int16_t)a[i] * (int16_t)b[i];
    }
    return sum;
}

static int64_t row_sum(const int8_t *weights, const int8_t *in, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i += COLUMNS) {
        sum += sum_products(&weights[i], &in[i],
                            n - i < COLUMNS ? n - i : COLUMNS);
    }
    return sum;
}

void layer_rows(int8_t *restrict out, const int8_t *restrict weights,
                const int8_t *restrict in, size_t n_rows, size_t n_in,
                unsigned effort)
{
    const int64_t unit = 1 << 20;
    const int64_t scale =
        (int64_t)((double)unit * 1.25 / (74.0 * sqrt((double)n_in)));

    for (size_t row = 0; row < n_rows; row++) {
        int64_t value = 0;

        for (unsigned time = 0; time < effort; time++) {
            value = row_sum(&weights[row * n_in], in, n_in) * scale / unit;
            __asm__ volatile("" ::"r"(&value) : "memory"); // it counts as used
        }
        out[row] = (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
    }
}

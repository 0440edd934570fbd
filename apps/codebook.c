// SPDX-License-Identifier: BSD-3-Clause
#include "codebook.h"

#include <stdlib.h>
#include <string.h>

static inline uint32_t distance_of(const uint8_t *restrict a,
                                   const uint8_t *restrict b, size_t n_values)
{
    int sum = 0;

    for (size_t i = 0; i < n_values; i++) {
        const int difference = a[i] - b[i];

        sum += difference * difference;
    }
    return (uint32_t)sum;
}

static inline size_t nearest(const uint8_t *vector, const uint8_t *codebook,
                             size_t n_codewords, size_t n_values,
                             uint32_t *least)
{
    size_t best = 0;

    *least = UINT32_MAX;
    for (size_t c = 0; c < n_codewords; c++) {
        const uint32_t distance =
            distance_of(vector, &codebook[c * n_values], n_values);

        if (distance < *least) {
            *least = distance;
            best = c;
        }
    }
    return best;
}

// The same; the usual lengths with loops whose length the compiler knows.
static size_t codeword_find(const uint8_t *vector, const uint8_t *codebook,
                            size_t n_codewords, size_t n_values,
                            uint32_t *least)
{
    switch (n_values) {
    case 4 * 4:
        return nearest(vector, codebook, n_codewords, 4 * 4, least);
    case 4 * 4 * 3:
        return nearest(vector, codebook, n_codewords, 4 * 4 * 3, least);
    default:
        return nearest(vector, codebook, n_codewords, n_values, least);
    }
}

void cells_collect(uint64_t *cells, const struct vectors *vectors,
                   const uint8_t *codebook, size_t n_codewords)
{
    const size_t n_values = vectors->n_values;
    const size_t width = cell_width(n_values);

    memset(cells, 0, n_codewords * width * sizeof *cells);
    for (size_t i = 0; i < vectors->n; i++) {
        const uint8_t *vector = &vectors->values[i * n_values];
        uint32_t distance;
        uint64_t *cell = &cells[codeword_find(vector, codebook, n_codewords,
                                              n_values, &distance) *
                                width];

        cell[0]++;
        cell[1] += distance;
        for (size_t d = 0; d < n_values; d++) {
            cell[2 + d] += vector[d];
        }
    }
}

void cells_add(uint64_t *cells, const uint64_t *others, size_t n_codewords,
               size_t n_values)
{
    for (size_t i = 0; i < n_codewords * cell_width(n_values); i++) {
        cells[i] += others[i];
    }
}

uint64_t cells_error(const uint64_t *cells, size_t n_codewords, size_t n_values)
{
    uint64_t error = 0;

    for (size_t c = 0; c < n_codewords; c++) {
        error += cells[c * cell_width(n_values) + 1];
    }
    return error;
}

// What cells are sorted by.
struct errors {
    const uint64_t *cells;
    size_t width;
};

// The cell with the greater error first; of equal ones the first.
static int compare_cells(const void *left, const void *right, void *context)
{
    const struct errors *errors = context;
    const size_t a = *(const size_t *)left;
    const size_t b = *(const size_t *)right;
    const uint64_t error_a = errors->cells[a * errors->width + 1];
    const uint64_t error_b = errors->cells[b * errors->width + 1];

    if (error_a != error_b) {
        return error_a > error_b ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t bits =
        (a + 1) * 0x9e3779b97f4a7c15u + (b + 1) * 0xc2b2ae3d27d4eb4fu;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
    return bits >> 32;
}

// A codeword beside another: one more or one less in each value.
static void codeword_put_beside(uint8_t *codeword, const uint8_t *other,
                                size_t n_values, uint64_t number)
{
    for (size_t d = 0; d < n_values; d++) {
        const int value = other[d] + (mix(number, d) % 2 == 0 ? 1 : -1);

        codeword[d] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

// The codewords whose cells have vectors become their means.
static void means_take(uint8_t *codebook, const uint64_t *cells,
                       size_t n_codewords, size_t n_values)
{
    for (size_t c = 0; c < n_codewords; c++) {
        const uint64_t *cell = &cells[c * cell_width(n_values)];

        for (size_t d = 0; d < n_values && cell[0] > 0; d++) {
            codebook[c * n_values + d] =
                (uint8_t)((cell[2 + d] + cell[0] / 2) / cell[0]);
        }
    }
}

void codebook_renew(uint8_t *codebook, const uint64_t *cells,
                    size_t n_codewords, size_t n_next, size_t n_values,
                    size_t *order)
{
    struct errors errors = {cells, cell_width(n_values)};
    size_t n_sorted = 0;
    size_t n_placed = 0;

    means_take(codebook, cells, n_codewords, n_values);
    for (size_t c = 0; c < n_codewords; c++) {
        if (cells[c * errors.width] > 0) {
            order[n_sorted++] = c;
        }
    }
    qsort_r(order, n_sorted, sizeof *order, compare_cells, &errors);
    for (size_t c = 0; c < n_next && n_sorted > 0; c++) {
        if (c >= n_codewords || cells[c * errors.width] == 0) {
            const size_t other = order[n_placed++ % n_sorted];

            codeword_put_beside(&codebook[c * n_values],
                                &codebook[other * n_values], n_values, c);
        }
    }
}

void codebook_draw(uint8_t *codebook, const struct vectors *vectors,
                   size_t n_codewords, uint32_t seed)
{
    for (size_t c = 0; c < n_codewords; c++) {
        const size_t first = vectors->n * c / n_codewords;
        const size_t end = vectors->n * (c + 1) / n_codewords;
        const size_t i = first + mix(seed, c) % (end - first);

        memcpy(&codebook[c * vectors->n_values],
               &vectors->values[i * vectors->n_values], vectors->n_values);
    }
}

void vectors_code(uint16_t *numbers, const struct vectors *vectors,
                  const uint8_t *codebook, size_t n_codewords)
{
    for (size_t i = 0; i < vectors->n; i++) {
        uint32_t distance;

        numbers[i] = (uint16_t)codeword_find(
            &vectors->values[i * vectors->n_values], codebook, n_codewords,
            vectors->n_values, &distance);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
#include "stencil.h"

#include <string.h>

void jacobi_row(double *restrict to, const double *restrict up,
                const double *restrict middle, const double *restrict down,
                size_t n)
{
    for (size_t j = 0; j < n; j++) {
        to[j] = 0.25 * (up[j] + down[j] + middle[j - 1] + middle[j + 1]);
    }
}

void sor_row(double *restrict cells, const double *restrict up,
             const double *restrict down, const double *restrict side, size_t n,
             double omega)
{
    const double keep = 1.0 - omega;
    const double take = 0.25 * omega;

    for (size_t k = 0; k < n; k++) {
        cells[k] =
            keep * cells[k] + take * (up[k] + down[k] + side[k] + side[k + 1]);
    }
}

uint64_t checksum(const double *values, size_t n, size_t first)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        sum += (bits ^ bits >> 31) * (2 * (first + i) + 0x9e3779b97f4a7c15u);
    }
    return sum;
}

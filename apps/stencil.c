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

void sor_row_idle(double *restrict cells, const double *restrict up,
                  const double *restrict down, const double *restrict side,
                  size_t n, double omega)
{
    double copy[512];

    for (size_t k = 0; k < n; k += 512) {
        const size_t n_part = n - k < 512 ? n - k : 512;

        memcpy(copy, &cells[k], n_part * sizeof copy[0]);
        sor_row(copy, &up[k], &down[k], &side[k], n_part, omega);
        __asm__ volatile("" ::"r"(copy) : "memory"); // it counts as used
    }
}

// SPDX-License-Identifier: BSD-3-Clause
#include "checksum.h"

#include <stdio.h>
#include <string.h>

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

void checksum_print(uint64_t sum)
{
    printf("checksum: %016llx\n", (unsigned long long)sum);
}

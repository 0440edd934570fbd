// SPDX-License-Identifier: BSD-3-Clause
#include "checksum.h"

#include <stdio.h>
#include <string.h>

static uint64_t part(uint64_t bits, size_t i)
{
    return (bits ^ bits >> 31) * (2 * i + 0x9e3779b97f4a7c15u);
}

uint64_t checksum(const double *values, size_t n, size_t first)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        sum += part(bits, first + i);
    }
    return sum;
}

uint64_t checksum_bytes(const void *bytes, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t bits = 0;

        memcpy(&bits, (const char *)bytes + i,
               n - i < sizeof bits ? n - i : sizeof bits);
        sum += part(bits, i / sizeof bits);
    }
    return sum;
}

void checksum_print(uint64_t sum)
{
    printf("checksum: %016llx\n", (unsigned long long)sum);
}

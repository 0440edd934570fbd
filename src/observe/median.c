// SPDX-License-Identifier: BSD-3-Clause
#include "observe/median.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

struct quartiles quartiles_of(uint64_t *values, unsigned n)
{
    qsort(values, n, sizeof *values, compare);
    return (struct quartiles){
        .least = values[0],
        .low = values[n / 4],
        .median = values[n / 2],
        .high = values[n - 1 - n / 4],
    };
}

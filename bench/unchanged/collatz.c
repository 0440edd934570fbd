// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: a loop whose iterations take unlike times, given out in chunks.
//
//     collatz [LIMIT]
#include <omp.h>
#include <stdlib.h>

#include "told.h"

static unsigned steps_of(uint64_t number)
{
    unsigned n = 0;

    for (; number != 1; n++) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
    }
    return n;
}

static uint64_t sum_up(long limit)
{
    uint64_t sum = 0;

#pragma omp parallel for schedule(dynamic, 10000) reduction(+ : sum)
    for (long i = 1; i < limit; i++) {
        sum += steps_of((uint64_t)i);
    }
    return sum;
}

int main(int argc, char **argv)
{
    const long limit = argc > 1 ? atol(argv[1]) : 3000000;
    uint64_t sum = sum_up(2); // the threads are made
    const double start = omp_get_wtime();

    sum += sum_up(limit);
    tell(omp_get_wtime() - start, sum);
    return 0;
}

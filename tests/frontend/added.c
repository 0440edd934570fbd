// SPDX-License-Identifier: BSD-3-Clause
// Threads that take turns to add to one number.
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 300 };

int main(void)
{
    long *sum = calloc(4096, sizeof *sum);

#pragma omp parallel num_threads(3)
    for (int i = 0; i < TURNS; i++) {
#pragma omp atomic
        sum[2000]++;
#pragma omp barrier
    }
    printf("%ld\n", sum[2000]);
    return 0;
}

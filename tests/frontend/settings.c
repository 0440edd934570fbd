// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's settings as they are at the start are shown, whatever has been set since.
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int n = 0;

#pragma omp parallel reduction(+ : n)
    n++;
    omp_set_num_threads(3);
    omp_set_schedule(omp_sched_dynamic, 8);
    omp_display_env(0);
    printf("%d threads, then %d\n", n, omp_get_max_threads());
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: how many threads regions within each other have, by OMP_NUM_THREADS with a list and
// by OMP_THREAD_LIMIT.
#include <omp.h>
#include <stdio.h>

static void show_inner(const char *where)
{
#pragma omp parallel
#pragma omp single
    printf("%s: %d of %d\n", where, omp_get_num_threads(),
           omp_get_max_threads());
}

int main(void)
{
    printf("at most %d, usually %d\n", omp_get_thread_limit(),
           omp_get_max_threads());
#pragma omp parallel
    {
#pragma omp master
        show_inner("list");
#pragma omp barrier
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        show_inner("more are left");
#pragma omp barrier
    }
#pragma omp parallel num_threads(9)
    {
#pragma omp master
        show_inner("none is left");
#pragma omp barrier
    }
    show_inner("again");
    return 0;
}

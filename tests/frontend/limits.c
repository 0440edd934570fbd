// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: how many threads regions within each other have, by OMP_NUM_THREADS with a list and
// by OMP_THREAD_LIMIT, which is for each league and target region by itself.
#include <omp.h>
#include <stdio.h>

static void show_inner(const char *where)
{
#pragma omp parallel
#pragma omp single
    printf("%s: %d of %d\n", where, omp_get_num_threads(),
           omp_get_max_threads());
}

static void begin_leagues(void)
{
    int n[4] = {0};

#pragma omp parallel num_threads(4)
    {
        const int self = omp_get_thread_num();

#pragma omp target map(tofrom : n [self:1])
#pragma omp teams num_teams(1)
#pragma omp parallel num_threads(9)
#pragma omp master
        n[self] = omp_get_num_threads();
    }
    printf("leagues: %d %d %d %d\n", n[0], n[1], n[2], n[3]);
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
    begin_leagues();
    return 0;
}

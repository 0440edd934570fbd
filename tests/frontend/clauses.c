// SPDX-License-Identifier: BSD-3-Clause
// Clauses of OpenMP that few programs have: ordered, loops over unsigned numbers, taskloop,
// copyin, copyprivate of a thread's own variable, locks that nest.
#include <limits.h>
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4, N = 60 };

static int own;
static double own_list[300];
#pragma omp threadprivate(own, own_list)

static int order[N];
static unsigned char met[N];
static volatile int holder; // of a lock

static void run_ordered(const char *name)
{
    int n = 0;

#pragma omp parallel for ordered schedule(dynamic, 3)
    for (int i = 0; i < N; i++) {
        met[i]++;
#pragma omp ordered
        order[n++] = i;
    }
    for (int i = 0; i < N; i++) {
        if (order[i] != i) {
            printf("%s: %d at %d\n", name, order[i], i);
        }
    }
    printf("%s: %d\n", name, n);
}

static void run_ordered_down(void)
{
    int n = 0;

#pragma omp parallel
    {
#pragma omp for ordered schedule(static) nowait
        for (int i = N; i > 0; i -= 7) {
#pragma omp ordered
            order[n++] = i;
        }
#pragma omp for ordered schedule(guided)
        for (unsigned long i = 10; i < 20; i++) {
#pragma omp ordered
            {
#pragma omp atomic
                met[i]++;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        printf("%d ", order[i]);
    }
    printf("down\n");
}

static void run_unsigned(void)
{
    unsigned long sum = 0;
    unsigned long down = 0;
    unsigned long n = 0;
    unsigned long met_middle = 0;

#pragma omp parallel for schedule(dynamic, 5) reduction(+ : met_middle)
    for (unsigned long i = (1ul << 63) - 30; i < (1ul << 63) + 30; i++) {
        met_middle++;
    }
    printf("middle %lu\n", met_middle);
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : sum)
    for (unsigned long i = ULONG_MAX - 100; i < ULONG_MAX - 3; i += 3) {
        sum += ULONG_MAX - i;
    }
#pragma omp parallel for schedule(guided) reduction(+ : down)
    for (unsigned long long i = 1ull << 63; i > (1ull << 63) - 50; i -= 2) {
        down += i - ((1ull << 63) - 50);
    }
#pragma omp parallel for schedule(runtime) reduction(+ : n)
    for (unsigned long i = 0; i < 1000; i++) {
        n += i;
    }
    printf("unsigned %lu %lu %lu\n", sum, down, n);
}

static void run_tasks(void)
{
    static long list[1000];
    long sum = 0;

#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(30)
        for (int i = 0; i < 1000; i++) {
            list[i] = i;
        }
#pragma omp taskloop num_tasks(7) firstprivate(sum)
        for (int i = 999; i >= 0; i -= 3) {
            sum = 1;
            list[i] += sum;
        }
#pragma omp taskloop
        for (unsigned long i = 5; i < 5; i++) {
            list[0] = -1;
        }
    }
    for (int i = 0; i < 1000; i++) {
        sum += list[i];
    }
    printf("tasks %ld\n", sum);
}

static void run_copies(void)
{
    int right = 0;
    int told = 0;

    own = 41;
    own_list[299] = 2.5;
    for (int round = 0; round < 3; round++) {
        own += round;
#pragma omp parallel copyin(own, own_list) reduction(+ : right, told)
        {
            right += own == 41 + round * (round + 1) / 2 &&
                     own_list[299] == 2.5 + round;
            own = omp_get_thread_num();
#pragma omp single copyprivate(own)
            own = 100 + round;
            told += own == 100 + round;
#pragma omp barrier
            own = 0;
        }
        own = 41 + round * (round + 1) / 2;
        own_list[299] += 1;
    }
    printf("copies %d %d\n", right, told);
}

static void run_locks(void)
{
    omp_nest_lock_t nest;
    int within = -1;
    int count = 0;
    int depth = 0;
    int wrong = 0;

    omp_init_nest_lock(&nest);
#pragma omp parallel
    for (int i = 0; i < 20; i++) {
        omp_set_nest_lock(&nest);
        holder = omp_get_thread_num();
        for (int k = 0; k < 2000; k++) {
            wrong += holder != omp_get_thread_num();
        }
        if (omp_test_nest_lock(&nest) == 2) {
            count++;
            omp_unset_nest_lock(&nest);
        }
        omp_unset_nest_lock(&nest);
    }
    depth = omp_test_nest_lock(&nest);
#pragma omp taskgroup /* the same task */
    depth += 10 * omp_test_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp parallel num_threads(1) /* another task, of the same thread */
    within = omp_test_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_destroy_nest_lock(&nest);
    omp_set_dynamic(1);
    printf("locks %d %d %d %d, dynamic %d\n", count, depth, within, wrong,
           omp_get_dynamic() != 0);
    omp_set_dynamic(0);
}

static void tell_levels(void)
{
#pragma omp parallel
#pragma omp master
#pragma omp parallel num_threads(1)
    printf("levels %d %d %d %d %d %d %d\n", omp_get_level(),
           omp_get_active_level(), omp_in_parallel(), omp_get_team_size(1),
           omp_get_team_size(2), omp_get_ancestor_thread_num(0),
           omp_get_ancestor_thread_num(3));
}

int main(void)
{
    omp_set_num_threads(THREADS);
    run_ordered("first");
    run_ordered("again");
    run_ordered_down();
    run_unsigned();
    run_tasks();
    run_copies();
    run_locks();
    tell_levels();
    for (int i = 0; i < N; i++) {
        printf("%d", met[i]);
    }
    printf("\n");
    return 0;
}

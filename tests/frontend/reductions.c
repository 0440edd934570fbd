// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: reductions of tasks, by groups of tasks, regions, loops, sections and scopes.
#include <omp.h>
#include <stdio.h>

enum { N = 40 };

struct pair {
    long sum;
    long most;
};

#pragma omp declare reduction(                                                 \
    join                                                                       \
    : struct pair                                                              \
    : omp_out.sum += omp_in.sum,                                               \
      omp_out.most = omp_in.most > omp_out.most ? omp_in.most : omp_out.most)  \
    initializer(omp_priv = (struct pair){0, -1})

static long walk(int n)
{
    long s = 0;

#pragma omp taskgroup task_reduction(+ : s)
    {
        for (int i = 0; i < n; i++) {
#pragma omp task in_reduction(+ : s) firstprivate(i)
            {
                s += i;
                if (i % 7 == 0) {
#pragma omp task in_reduction(+ : s)
                    s += 1000;
                }
            }
        }
    }
    return s;
}

static void run_groups(void)
{
    long total = 0;
    struct pair pair = {0, -1};

#pragma omp parallel reduction(+ : total)
    total += walk(N + omp_get_thread_num());
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(join : pair)
    {
        for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(join : pair)
            {
                pair.sum += i;
                pair.most = i * 3 % 31 > pair.most ? i * 3 % 31 : pair.most;
            }
        }
    }
    printf("groups %ld %ld %ld %ld\n", walk(N), total, pair.sum, pair.most);
}

static void run_region(void)
{
    int x = 100;
    long y = 0;
    long z = 0;
    double product = 1;
    int later = 5;

#pragma omp parallel reduction(task, + : x)
    {
        x += 10;
#pragma omp task in_reduction(+ : x)
        x += 1;
#pragma omp for reduction(task, + : y)
        for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : y) in_reduction(+ : x)
            {
                y += i;
                x++;
            }
        }
    }
#pragma omp parallel
#pragma omp for reduction(task, + : y) schedule(dynamic, 3)
    for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : y)
        y += i;
    }
#pragma omp parallel
#pragma omp for reduction(task, + : y) schedule(guided)
    for (unsigned long long i = 10; i < 20; i++) {
        y += (long)i;
    }
#pragma omp parallel
#pragma omp scope reduction(task, * : product)
    {
#pragma omp task in_reduction(* : product)
        product *= 2;
    }
#pragma omp parallel
    {
#pragma omp sections reduction(task, + : z)
        {
#pragma omp section
#pragma omp task in_reduction(+ : z)
            z++;
#pragma omp section
            z += 10;
        }
#pragma omp single
        later += (int)product;
    }
    printf("region %d %ld %.0f %ld %d\n", x, y, product, z, later);
}

static void run_loops(void)
{
    long sum = 0;
    int none = 3;
    static int list[6];
    long order = -1;

#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop reduction(+ : sum) grainsize(7)
        for (int i = 0; i < 100; i++) {
            sum += i;
        }
#pragma omp taskloop reduction(+ : none)
        for (int i = 5; i < 5; i++) {
            none++;
        }
#pragma omp taskgroup task_reduction(+ : list)
        {
#pragma omp taskloop in_reduction(+ : list) num_tasks(9)
            for (int i = 0; i < 60; i++) {
                list[i % 6] += i;
            }
        }
    }
#pragma omp parallel for lastprivate(conditional : order) schedule(dynamic, 2)
    for (int i = 0; i < N; i++) {
        if (i % 9 == 4) {
            order = i;
        }
    }
    printf("loops %ld %d %d %d %ld\n", sum, none, list[0], list[5], order);
}

static void run_scan(void)
{
    static int before[N];
    int sum = 0;
    long wrong = 0;

#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < N; i++) {
        before[i] = sum;
#pragma omp scan exclusive(sum)
        sum += i;
    }
    for (int i = 0; i < N; i++) {
        wrong += before[i] != i * (i - 1) / 2;
    }
    printf("scan %d %ld\n", sum, wrong);
}

static long outer[2] = {1, 2};
static long inner[2] = {3, 4};

// Within each other, by one thread.
static void run_scopes(void)
{
#pragma omp scope reduction(task, + : outer)
    {
#pragma omp scope reduction(task, + : inner)
        {
#pragma omp task in_reduction(+ : outer, inner)
            {
                outer[1] += 5;
                inner[1] += 6;
            }
            inner[0]++;
        }
        outer[0] += 10;
    }
    printf("scopes %ld %ld %ld %ld\n", outer[0], outer[1], inner[0], inner[1]);
}

int main(void)
{
    omp_set_num_threads(4);
    for (int round = 0; round < 3; round++) {
        run_region();
        run_loops();
        run_scan();
    }
    run_groups(); // after all regions: libgomp 12 hangs in one that follows
    omp_set_num_threads(1);
    run_groups();
    run_region();
    run_loops();
    run_scopes();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// The problems of problems.h with tasks of OpenMP.
#include <stdlib.h>
#include <string.h>

#include "problems.h"
#include "times.h"

static struct data data;
static uint64_t sum;

// All parts but the first are tasks of others'.
static void run(struct item item)
{
    struct item parts[PARTS_MAX];
    uint64_t found;
    int n;

    while ((n = problem.open(&data, &item, parts)) > 0) {
        for (int i = n - 1; i > 0; i--) {
            const struct item part = parts[i];
#pragma omp task firstprivate(part)
            run(part);
        }
        item = parts[0];
    }
    found = problem.leaf(&data, &item);
#pragma omp atomic
    sum += found;
}

// Each waits for the one that it has spawned.
static uint64_t fib(int n)
{
    uint64_t left;
    uint64_t right;

    if (n < problem.cut) {
        return fib_leaf(n);
    }
#pragma omp task shared(right)
    right = fib(n - 2);
    left = fib(n - 1);
#pragma omp taskwait
    return left + right;
}

static void run_all(void)
{
#pragma omp parallel
#pragma omp single
    {
        if (strcmp(problem.name, "fib") == 0) {
            sum = fib(problem.size);
        } else {
            run(problem_whole());
        }
    }
}

static void *get(uint64_t size, int is_read)
{
    (void)is_read;
    return calloc(size, 1);
}

int main(int argc, char **argv)
{
    double start_s;

    problem_choose(argc, argv);
    problem_begin(&data, get);
#pragma omp parallel
    sum = 0; // the threads are made
    start_s = now_s();
    run_all();
    problem_end(&data, start_s, sum);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// The problems of problems.h with tasks of Teamster.
#include <stdlib.h>
#include <string.h>
#include <teamster.h>

#include "problems.h"
#include "times.h"

static TM_SHARED struct data data;

static void add(void *into, const void *value)
{
    *(uint64_t *)into += *(const uint64_t *)value;
}

// All parts but the first are tasks of others'.
static void run(void *argument)
{
    struct item item = *(struct item *)argument;
    struct item parts[PARTS_MAX];
    uint64_t found;
    int n;

    while ((n = problem.open(&data, &item, parts)) > 0) {
        for (int i = n - 1; i > 0; i--) {
            (void)tm_spawn(NULL, run, &parts[i], sizeof parts[i]);
        }
        item = parts[0];
    }
    found = problem.leaf(&data, &item);
    (void)tm_contribute(&found);
}

static uint64_t run_all(void)
{
    const struct item whole = problem_whole();
    const uint64_t none = 0;
    uint64_t sum = 0;
    const tm_reduction reduction = {add, sizeof sum, &none, &sum};
    tm_group group = {.reduction = &reduction};

    (void)tm_spawn(&group, run, &whole, sizeof whole);
    (void)tm_wait(&group);
    return sum;
}

struct fib {
    int n;
    uint64_t result;
};

// Each waits for the one that it has spawned.
static void fib(void *argument)
{
    struct fib *me = argument;
    struct fib left = {me->n - 1, 0};
    struct fib right = {me->n - 2, 0};
    tm_group group = {0};

    if (me->n < problem.cut) {
        me->result = fib_leaf(me->n);
        return;
    }
    (void)tm_spawn_back(&group, fib, &right, sizeof right);
    fib(&left);
    (void)tm_wait(&group);
    me->result = left.result + right.result;
}

static uint64_t fib_all(void)
{
    struct fib whole = {problem.size, 0};

    fib(&whole);
    return whole.result;
}

static void *get(uint64_t size, int is_read)
{
    const tm_alloc_attr attr = {
        .sharing = is_read ? TM_PRODUCER_CONSUMER : TM_SHARING_DEFAULT,
    };

    return tm_alloc(size, &attr);
}

int main(int argc, char **argv)
{
    double start_s;

    problem_choose(argc, argv); // on each node
    if (tm_init(&argc, &argv) != TM_OK) {
        return 70;
    }
    problem_begin(&data, get);
    start_s = now_s();
    problem_end(&data, start_s,
                strcmp(problem.name, "fib") == 0 ? fib_all() : run_all());
    return 0;
}

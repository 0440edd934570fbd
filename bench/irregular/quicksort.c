// SPDX-License-Identifier: BSD-3-Clause
/*
 * Quicksort with a bag of tasks: a task is a part of an array that is to be sorted. A thread
 * takes one out of the bag; if it is large, it splits it in two and puts one of these back.
 *
 *     quicksort [THREADS [KEYS]]
 */
#include "program.h"

#include "../split_keys.h"

enum { TASKS_MAX = 4096, SMALL = 2048 };

struct task {
    uint32_t first;
    uint32_t end;
};

static TM_SHARED struct {
    tm_mutex mutex;
    tm_cond has_changed;
    size_t n_tasks;
    size_t n_sorted; // keys in their place; when it is all of them, all is done
    struct task tasks[TASKS_MAX];
    uint32_t *keys; // [size]
} bag;

static int compare_keys(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

// The end of a task was sorted; its other part is for whoever wants it.
static void put_task(struct task task)
{
    tm_mutex_lock(&bag.mutex);
    if (bag.n_tasks == TASKS_MAX) {
        PROGRAM_FAIL("the bag is full");
    }
    bag.tasks[bag.n_tasks++] = task;
    tm_cond_signal(&bag.has_changed);
    tm_mutex_unlock(&bag.mutex);
}

// @param n_sorted  keys that the caller has brought to their place since the last call
// @return 0: all is sorted
static int take_task(size_t n_sorted, struct task *task)
{
    int is_over;

    tm_mutex_lock(&bag.mutex);
    bag.n_sorted += n_sorted;
    while (bag.n_tasks == 0 && bag.n_sorted < program.size) {
        tm_cond_wait(&bag.has_changed, &bag.mutex);
    }
    is_over = bag.n_tasks == 0;
    if (is_over) {
        tm_cond_broadcast(&bag.has_changed);
    } else {
        *task = bag.tasks[--bag.n_tasks];
    }
    tm_mutex_unlock(&bag.mutex);
    return !is_over;
}

static void *sort_tasks(void *arg)
{
    struct task task;
    size_t n_sorted = 0;

    while (take_task(n_sorted, &task)) {
        while (task.end - task.first > SMALL) {
            const uint32_t middle =
                (uint32_t)split_keys(bag.keys, task.first, task.end);

            put_task((struct task){middle, task.end});
            task.end = middle;
        }
        qsort(bag.keys + task.first, task.end - task.first, sizeof *bag.keys,
              compare_keys);
        n_sorted = task.end - task.first;
    }
    return arg;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    uint32_t surplus = 0;

    program_begin(argc, argv, (struct program){2, 1 << 19, 1});
    bag.keys = program_alloc("keys", program.size * sizeof *bag.keys);
    for (size_t i = 0; i < program.size; i++) {
        bag.keys[i] = (uint32_t)mix(i);
    }
    bag.tasks[bag.n_tasks++] = (struct task){0, (uint32_t)program.size};
    program_run(sort_tasks);
    for (size_t i = 0; i < program.size; i++) {
        if (i > 0 && bag.keys[i] < bag.keys[i - 1]) {
            PROGRAM_FAIL("key %zu is less than the one before it", i);
        }
        surplus += bag.keys[i] - (uint32_t)mix(i);
        sum += bag.keys[i] * (2 * i + 1);
    }
    if (surplus != 0) {
        PROGRAM_FAIL("other keys than before");
    }
    program_print("keys", (double)program.size, sum);
    return 0;
}

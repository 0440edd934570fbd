// SPDX-License-Identifier: BSD-3-Clause
//
// Which worker runs which task. Each worker has two deques (deque.c): of tasks that may go
// to other nodes, and of those that stay. A worker puts tasks at the bottom of its own and
// takes the latest there; a worker without any steals the oldest of another. Those that
// come from other nodes are in a list, `arrived`, which the next worker that finds nothing
// of its own empties into its deques. No locks, no messages.
//
// The threads of a worker share its deques: they run one at a time, and none is switched away
// from within a call.
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "tasks/tasks_priv.h"

struct task *task_new(void (*function)(void *), struct family *family,
                      const void *argument, size_t size)
{
    struct task *task = malloc(sizeof *task + size);

    ensure_memory(task != NULL);
    *task = (struct task){
        .function = function,
        .family = family,
        .size = (uint32_t)size,
        .lent_to = NODE_NONE,
    };
    if (size > 0) {
        memcpy(task->argument, argument, size);
    }
    return task;
}

void tasks_push(struct tasks *tasks, unsigned worker, struct task *task)
{
    struct task_deques *own = &tasks->deques[worker];

    deque_push(task->is_pinned || task->family->is_local ? &own->local
                                                         : &own->open,
               task);
}

void tasks_take_in(struct tasks *tasks, struct task *tasks_list)
{
    list_take_each (task, tasks_list) {
        task->next =
            atomic_load_explicit(&tasks->arrived, memory_order_relaxed);
        while (
            !atomic_compare_exchange_weak(&tasks->arrived, &task->next, task)) {
        }
    }
}

// The oldest of those that have come is at the bottom then, and is run first.
static void empty_arrived(struct tasks *tasks, unsigned worker)
{
    struct task *task;

    if (atomic_load_explicit(&tasks->arrived, memory_order_relaxed) == NULL) {
        return;
    }
    task = atomic_exchange(&tasks->arrived, NULL);
    list_take_each (first, task) {
        tasks_push(tasks, worker, first);
    }
}

static struct task *take_own(struct tasks *tasks, unsigned worker)
{
    struct task *task = deque_take(&tasks->deques[worker].local);

    return task != NULL ? task : deque_take(&tasks->deques[worker].open);
}

static struct task *steal_one(struct tasks *tasks, unsigned thief)
{
    for (unsigned i = 1; i < tasks->n_workers; i++) {
        struct task_deques *other =
            &tasks->deques[(thief + i) % tasks->n_workers];
        struct task *task = deque_steal(&other->local);

        if (task == NULL) {
            task = deque_steal(&other->open);
        }
        if (task != NULL) {
            return task;
        }
    }
    return NULL;
}

struct task *tasks_take(struct tasks *tasks, unsigned worker)
{
    struct task *task = take_own(tasks, worker);

    if (task == NULL) {
        empty_arrived(tasks, worker);
        task = take_own(tasks, worker);
    }
    return task != NULL ? task : steal_one(tasks, worker);
}

int tasks_has_some(const struct tasks *tasks)
{
    if (atomic_load(&tasks->arrived) != NULL) {
        return 1;
    }
    for (unsigned i = 0; i < tasks->n_workers; i++) {
        if (deque_size(&tasks->deques[i].local) > 0 ||
            deque_size(&tasks->deques[i].open) > 0) {
            return 1;
        }
    }
    return 0;
}

struct deque *tasks_fullest(struct tasks *tasks)
{
    struct deque *fullest = NULL;
    uint64_t most = 0;

    for (unsigned i = 0; i < tasks->n_workers; i++) {
        const uint64_t n = deque_size(&tasks->deques[i].open);

        if (n > most) {
            most = n;
            fullest = &tasks->deques[i].open;
        }
    }
    return fullest;
}

int tasks_are_wanted(const struct tasks *tasks)
{
    return atomic_load_explicit(&tasks->n_hungry, memory_order_relaxed) > 0;
}

int tasks_should_give(const struct tasks *tasks, unsigned worker)
{
    return tasks_are_wanted(tasks) &&
           deque_size(&tasks->deques[worker].open) > 1;
}

struct tasks *tasks_new(const struct port *port, const struct tasks_ops *ops,
                        unsigned n_workers)
{
    struct tasks *tasks = calloc(1, sizeof *tasks);

    if (tasks == NULL) {
        return NULL;
    }
    tasks->deques = aligned_alloc(64, n_workers * sizeof *tasks->deques);
    if (tasks->deques == NULL) {
        free(tasks);
        return NULL;
    }
    tasks->port = port;
    tasks->ops = *ops;
    tasks->n_workers = n_workers;
    tokens_init(&tasks->tokens);
    for (unsigned i = 0; i < n_workers; i++) {
        deque_init(&tasks->deques[i].open);
        deque_init(&tasks->deques[i].local);
    }
    return tasks;
}

void tasks_free(struct tasks *tasks)
{
    if (tasks == NULL) {
        return;
    }
    for (unsigned i = 0; i < tasks->n_workers; i++) {
        struct task *task;

        while ((task = take_own(tasks, i)) != NULL) {
            free(task); // the program has ended without waiting for it
        }
        deque_release(&tasks->deques[i].open);
        deque_release(&tasks->deques[i].local);
    }
    list_take_each (task, *(struct task **)&tasks->arrived) {
        free(task);
    }
    tokens_release(&tasks->tokens);
    free(tasks->deques);
    free(tasks);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A family: how many of its tasks have not ended, who waits for that, and what they leave
// behind. Without locks: tasks are made and end on all workers at once.
//
// `word` is twice the number of tasks that have not ended, plus 1 while somebody waits:
//
//   0             nobody is there            family_add -> 2n
//   2n            nobody waits yet           family_begin_wait -> 2n + 1; family_end -> less
//   2n + 1        the waiter has parked      family_end -> less
//   1             the last has ended, and wakes the waiter; family_end -> 0
//
// J1 Who ends the last task touches the family no more once `word` is 0, and the waiter goes
//    on only then: it may free the family at once.
// J2 The last task's end is told to a waiter that has said that it waits: family_begin_wait()
//    fails if there is no task left, by one atomic step.
// J3 A value is combined without a lock: who combines has taken what there was, and puts the
//    result back only where nobody else has put something meanwhile. So no value is lost, and
//    the program's function may wait for a page.
//
// A family that is lent (lending.c) has no waiter. Who ends its last task has it told to its
// home; its tasks may still make others until then, which count here.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "tasks/tasks_priv.h"

enum { WAITS = 1, ONE = 2 };

void family_init(struct family *family, struct family *above, void *waiter)
{
    memset(family, 0, sizeof *family);
    family->above = above;
    family->waiter = waiter;
}

void family_add(struct family *family)
{
    atomic_fetch_add_explicit(&family->word, ONE, memory_order_relaxed);
}

uint64_t family_n_left(const struct family *family)
{
    uint64_t word;

    // Acquire pairs with the release in family_end(). Ends when who ends the last task,
    // which has begun, has woken the waiter.
    while ((word = atomic_load_explicit(&family->word, memory_order_acquire)) ==
           WAITS) {
        sched_yield(); // J1
    }
    return word / ONE;
}

int family_end(struct tasks *tasks, struct family *family, uint64_t n)
{
    void *const waiter = family->waiter;
    const int is_lent = family->is_lent;
    const uint64_t word = atomic_fetch_sub_explicit(&family->word, n * ONE,
                                                    memory_order_acq_rel) -
                          n * ONE;

    if (word == WAITS) {
        tasks->ops.wake(tasks->ops.owner, waiter);
        atomic_store_explicit(&family->word, 0, memory_order_release); // J1
    }
    return word == 0 && is_lent;
}

int family_begin_wait(struct family *family)
{
    uint64_t word = atomic_load_explicit(&family->word, memory_order_acquire);

    while (word >= ONE && !(word & WAITS)) {
        if (atomic_compare_exchange_weak_explicit(
                &family->word, &word, word | WAITS, memory_order_acq_rel,
                memory_order_acquire)) { // J2
            return 1;
        }
    }
    return word >= ONE;
}

// ---- what tasks leave behind

struct family *family_reducer(struct family *family)
{
    while (family != NULL && family->combine == NULL) {
        family = family->above;
    }
    return family;
}

void family_contribute(struct family *reducer, const void *value)
{
    void *mine = malloc(reducer->value_size);
    void *none = NULL;

    ensure_memory(mine != NULL);
    memcpy(mine, value, reducer->value_size);
    do { // J3
        void *other = atomic_exchange(&reducer->value, NULL);

        if (other != NULL) {
            reducer->combine(mine, other);
            free(other);
        }
        none = NULL;
    } while (!atomic_compare_exchange_strong(&reducer->value, &none, mine));
}

void family_keep(struct family *family, enum returned_kind kind,
                 const struct task *task, const void *bytes, uint32_t size)
{
    struct returned *kept = malloc(sizeof *kept + size);

    ensure_memory(kept != NULL);
    kept->kind = kind;
    kept->token = task->token;
    kept->out = task->out;
    kept->size = size;
    if (size > 0) {
        memcpy(kept->bytes, bytes, size);
    }
    kept->next = atomic_load_explicit(&family->returned, memory_order_relaxed);
    while (
        !atomic_compare_exchange_weak(&family->returned, &kept->next, kept)) {
    }
}

void family_collect(struct family *family)
{
    struct returned *all = atomic_exchange(&family->returned, NULL);

    list_take_each (kept, all) {
        if (kept->kind == RETURNED_RESULT) {
            memcpy(kept->out, kept->bytes, kept->size);
        } else if (kept->kind == RETURNED_VALUE) {
            family_contribute(family_reducer(family), kept->bytes);
        }
        free(kept);
    }
}

int task_end(struct tasks *tasks, struct task *task)
{
    struct family *family = task->family;

    if (task->token != 0) {
        family_keep(family, task->goes_back ? RETURNED_RESULT : RETURNED_END,
                    task, task->argument, task->goes_back ? task->size : 0);
    } else if (task->goes_back && task->out != NULL) {
        memcpy(task->out, task->argument, task->size);
    }
    free(task);
    return family_end(tasks, family, 1);
}

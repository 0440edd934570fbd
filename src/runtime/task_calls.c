// SPDX-License-Identifier: BSD-3-Clause
//
// The public functions for tasks. A tm_group points to its open_group from the first
// tm_spawn() to tm_wait(): that is private memory of the node, as tasks are, so that who ends
// a task, or hears of its end, need not touch the program's.
#include "base/ensure.h"
#include "runtime/node.h"
#include "runtime/tasking.h"
#include "runtime/threads.h"

#include <stdlib.h>
#include <string.h>

// The node, for functions that are not given it.
static struct node *own_node(void)
{
    return &this_node;
}

int tasking_reduction_is_good(const tm_reduction *reduction)
{
    return reduction == NULL ||
           (reduction->combine != NULL && reduction->initial != NULL &&
            reduction->size >= 1 && reduction->size <= TM_TASK_BYTES);
}

static struct open_group *new_group(const struct thread *thread,
                                    const tm_group *group)
{
    const tm_reduction *reduction = group->reduction;
    const size_t size = reduction == NULL ? 0 : reduction->size;
    struct open_group *open = malloc(sizeof *open + size);

    ensure_memory(open != NULL);
    family_init(&open->family, thread->family, thread->ult);
    open->family.is_local = group->is_local != 0;
    open->thread = thread->number;
    open->place = 0;
    open->next = NULL;
    open->result = NULL;
    if (reduction != NULL) {
        open->family.combine = reduction->combine;
        open->family.value_size = (uint32_t)size;
        open->result = reduction->result;
        memcpy(open->initial, reduction->initial, size);
    }
    return open;
}

struct open_group *tasking_open(struct node *node, tm_group *group)
{
    struct thread *thread = thread_self();

    if (group->reserved == NULL) {
        if (!tasking_reduction_is_good(group->reduction)) {
            return NULL;
        }
        group->reserved = new_group(thread, group);
        group->owner = thread->number + 1;
        thread->n_groups++;
        tasks_count_family(node->tasking.tasks, 1);
    }
    return group->reserved;
}

static void set_result(struct open_group *open)
{
    struct family *family = &open->family;

    if (family->value != NULL) {
        family->combine(open->initial, family->value);
    }
    if (open->result != NULL) {
        memcpy(open->result, open->initial, family->value_size);
    }
    free(family->value);
}

void tasking_close(struct node *node, tm_group *group)
{
    struct open_group *open = group->reserved;

    tasking_wait(node, open);
    family_collect(&open->family);
    set_result(open);
    thread_self()->n_groups--;
    tasks_count_family(node->tasking.tasks, -1);
    group->reserved = NULL;
    group->owner = 0;
    free(open);
}

// What the group points to is private to its owner's node. A task that its owner runs
// meanwhile is not its owner.
static int is_mine(const tm_group *group)
{
    const struct thread *thread = thread_self();
    const struct open_group *open = group->reserved;

    return open == NULL || (group->owner == thread->number + 1 &&
                            open->family.above == thread->family);
}

static struct family *family_of(struct node *node, tm_group *group)
{
    struct open_group *open;

    if (group == NULL) {
        return thread_self()->family;
    }
    open = tasking_open(node, group);
    return open == NULL ? NULL : &open->family;
}

tm_status tasking_spawn(struct node *node, tm_group *group,
                        void (*function)(void *), const void *argument,
                        size_t size, void *out)
{
    struct family *family = family_of(node, group);
    struct task *task;

    if (family == NULL) {
        return TM_EINVAL;
    }
    task = task_new(function, family, argument, size);
    task->out = out;
    task->goes_back = out != NULL;
    family_add(family);
    tasking_push(node, task);
    return TM_OK;
}

static int are_good(void (*function)(void *), const void *argument, size_t size)
{
    return function != NULL && size <= TM_TASK_BYTES &&
           (size == 0 || argument != NULL);
}

// ---- public

tm_status tm_spawn(tm_group *group, void (*function)(void *),
                   const void *argument, size_t size)
{
    struct node *const node = own_node();
    const tm_status status = CHECK_CALL("tm_spawn");

    if (status != TM_OK) {
        return status;
    }
    if (!are_good(function, argument, size)) {
        return TM_EINVAL;
    }
    if (group != NULL && !is_mine(group)) {
        return TM_EPERM;
    }
    return tasking_spawn(node, group, function, argument, size, NULL);
}

tm_status tm_spawn_back(tm_group *group, void (*function)(void *),
                        void *argument, size_t size)
{
    struct node *const node = own_node();
    const tm_status status = CHECK_CALL("tm_spawn_back");

    if (status != TM_OK) {
        return status;
    }
    if (group == NULL || argument == NULL ||
        !are_good(function, argument, size)) {
        return TM_EINVAL;
    }
    if (!is_mine(group)) {
        return TM_EPERM;
    }
    return tasking_spawn(node, group, function, argument, size, argument);
}

tm_status tm_wait(tm_group *group)
{
    struct node *const node = own_node();
    const tm_status status = CHECK_CALL("tm_wait");
    struct open_group *open;

    if (status != TM_OK || group == NULL || group->reserved == NULL) {
        return status;
    }
    if (!is_mine(group)) {
        return TM_EPERM;
    }
    open = group->reserved;
    open->place = thread_self()->place;
    tasking_close(node, group);
    return TM_OK;
}

tm_status tm_contribute(const void *value)
{
    const tm_status status = CHECK_CALL("tm_contribute");
    struct family *reducer;

    if (status != TM_OK) {
        return status;
    }
    reducer = family_reducer(thread_self()->family);
    if (reducer == NULL || value == NULL) {
        return TM_EINVAL;
    }
    family_contribute(reducer, value);
    return TM_OK;
}

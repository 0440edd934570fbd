// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's `depend`: tasks of one parent wait for each other by addresses. Who writes one
// (out, inout, mutexinoutset) waits for all earlier ones that name it, who reads it for
// those that write it.
//
// The parent has a list of its children with `depend` that have not ended, in the order in
// which they were made. A new one looks back along it, for each of its addresses up to one that
// writes it: what is before that is waited for by that one already. From each that it
// waits for an edge leads to it. All is guarded by the mutex of who runs the parent.
//
// D1  n_awaited of a task is the number of edges that lead to it; it is in a queue, or
//     is run, only when there are none.
// D2  A task is in the list from when it is made until it has ended. One that is run at
//     once is not: nobody can be made that waits for it.
#include "openmp_tasks.h"

struct dependence {
    const void *address;
    bool is_written;
};

struct edge {
    struct edge *next;
    struct task *to;
};

static void *allocate(size_t size)
{
    void *block = front_allocate(size);

    if (block == NULL) {
        front_fatal("OpenMP: no memory for what a task depends on");
    }
    return block;
}

struct task *depend_owner(const struct task *task)
{
    struct task *owner = task->parent;

    while (owner->is_group) {
        owner = owner->parent;
    }
    return owner;
}

// ---- the compiler's list

/** What an object of `depobj` has. */
enum { OBJECT_ADDRESS = 0, OBJECT_KIND = 1, KIND_IN = 1 };

/** Its numbers: of all, written, written one at a time, read. The others are objects. */
struct shape {
    size_t n;
    size_t n_written;
    size_t n_plain;
    void **entries;
};

static struct shape read_shape(void **depend)
{
    const uintptr_t *words = (const uintptr_t *)depend;

    if (words[0] != 0) {
        return (struct shape){words[0], words[1], words[0], depend + 2};
    }
    return (struct shape){words[1], words[2] + words[3],
                          words[2] + words[3] + words[4], depend + 5};
}

static struct dependence read_object(void *const *object)
{
    return (struct dependence){object[OBJECT_ADDRESS],
                               (uintptr_t)object[OBJECT_KIND] != KIND_IN};
}

void depend_note(struct task *task, void **depend)
{
    const struct shape shape = read_shape(depend);
    struct dependence *notes = allocate(shape.n * sizeof *notes + 1);

    for (size_t i = 0; i < shape.n; i++) {
        notes[i] = i < shape.n_plain ? (struct dependence){shape.entries[i],
                                                           i < shape.n_written}
                                     : read_object(shape.entries[i]);
    }
    task->dependences = notes;
    task->n_dependences = (unsigned)shape.n;
}

void depend_forget(struct task *task)
{
    front_free(task->dependences);
}

// ---- edges

enum { NOT_NAMED, READ, WRITTEN };

static int use_of(const struct task *task, const void *address)
{
    int use = NOT_NAMED;

    for (unsigned i = 0; i < task->n_dependences; i++) {
        const struct dependence *dependence = &task->dependences[i];

        if (dependence->address == address) {
            use = dependence->is_written ? WRITTEN
                  : use == WRITTEN       ? use
                                         : READ;
        }
    }
    return use;
}

static void add_edge(struct task *from, struct task *to)
{
    struct edge *edge = allocate(sizeof *edge);

    *edge = (struct edge){from->successors, to};
    from->successors = edge;
    to->n_awaited++;
}

static void look_back(struct task *task, const struct dependence *dependence)
{
    int use = NOT_NAMED;

    for (struct task *earlier = depend_owner(task)->latest;
         earlier != NULL && use != WRITTEN; earlier = earlier->earlier) {
        use = use_of(earlier, dependence->address);
        if (use == WRITTEN || (use == READ && dependence->is_written)) {
            add_edge(earlier, task);
        }
    }
}

static void join_list(struct task *task)
{
    struct task *owner = depend_owner(task);

    task->earlier = owner->latest;
    task->later = NULL;
    if (owner->latest != NULL) {
        owner->latest->later = task;
    }
    owner->latest = task;
    owner->n_dependents++;
}

static void leave_list(struct task *task)
{
    struct task *owner = depend_owner(task);

    if (task->earlier != NULL) {
        task->earlier->later = task->later;
    }
    if (task->later != NULL) {
        task->later->earlier = task->earlier;
    } else {
        owner->latest = task->earlier;
    }
    owner->n_dependents--;
}

bool depend_enter(struct task *task)
{
    for (unsigned i = 0; i < task->n_dependences; i++) {
        look_back(task, &task->dependences[i]);
    }
    if (!task->is_at_once) {
        join_list(task);
    }
    return task->n_awaited == 0;
}

struct task *depend_end(struct task *task, bool *wakes_home)
{
    struct task *ready = NULL;

    leave_list(task);
    for (struct edge *edge = task->successors, *next; edge != NULL;
         edge = next) {
        next = edge->next;
        if (--edge->to->n_awaited == 0) {
            if (edge->to->is_at_once) {
                *wakes_home = true;
            } else {
                edge->to->newer = ready;
                ready = edge->to;
            }
        }
        front_free(edge);
    }
    depend_forget(task);
    return ready;
}

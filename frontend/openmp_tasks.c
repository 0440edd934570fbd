// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's tasks. A thread of the team that makes one puts it into its queue
// (openmp_queues.c), from which it or another thread, of any node, takes it. Tasks are run
// where a thread waits: for its tasks, at the end of a group, at barriers, at the end of a
// region. All but the barriers are the same: run what is within the one that is waited for
// until that has no children any more, or sleep.
//
// A task that is not put off is run by who makes it, and has its record on the stack: in a
// region of one thread, with if(0), in or as a final one, with an event, or if the queue
// is full.
//
// T1  A task ends when all its children have. So one number of each tells when all within it
//     has ended, and what a task that has not ended names as its parent is there.
// T2  That number is guarded by the mutex of the thread that runs the task, which is the
//     one that makes the children: it is their home.
// T3  No mutex is held while a function of the program's runs.
//
// A task with an event (`detach`) has run when it was made; what is left of it is its event,
// in the list of its parent. A task that ends leaves the list to its own parent; who waits
// for children then waits for these.
#include "openmp_tasks.h"

#include <string.h>
#include <sys/types.h>

/** Flags of tasks, and of loops of them. */
enum {
    TASK_IS_FINAL = 1 << 1,
    TASK_DEPENDS = 1 << 3,
    TASKS_GO_UP = 1 << 8,
    TASKS_HAVE_SIZE = 1 << 9,
    TASKS_ARE_PUT_OFF = 1 << 10,
    TASKS_HAVE_NO_GROUP = 1 << 11,
    TASKS_HAVE_REDUCTIONS = 1 << 12,
    TASK_HAS_EVENT = 1 << 13,
    TASKS_ARE_STRICT = 1 << 14, // of just that size, but for the last
};

static tm_mutex event_mutex;
static tm_cond event_cond;

static struct member *self(void)
{
    return openmp_self();
}

typedef void copy_function(void *to, void *from);

/** What a task of a loop is given begins with this. */
struct task_range {
    unsigned long first;
    unsigned long end;
};

/** A task as the compiler describes it. */
struct order {
    region *function;
    void *data;
    copy_function *copy; // or NULL
    size_t size;
    size_t alignment;
    const struct task_range *range; // or NULL
    void **depend;                  // or NULL
    void **event;                   // or NULL
    bool is_put_off;
    bool is_final;
};

// A copy function leaves the range of a loop's task out.
static void copy_data(void *to, const struct order *order)
{
    if (order->copy != NULL) {
        order->copy(to, order->data);
    } else {
        memcpy(to, order->data, order->size);
    }
    if (order->range != NULL) {
        memcpy(to, order->range, sizeof *order->range);
    }
}

static bool has_team(const struct member *member)
{
    return member->n > 1;
}

static struct task_pool *pool_of(const struct member *member)
{
    return member->team->pool;
}

static void lock_own(const struct member *member)
{
    if (has_team(member)) {
        queue_lock(pool_of(member), member->number);
    }
}

static void unlock_own(const struct member *member)
{
    if (has_team(member)) {
        queue_unlock(pool_of(member), member->number);
    }
}

static struct task *current_task(struct member *member)
{
    if (member->task == NULL) {
        member->task = has_team(member)
                           ? queue_whole(pool_of(member), member->number)
                           : &member->base;
    }
    return member->task;
}

// ---- running

static void wait_for_children(struct member *member, struct task *task);

static void run_task(struct member *member, struct task *task)
{
    struct task *before = current_task(member);
    uintptr_t *reductions = member->reductions;
    const struct icvs icvs = member->icvs;

    member->task = task;
    member->reductions = task->reductions;
    member->icvs = task->icvs;
    task->function(task->data);
    wait_for_children(member, task);
    member->task = before;
    member->reductions = reductions;
    member->icvs = icvs;
}

// REQUIRES(the mutex of who runs `to`)
static void leave_events(struct task *from, struct task *to);

static void put_ready(struct task_pool *pool, unsigned index,
                      struct task *ready)
{
    if (ready == NULL) {
        return;
    }
    queue_lock(pool, index);
    while (ready != NULL) {
        struct task *next = ready->newer;

        queue_put(pool, index, ready);
        ready = next;
    }
    queue_unlock(pool, index);
}

// Then the parent may be gone, if it does not run here.
static void end_task(struct task_pool *pool, unsigned index, struct task *task)
{
    struct task *parent = task->parent;
    const unsigned home = task->home;
    struct task *ready = NULL;
    bool wakes_home = false;

    queue_lock(pool, home);
    if (task->dependences != NULL) {
        ready = depend_end(task, &wakes_home);
    }
    leave_events(task, parent);
    wakes_home |= --parent->n_children == 0 && parent->is_waiting;
    if (home != index) {
        queue_give_back(pool, home, task);
    }
    queue_unlock(pool, home);
    if (home == index) {
        queue_keep(pool, index, task);
    }
    put_ready(pool, index, ready);
    if (wakes_home && home != index) {
        sleeper_wake(pool, home);
    }
}

// A task whose copies a function of the program's has made is run all the same: it may have to
// take them down.
static void run_queued(struct member *member, struct task *task)
{
    struct task *before = member->task;
    bool is_dropped;

    member->task = task;
    is_dropped = !task->is_copied && openmp_is_task_cancelled();
    member->task = before;
    if (!is_dropped) {
        run_task(member, task);
    }
    end_task(pool_of(member), member->number, task);
}

// ---- waiting

typedef bool condition(struct member *member, void *what);

// @param of  what is run is within it; NULL: anything
static void run_until(struct member *member, const struct task *of,
                      condition *is_over, void *what)
{
    struct task_pool *pool = pool_of(member);
    const unsigned index = member->number;

    while (!is_over(member, what)) {
        struct task *task = queue_take(pool, index, member->n, of);

        if (task == NULL) {
            sleeper_enter(pool, index, of);
            task = queue_take(pool, index, member->n, of);
            if (task == NULL && !is_over(member, what)) {
                sleeper_sleep(pool, index);
            } else {
                sleeper_leave(pool, index);
            }
        }
        if (task != NULL) {
            run_queued(member, task);
        }
    }
}

static bool has_no_children(struct member *member, void *what)
{
    struct task *task = what;
    bool is_so;

    queue_lock(pool_of(member), member->number);
    is_so = task->n_children == 0;
    task->is_waiting = !is_so;
    queue_unlock(pool_of(member), member->number);
    return is_so;
}

static void wait_for_children(struct member *member, struct task *task)
{
    if (task->has_children) {
        run_until(member, task, has_no_children, task);
        task->has_children = false;
    }
}

// ---- events

// Of those that have run and have not ended.
struct openmp_event {
    struct openmp_event *next;
    int is_fulfilled;
};

static struct openmp_event *add_event(const struct member *member,
                                      struct task *parent)
{
    struct openmp_event *event = front_allocate(sizeof *event);

    if (event == NULL) {
        front_fatal("OpenMP: no memory for an event");
    }
    lock_own(member);
    *event = (struct openmp_event){parent->events, 0};
    parent->events = event;
    unlock_own(member);
    return event;
}

void omp_fulfill_event(struct openmp_event *event);
void omp_fulfill_event(struct openmp_event *event)
{
    front_lock(&event_mutex);
    event->is_fulfilled = 1;
    FRONT_1(tm_cond_broadcast, &event_cond);
    front_unlock(&event_mutex);
}

// Fortran gives the handle itself.
void omp_fulfill_event_(struct openmp_event *event)
    __attribute__((alias("omp_fulfill_event")));

static void wait_for_event(const struct openmp_event *event)
{
    front_lock(&event_mutex);
    while (!event->is_fulfilled) {
        FRONT_2(tm_cond_wait, &event_cond, &event_mutex);
    }
    front_unlock(&event_mutex);
}

static void leave_events(struct task *from, struct task *to)
{
    while (from->events != NULL) {
        struct openmp_event *event = from->events;

        from->events = event->next;
        event->next = to->events;
        to->events = event;
    }
}

static void wait_for_events(struct task *task)
{
    while (task->events != NULL) {
        struct openmp_event *event = task->events;

        wait_for_event(event);
        task->events = event->next;
        front_free(event);
    }
}

static void wait_for_all(struct member *member, struct task *task)
{
    wait_for_children(member, task);
    wait_for_events(task);
}

// A task's children are those of the groups that it is in, too.
static void wait_for_siblings(struct member *member)
{
    struct task *task = current_task(member);

    for (; task->is_group; task = task->parent) {
        wait_for_all(member, task);
    }
    wait_for_all(member, task);
}

// Before a task with `depend`: they may be what it waits for.
static void wait_for_siblings_with_event(struct member *member)
{
    const struct task *task = current_task(member);

    while (task->is_group && task->events == NULL) {
        task = task->parent;
    }
    if (task->events != NULL) {
        wait_for_siblings(member);
    }
}

// ---- what a task depends on

static bool awaits_nothing(struct member *member, void *what)
{
    const struct task *task = what;
    bool is_so;

    queue_lock(pool_of(member), member->number);
    is_so = task->n_awaited == 0;
    queue_unlock(pool_of(member), member->number);
    return is_so;
}

// Before one that is not put off.
static void wait_for_depend(struct member *member, void **depend)
{
    struct task task = {.parent = current_task(member),
                        .home = member->number,
                        .is_at_once = true};

    if (!has_team(member)) {
        return;
    }
    depend_note(&task, depend);
    lock_own(member);
    depend_enter(&task);
    unlock_own(member);
    run_until(member, depend_owner(&task), awaits_nothing, &task);
    depend_forget(&task);
}

void openmp_wait_for_depend(void **depend)
{
    struct member *member = self();

    wait_for_siblings_with_event(member);
    wait_for_depend(member, depend);
}

static bool has_many_dependents(const struct member *member,
                                const struct task *child)
{
    bool has_many;

    lock_own(member);
    has_many = depend_owner(child)->n_dependents >= DEPENDENTS_MAX;
    unlock_own(member);
    return has_many;
}

// ---- making

static struct task child_of(struct member *member, const struct order *order)
{
    struct task *parent = current_task(member);

    return (struct task){.parent = parent,
                         .depth = parent->depth + 1,
                         .home = member->number,
                         .is_final = parent->is_final || order->is_final,
                         .is_copied = order->copy != NULL,
                         .function = order->function,
                         .reductions = member->reductions,
                         .icvs = member->icvs};
}

static void run_with_copy(struct member *member, struct task *task,
                          const struct order *order)
{
    char room[order->size + order->alignment];
    const uintptr_t align = order->alignment;

    task->data = &room[(align - (uintptr_t)&room[0] % align) % align];
    copy_data(task->data, order);
    run_task(member, task);
}

static void run_at_once(struct member *member, struct task *task,
                        const struct order *order)
{
    if (order->depend != NULL) {
        wait_for_depend(member, order->depend);
    }
    if (order->event != NULL) {
        *order->event = add_event(member, task->parent);
        if (order->data != NULL) {
            *(void **)order->data = *order->event;
        }
    }
    if (order->copy != NULL || order->range != NULL) {
        run_with_copy(member, task, order);
    } else {
        task->data = order->data;
        run_task(member, task);
    }
    lock_own(member);
    leave_events(task, task->parent);
    unlock_own(member);
}

static void put_off(struct member *member, const struct task *child,
                    const struct order *order)
{
    struct task_pool *pool = pool_of(member);
    const unsigned index = member->number;
    struct task *task = queue_new(pool, index, order->size, order->alignment);
    void *data = task->data;
    const bool is_large = task->is_large;

    *task = *child;
    task->data = data;
    task->is_large = is_large;
    copy_data(data, order);
    if (order->depend != NULL) {
        depend_note(task, order->depend);
    }
    task->parent->has_children = true;
    queue_lock(pool, index);
    task->parent->n_children++;
    if (order->depend == NULL || depend_enter(task)) {
        queue_put(pool, index, task);
    }
    queue_unlock(pool, index);
}

static bool is_put_off(const struct member *member, const struct task *child,
                       const struct order *order)
{
    return order->is_put_off && order->event == NULL && has_team(member) &&
           !child->is_final &&
           !queue_is_full(pool_of(member), member->number) &&
           (order->depend == NULL || !has_many_dependents(member, child));
}

static void make_task(const struct order *order)
{
    struct member *member = self();
    struct task child = child_of(member, order);

    if (openmp_is_task_cancelled()) {
        return;
    }
    if (order->depend != NULL) {
        wait_for_siblings_with_event(member);
    }
    if (is_put_off(member, &child, order)) {
        put_off(member, &child, order);
    } else {
        run_at_once(member, &child, order);
    }
}

void GOMP_task(region *function, void *data, copy_function *copy, long size,
               long alignment, bool is_deferred, unsigned flags, void **depend,
               int priority, void *detach);
void GOMP_task(region *function, void *data, copy_function *copy, long size,
               long alignment, bool is_deferred, unsigned flags, void **depend,
               int priority, void *detach)
{
    (void)priority;
    make_task(
        &(struct order){.function = function,
                        .data = data,
                        .copy = copy,
                        .size = (size_t)size,
                        .alignment = (size_t)alignment,
                        .depend = (flags & TASK_DEPENDS) != 0 ? depend : NULL,
                        .event = (flags & TASK_HAS_EVENT) != 0 ? detach : NULL,
                        .is_put_off = is_deferred,
                        .is_final = (flags & TASK_IS_FINAL) != 0});
}

// ---- waiting for tasks

void GOMP_taskwait(void);
void GOMP_taskwait(void)
{
    wait_for_siblings(self());
}

void GOMP_taskwait_depend(void **depend);
void GOMP_taskwait_depend(void **depend)
{
    openmp_wait_for_depend(depend);
}

NOTHING(GOMP_taskyield)

static struct task *new_record(const struct member *member)
{
    struct task *task = has_team(member)
                            ? queue_new(pool_of(member), member->number, 0, 1)
                            : front_allocate(sizeof *task);

    if (task == NULL) {
        front_fatal("OpenMP: no memory for a group of tasks");
    }
    return task;
}

static void free_record(const struct member *member, struct task *task)
{
    if (has_team(member)) {
        queue_keep(pool_of(member), member->number, task);
    } else {
        front_free(task);
    }
}

void GOMP_taskgroup_start(void);
void GOMP_taskgroup_start(void)
{
    struct member *member = self();
    struct task *group = new_record(member);

    *group = child_of(member, &(struct order){0});
    group->is_group = true;
    member->task = group;
}

void GOMP_taskgroup_end(void);
void GOMP_taskgroup_end(void)
{
    struct member *member = self();
    struct task *group = member->task;

    wait_for_all(member, group);
    member->task = group->parent;
    free_record(member, group);
}

// ---- barriers

static bool is_phase_over(struct member *member, void *what)
{
    return phase_is_over(pool_of(member), *(const long *)what) ||
           openmp_is_region_cancelled();
}

// Who leaves a cancelled region waits for its own only.
void openmp_finish_tasks(void)
{
    struct member *member = self();
    long phase;

    wait_for_siblings(member);
    if (has_team(member) && !openmp_is_region_cancelled()) {
        phase = phase_arrive(pool_of(member), member->n);
        run_until(member, NULL, is_phase_over, &phase);
    }
}

// ---- loops of tasks

/** The steps of a loop. */
struct task_steps {
    unsigned long first;
    unsigned long step;
    unsigned long n;
    unsigned long each; ///< of a task, but for the last; 0: as equal as can be
};

static unsigned long steps_of(const struct task_steps *steps, unsigned long i,
                              unsigned long n_tasks)
{
    if (steps->each > 0) {
        return i + 1 < n_tasks ? steps->each : steps->n - i * steps->each;
    }
    return steps->n / n_tasks + (i < steps->n % n_tasks);
}

// So many tasks of so many steps each, the first ones of one more.
static void make_tasks(struct order order, struct task_steps steps,
                       unsigned long n_tasks)
{
    unsigned long first = steps.first;

    for (unsigned long i = 0; i < n_tasks; i++) {
        unsigned long n = steps_of(&steps, i, n_tasks);
        const struct task_range range = {first, first + n * steps.step};

        order.range = &range;
        make_task(&order);
        first = range.end;
    }
}

/** What they are given goes on with this, if there are reductions. */
struct task_head {
    struct task_range range;
    uintptr_t *reductions;
};

// They are a group of their own, if nothing else is said.
static void begin_loop(const struct task_head *given, unsigned flags)
{
    if ((flags & TASKS_HAVE_NO_GROUP) == 0) {
        GOMP_taskgroup_start();
        if ((flags & TASKS_HAVE_REDUCTIONS) != 0) {
            GOMP_taskgroup_reduction_register(given->reductions);
        }
    }
}

static void end_loop(unsigned flags)
{
    if ((flags & TASKS_HAVE_NO_GROUP) == 0) {
        GOMP_taskgroup_end();
    }
}

static void skip_loop(const struct task_head *given, unsigned flags)
{
    if ((flags & (TASKS_HAVE_NO_GROUP | TASKS_HAVE_REDUCTIONS)) ==
        TASKS_HAVE_REDUCTIONS) {
        openmp_reductions_without_room(given->reductions);
    }
}

static int is_strict(unsigned flags)
{
    return (flags & TASKS_HAVE_SIZE) != 0 && (flags & TASKS_ARE_STRICT) != 0;
}

static unsigned long count_tasks(unsigned flags, unsigned long wanted,
                                 unsigned long n_steps)
{
    unsigned long n = wanted;

    if ((flags & TASKS_HAVE_SIZE) != 0) {
        n = n_steps / wanted + (is_strict(flags) && n_steps % wanted > 0);
    } else if (wanted == 0) {
        n = self()->n;
    }
    return n == 0 ? 1 : n > n_steps ? n_steps : n;
}

#define TASKLOOP(name, type, is_up)                                            \
    void name(region *function, void *data, copy_function *copy, long size,    \
              long alignment, unsigned flags, unsigned long wanted,            \
              int priority, type start, type end, type step);                  \
    void name(region *function, void *data, copy_function *copy, long size,    \
              long alignment, unsigned flags, unsigned long wanted,            \
              int priority, type start, type end, type step)                   \
    {                                                                          \
        unsigned long n;                                                       \
                                                                               \
        (void)priority;                                                        \
        if (is_up ? start >= end : start <= end) {                             \
            skip_loop(data, flags);                                            \
            return;                                                            \
        }                                                                      \
        n = is_up ? ((ulong)end - (ulong)start - 1) / (ulong)step + 1          \
                  : ((ulong)start - (ulong)end - 1) / (0 - (ulong)step) + 1;   \
        begin_loop(data, flags);                                               \
        make_tasks(                                                            \
            (struct order){.function = function,                               \
                           .data = data,                                       \
                           .copy = copy,                                       \
                           .size = (size_t)size,                               \
                           .alignment = (size_t)alignment,                     \
                           .is_put_off = (flags & TASKS_ARE_PUT_OFF) != 0,     \
                           .is_final = (flags & TASK_IS_FINAL) != 0},          \
            (struct task_steps){(ulong)start, (ulong)step, n,                  \
                                is_strict(flags) ? wanted : 0},                \
            count_tasks(flags, wanted, n));                                    \
        end_loop(flags);                                                       \
    }

TASKLOOP(GOMP_taskloop, long, step > 0)
TASKLOOP(GOMP_taskloop_ull, ulong, (flags & TASKS_GO_UP) != 0)

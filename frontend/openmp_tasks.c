// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's tasks. They are run at once by who makes them, which the standard allows: so all
// that they depend on has ended, except tasks that end by an event. Who waits for tasks waits
// for these.
#include "openmp.h"

#include <string.h>
#include <sys/types.h>

/** Flags of tasks, and of loops of them. */
enum {
    TASK_IS_FINAL = 1 << 1,
    TASK_DEPENDS = 1 << 3,
    TASKS_GO_UP = 1 << 8,
    TASKS_HAVE_SIZE = 1 << 9,
    TASKS_HAVE_NO_GROUP = 1 << 11,
    TASKS_HAVE_REDUCTIONS = 1 << 12,
    TASK_HAS_EVENT = 1 << 13,
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

// A copy function leaves the range of a loop's task out.
// @param range  or NULL
static void run_task(region *function, void *data, copy_function *copy,
                     long size, long alignment, const struct task_range *range)
{
    char room[size + alignment];
    const uintptr_t align = (uintptr_t)alignment;
    char *own = &room[(align - (uintptr_t)&room[0] % align) % align];

    if (copy != NULL) {
        copy(own, data);
    } else {
        memcpy(own, data, (size_t)size);
    }
    if (range != NULL) {
        memcpy(own, range, sizeof *range);
    }
    function(own);
}

// Those that have begun and have not ended but by their events.
struct openmp_event {
    struct openmp_event *next;
    int is_fulfilled;
};

static struct openmp_event *add_event(void)
{
    struct openmp_event *event = front_allocate(sizeof *event);

    if (event == NULL) {
        front_fatal("OpenMP: no memory for an event");
    }
    *event = (struct openmp_event){self()->events, 0};
    return self()->events = event;
}

void omp_fulfill_event(struct openmp_event *event);
void omp_fulfill_event(struct openmp_event *event)
{
    front_lock(&event_mutex);
    event->is_fulfilled = 1;
    FRONT_1(tm_cond_broadcast, &event_cond);
    front_unlock(&event_mutex);
}

void omp_fulfill_event_(struct openmp_event *const *event);
void omp_fulfill_event_(struct openmp_event *const *event)
{
    omp_fulfill_event(*event);
}

static void wait_for_event(const struct openmp_event *event)
{
    front_lock(&event_mutex);
    while (!event->is_fulfilled) {
        FRONT_2(tm_cond_wait, &event_cond, &event_mutex);
    }
    front_unlock(&event_mutex);
}

void openmp_wait_for_events(void)
{
    struct member *member = self();

    while (member->events != NULL) {
        struct openmp_event *event = member->events;

        wait_for_event(event);
        member->events = event->next;
        front_free(event);
    }
}

static void run_given(region *function, void *data, copy_function *copy,
                      long size, long alignment)
{
    if (copy != NULL) {
        run_task(function, data, copy, size, alignment, NULL);
    } else {
        function(data);
    }
}

void GOMP_task(region *function, void *data, copy_function *copy, long size,
               long alignment, bool is_deferred, unsigned flags, void **depend,
               int priority, void *detach);
void GOMP_task(region *function, void *data, copy_function *copy, long size,
               long alignment, bool is_deferred, unsigned flags, void **depend,
               int priority, void *detach)
{
    struct member *member = self();
    const int was_final = member->is_final;

    (void)is_deferred;
    (void)priority;
    if (openmp_is_task_cancelled()) {
        return;
    }
    if ((flags & TASK_DEPENDS) != 0 && depend != NULL) {
        openmp_wait_for_events();
    }
    if ((flags & TASK_HAS_EVENT) != 0) {
        *(void **)detach = add_event();
        if (data != NULL) {
            *(void **)data = *(void **)detach;
        }
    }
    member->is_final |= (flags & TASK_IS_FINAL) != 0;
    run_given(function, data, copy, size, alignment);
    member->is_final = was_final;
}

// ---- waiting for tasks: for those that have an event

void GOMP_taskwait(void);
void GOMP_taskwait(void)
{
    openmp_wait_for_events();
}

void GOMP_taskwait_depend(void **depend);
void GOMP_taskwait_depend(void **depend)
{
    (void)depend;
    openmp_wait_for_events();
}

NOTHING(GOMP_taskyield)

void GOMP_taskgroup_start(void);
void GOMP_taskgroup_start(void)
{
    self()->n_groups++;
}

void GOMP_taskgroup_end(void);
void GOMP_taskgroup_end(void)
{
    struct member *member = self();

    openmp_wait_for_events();
    if (member->cancelled_group == member->n_groups) {
        member->cancelled_group = 0;
    }
    member->n_groups--;
}

// ---- loops of tasks

/** The steps of a loop. */
struct task_steps {
    unsigned long first;
    unsigned long step;
    unsigned long n;
};

// So many tasks of so many steps each, the first ones of one more.
static void run_tasks(region *function, void *given, copy_function *copy,
                      long size, long alignment, struct task_steps steps,
                      unsigned long n_tasks)
{
    unsigned long first = steps.first;

    for (unsigned long i = 0; i < n_tasks && !openmp_is_task_cancelled(); i++) {
        unsigned long n = steps.n / n_tasks + (i < steps.n % n_tasks);
        const struct task_range range = {first, first + n * steps.step};

        run_task(function, given, copy, size, alignment, &range);
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

static unsigned long count_tasks(unsigned flags, unsigned long wanted,
                                 unsigned long n_steps)
{
    unsigned long n = wanted;

    if ((flags & TASKS_HAVE_SIZE) != 0) {
        n = n_steps / wanted;
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
        run_tasks(function, data, copy, size, alignment,                       \
                  (struct task_steps){(ulong)start, (ulong)step, n},           \
                  count_tasks(flags, wanted, n));                              \
        end_loop(flags);                                                       \
    }

TASKLOOP(GOMP_taskloop, long, step > 0)
TASKLOOP(GOMP_taskloop_ull, ulong, (flags & TASKS_GO_UP) != 0)

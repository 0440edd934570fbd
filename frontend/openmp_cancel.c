// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's `cancel`, which does nothing unless OMP_CANCELLATION is true.
//
// A loop or sections that are cancelled end with a barrier, which all threads reach: what was
// cancelled is told by how many barriers they had passed, and so is never taken back. A
// region is cancelled until the next one; its barriers are left at once then, so they are
// gates of their own, here. A group of tasks that is cancelled begins no more of them, nor do
// groups within it.
#include "openmp.h"

#include <string.h>

/** What is cancelled, as the compiler says it. */
enum { REGION = 1, LOOP = 2, SECTIONS = 4, GROUP = 8 };

static tm_mutex mutex; // of all gates, and of groups

static void clear_hint(struct team *team)
{
    if (team->has_cancelled == NULL) {
        team->has_cancelled = openmp_new_hints();
    } else if (openmp_read_hint(team->has_cancelled)) {
        openmp_set_hint(team->has_cancelled, 0);
    }
}

// Before it is looked for under the mutex.
static bool may_be_cancelled(const struct member *member)
{
    return member->n == 1 || openmp_read_hint(member->team->has_cancelled);
}

void openmp_clear_cancelled(struct team *team)
{
    if (openmp_can_cancel()) {
        clear_hint(team);
    }
    team->gate.cancelled = (struct cancelled){0};
    team->gate.n_waiting = 0;
}

static void lock_team(const struct member *member)
{
    if (member->n > 1) {
        front_lock(&mutex);
    }
}

static void unlock_team(const struct member *member)
{
    if (member->n > 1) {
        front_unlock(&mutex);
    }
}

static struct cancelled *of_team(struct member *member)
{
    return member->n > 1 ? &member->team->gate.cancelled : &member->alone;
}

static struct task *innermost_group(struct task *task)
{
    while (task != NULL && !task->is_group) {
        task = task->parent;
    }
    return task;
}

static bool is_group_cancelled(struct task *task)
{
    struct task *group = innermost_group(task);

    while (group != NULL && !group->is_cancelled) {
        group = innermost_group(group->parent);
    }
    return group != NULL;
}

static void cancel_group(struct task *task)
{
    struct task *group = innermost_group(task);

    if (group != NULL) {
        group->is_cancelled = true;
    }
}

static bool is_cancelled(struct member *member, int what)
{
    const struct cancelled *cancelled = of_team(member);

    switch (what) {
    case REGION:
        return cancelled->is_region;
    case GROUP:
        return is_group_cancelled(member->task);
    default:
        return cancelled->construct == member->n_barriers + 1;
    }
}

static void cancel_region(struct member *member)
{
    of_team(member)->is_region = 1;
    if (member->n > 1) {
        FRONT_1(tm_cond_broadcast, &member->team->gate.cond);
        if (openmp_wake_all != NULL) {
            openmp_wake_all(member->team);
        }
    }
}

static void cancel_it(struct member *member, int what)
{
    if (member->n > 1) {
        openmp_set_hint(member->team->has_cancelled, 1);
    }
    switch (what) {
    case REGION:
        cancel_region(member);
        break;
    case GROUP:
        cancel_group(member->task);
        break;
    default:
        of_team(member)->construct = member->n_barriers + 1;
    }
}

bool GOMP_cancellation_point(int what);
bool GOMP_cancellation_point(int what)
{
    struct member *member = openmp_self();
    bool is_so;

    if (!openmp_can_cancel() || !may_be_cancelled(member)) {
        return false;
    }
    lock_team(member);
    is_so = is_cancelled(member, what);
    unlock_team(member);
    return is_so;
}

bool GOMP_cancel(int what, bool is_wanted);
bool GOMP_cancel(int what, bool is_wanted)
{
    struct member *member = openmp_self();

    if (openmp_can_cancel() && is_wanted) {
        lock_team(member);
        cancel_it(member, what);
        unlock_team(member);
    }
    return GOMP_cancellation_point(what);
}

bool openmp_is_region_cancelled(void)
{
    return GOMP_cancellation_point(REGION);
}

bool openmp_is_task_cancelled(void)
{
    return GOMP_cancellation_point(GROUP) || GOMP_cancellation_point(REGION);
}

// ---- barriers

bool openmp_meet_or_leave(struct member *member)
{
    struct gate *gate;
    long before;
    bool has_opened;

    if (member->n == 1) {
        return member->alone.is_region;
    }
    gate = &member->team->gate;
    front_lock(&mutex);
    before = gate->n_opened;
    if (++gate->n_waiting == member->n && !gate->cancelled.is_region) {
        gate->n_waiting = 0;
        gate->n_opened++;
        FRONT_1(tm_cond_broadcast, &gate->cond);
    }
    while (gate->n_opened == before && !gate->cancelled.is_region) {
        FRONT_2(tm_cond_wait, &gate->cond, &mutex);
    }
    has_opened = gate->n_opened != before;
    front_unlock(&mutex);
    return !has_opened;
}

#define BARRIER(name)                                                          \
    bool name(void);                                                           \
    bool name(void)                                                            \
    {                                                                          \
        return openmp_barrier();                                               \
    }

BARRIER(GOMP_barrier_cancel)
BARRIER(GOMP_loop_end_cancel)
BARRIER(GOMP_sections_end_cancel)

// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP as GCC compiles it: calls of libgomp, whose ABI this is. Here: regions, what a thread
// knows of the one that it is in, barriers, mutual exclusion. Who runs them: openmp_teams.c.
#include "openmp.h"

#include <stdbool.h>
#include <stdio.h>

static tm_mutex critical_mutex;
static tm_mutex atomic_mutex;

static void meet(tm_barrier *barrier)
{
    FRONT_1(tm_barrier_wait, barrier);
}

// ---- members: of a thread that is in no team, one that is made now

static struct member *new_member(void)
{
    struct {
        struct member member;
        unsigned n_counted;
    } *made = front_allocate(sizeof *made);

    if (made == NULL) {
        front_fatal("no memory for a thread of OpenMP");
    }
    made->n_counted = 0;
    made->member = (struct member){
        .n = 1, .icvs = openmp_initial(), .n_counted = &made->n_counted};
    return &made->member;
}

struct member *openmp_self(void)
{
    struct front_thread *thread = front_thread();

    if (thread->member == NULL) {
        thread->member = new_member();
    }
    return thread->member;
}

static struct member *self(void)
{
    return openmp_self();
}

struct rank openmp_rank(const struct member *member, unsigned level)
{
    while (member->team != NULL && level < member->team->level) {
        member = member->team->leader;
    }
    if (level == member->level) {
        return (struct rank){openmp_index(member), member->n};
    }
    if (member->team != NULL && level == member->team->level) {
        return (struct rank){member->number, member->team->n};
    }
    return (struct rank){0, 1}; // a region of one thread between those of teams
}

// In a region that `leader` has begun, of a league's team or of none.
static struct member begin_member(const struct member *leader)
{
    return (struct member){.n = 1,
                           .number = leader->number,
                           .team = leader->team,
                           .level = leader->level + 1,
                           .icvs = openmp_inner(&leader->icvs, leader->level),
                           .n_counted = leader->n_counted,
                           .n_teams = leader->n_teams,
                           .team_number = leader->team_number};
}

static void finish_tasks(void)
{
    if (openmp_finish_tasks != NULL) {
        openmp_finish_tasks();
    }
}

// ---- regions

// Where a thread comes into a region with other threads than in its last one.
static void show_affinity(const struct member *member, struct rank *shown)
{
    const struct rank rank = {member->number, member->n};

    if (openmp_shows_affinity() &&
        (shown->number != rank.number || shown->n != rank.n)) {
        omp_display_affinity(NULL);
        *shown = rank;
    }
}

void openmp_run_part(struct team *team, unsigned number)
{
    struct member *member = self();
    struct member before = *member;

    *member = begin_member(team->leader);
    member->n = team->n;
    member->number = number;
    member->team = team;
    show_affinity(member, &before.shown);
    if (team->reductions != NULL) {
        openmp_enter_reductions(team->reductions, team->room, team->n);
    }
    if (team->has_loop) {
        openmp_enter_first(&team->loop);
    }
    team->function(team->data);
    finish_tasks();
    *member = before;
}

static void run_alone(region *function, void *data, const struct share *first,
                      uintptr_t *reductions)
{
    struct member *member = self();
    struct member before = *member;

    *member = begin_member(&before);
    if (member->level == 1) {
        show_affinity(member, &before.shown);
    }
    if (reductions != NULL) {
        openmp_enter_reductions(reductions,
                                openmp_reductions_room(reductions, 1), 1);
    }
    if (first != NULL) {
        openmp_enter_first(first);
    }
    function(data);
    finish_tasks();
    openmp_leave_shares(member);
    *member = before;
}

// By who has taken the team, and gives it back.
static void run_team(struct team *team, region *function, void *data)
{
    const struct member leader = *self();
    struct front_locals_loan loan;

    team->level = leader.level + 1;
    team->active_level =
        1 + (leader.team == NULL ? 0 : leader.team->active_level);
    team->leader = &leader;
    team->function = function;
    team->data = data;
    openmp_clear_cancelled(team);
    if (openmp_begin_tasks != NULL) {
        openmp_begin_tasks(team);
    }
    if (openmp_begin_across != NULL) {
        openmp_begin_across(team);
    }
    FRONT_2(tm_barrier_init, &team->barrier, team->n);
    front_lend_locals(&loan, data);
    openmp_run_all(team);
    front_end_locals(&loan);
    openmp_clear_shares(team);
}

unsigned openmp_run(region *function, void *data, unsigned n,
                    const struct share *first, uintptr_t *reductions)
{
    struct team *team = openmp_take_team(self(), n);

    if (team == NULL) {
        run_alone(function, data, first, reductions);
        return 1;
    }
    n = team->n;
    team->reductions = reductions;
    if (reductions != NULL) {
        team->room = openmp_reductions_room(reductions, n);
    }
    team->has_loop = first != NULL;
    if (first != NULL) {
        team->loop = *first;
    }
    run_team(team, function, data);
    openmp_give_team_back(self(), team);
    return n;
}

void GOMP_parallel(region *function, void *data, unsigned n, unsigned flags);
void GOMP_parallel(region *function, void *data, unsigned n, unsigned flags)
{
    (void)flags;
    openmp_run(function, data, n, NULL, NULL);
}

// What is given begins with the address of its reductions, which the caller ends.
unsigned GOMP_parallel_reductions(region *function, void *data, unsigned n,
                                  unsigned flags);
unsigned GOMP_parallel_reductions(region *function, void *data, unsigned n,
                                  unsigned flags)
{
    (void)flags;
    return openmp_run(function, data, n, NULL, *(uintptr_t **)data);
}

bool openmp_meet(void)
{
    struct member *member = self();

    finish_tasks();
    member->n_barriers++;
    member->n_done = member->n_shares;
    if (openmp_can_cancel()) {
        return openmp_meet_or_leave(member);
    }
    if (member->n > 1) {
        meet(&member->team->barrier);
    }
    return false;
}

bool openmp_barrier(void)
{
    bool is_cancelled = openmp_meet();

    front_end_locals(&self()->copied);
    return is_cancelled;
}

void GOMP_barrier(void);
void GOMP_barrier(void)
{
    openmp_barrier();
}

// ---- mutual exclusion

#define PAIR(name, parameters, mutex)                                          \
    void name##_start parameters;                                              \
    void name##_start parameters                                               \
    {                                                                          \
        front_lock(mutex);                                                     \
    }                                                                          \
    void name##_end parameters;                                                \
    void name##_end parameters                                                 \
    {                                                                          \
        front_unlock(mutex);                                                   \
    }

PAIR(GOMP_critical, (void), &critical_mutex)
PAIR(GOMP_atomic, (void), &atomic_mutex)
PAIR(GOMP_critical_name, (void **name), name)

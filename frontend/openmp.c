// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP as GCC compiles it: calls of libgomp, whose ABI this is.
//
// A team is made of threads that stay: each waits at `dock` for the next region, runs its
// part, and comes back there. A region within a region is run by who comes to it, alone.
//
// There is one team. A thread of the program's that begins a region while another's is being
// run by the team runs it alone.
#include "openmp.h"

#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static TM_SHARED struct {
    region *function;
    void *data;
    unsigned n;         // that take part in the region
    unsigned n_pool;    // threads that there are; 0: not yet
    int is_busy;        // with the region of one of the program's threads
    unsigned dock;      // where they wait
    struct share first; // of GOMP_parallel_loop_*()
    const struct member *leader;
    uintptr_t *reductions;
    void *room; // of theirs
} team;

static tm_mutex critical_mutex;
static tm_mutex atomic_mutex;
static tm_mutex team_mutex; // of is_busy
static tm_barrier docks[2];
static tm_barrier inner;

extern __typeof__(sysconf) tmf_sysconf;
extern __typeof__(pthread_create) tmf_pthread_create;

static void meet(tm_barrier *barrier)
{
    FRONT_1(tm_barrier_wait, barrier);
}

// ---- members: of a thread that is in no team, one that is made now

struct member *openmp_self(void)
{
    struct front_thread *thread = front_thread();

    if (thread->member == NULL) {
        thread->member = front_allocate(sizeof *thread->member);
        if (thread->member == NULL) {
            front_fatal("no memory for a thread of OpenMP");
        }
        *thread->member = (struct member){.n = 1};
    }
    return thread->member;
}

static struct member *self(void)
{
    return openmp_self();
}

// In a region, of a league's team or of none.
static struct member begin_member(const struct member *before,
                                  const struct member *leader)
{
    return (struct member){.number = before->number,
                           .n = 1,
                           .n_teams = leader->n_teams,
                           .team_number = leader->team_number,
                           .thread_limit = leader->thread_limit};
}

static void finish_tasks(void)
{
    if (openmp_finish_tasks != NULL) {
        openmp_finish_tasks();
    }
}

static void run_part(struct member *member, region *function, void *data)
{
    const struct member before = *member;

    *member = begin_member(&before, team.leader);
    member->n = team.n;
    member->n_region = team.n;
    member->level = 1;
    if (team.reductions != NULL) {
        openmp_enter_reductions(team.reductions, team.room, team.n);
    }
    function(data);
    finish_tasks();
    *member = before;
}

static void *work(void *argument)
{
    struct member *member = self();
    unsigned dock = team.dock;

    member->number = (unsigned)(long)argument;
    for (;;) {
        meet(&docks[dock]);
        if (team.dock != dock) { // there are to be more threads
            dock = team.dock;
            continue;
        }
        if (member->number < team.n) {
            run_part(member, team.function, team.data);
        }
        meet(&docks[dock]);
    }
    return NULL;
}

static void create_worker(unsigned number)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    if (openmp_stack_size() > 0) {
        (void)!pthread_attr_setstacksize(&attr, openmp_stack_size());
    }
    if (tmf_pthread_create(&thread, &attr, work, (void *)(long)number) != 0) {
        front_fatal("OpenMP: no thread is left");
    }
    pthread_attr_destroy(&attr);
}

// All wait for the other dock then, which has room for the new ones.
static void widen_pool(unsigned n)
{
    const unsigned before = team.dock;

    if (n <= team.n_pool) {
        return;
    }
    FRONT_2(tm_barrier_init, &docks[1 - before], n);
    team.dock = 1 - before;
    if (team.n_pool > 1) {
        meet(&docks[before]);
    }
    for (unsigned i = team.n_pool == 0 ? 1 : team.n_pool; i < n; i++) {
        create_worker(i);
    }
    team.n_pool = n;
}

// ---- regions

static void run_alone(region *function, void *data, const struct share *first,
                      uintptr_t *reductions)
{
    struct member *member = self();
    const struct member before = *member;

    *member = begin_member(&before, &before);
    member->n_region = before.n_region;
    member->level = before.level + 1;
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

// The region begins with a loop's next chunk.
static void enter_first_loop(void *data)
{
    openmp_enter_first(&team.first);
    ((region *)team.first.copied)(data);
}

// Whose region the team runs: no mutex, since threads are held for a checkpoint in regions.
static int take_team(void)
{
    int is_free;

    front_lock(&team_mutex);
    is_free = !team.is_busy;
    team.is_busy = 1;
    front_unlock(&team_mutex);
    return is_free;
}

static void give_team_back(void)
{
    front_lock(&team_mutex);
    team.is_busy = 0;
    front_unlock(&team_mutex);
}

// By who has taken the team, and gives it back.
static void run_team(region *function, void *data, unsigned n)
{
    const struct member leader = *self();
    struct front_locals_loan loan;

    widen_pool(n);
    team.n = n;
    team.function = function;
    team.data = data;
    team.leader = &leader;
    openmp_clear_cancelled();
    if (openmp_begin_tasks != NULL) {
        openmp_begin_tasks(n);
    }
    FRONT_2(tm_barrier_init, &inner, n);
    front_lend_locals(&loan, team.data);
    meet(&docks[team.dock]);
    run_part(self(), function, data);
    meet(&docks[team.dock]);
    front_end_locals(&loan);
    openmp_clear_shares();
    give_team_back();
}

static int gets_team(unsigned n)
{
    return self()->n_region == 0 && n > 1 && take_team();
}

static unsigned choose_size(unsigned n)
{
    const unsigned limit = self()->thread_limit;

    n = n == 0 ? openmp_wanted() : n;
    return limit > 0 && n > limit ? limit : n;
}

unsigned openmp_run(region *function, void *data, unsigned n,
                    const struct share *first, uintptr_t *reductions)
{
    n = choose_size(n);
    if (!gets_team(n)) {
        run_alone(function, data, first, reductions);
        return 1;
    }
    team.reductions = reductions;
    if (reductions != NULL) {
        team.room = openmp_reductions_room(reductions, n);
    }
    if (first != NULL) {
        team.first = *first;
        team.first.copied = (void *)function;
        function = enter_first_loop;
    }
    run_team(function, data, n);
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
        meet(&inner);
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

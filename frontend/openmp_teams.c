// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's teams, and the threads that run them.
//
// The usual team is that of regions within no other: its threads stay, and wait at `docks` for
// the next region, where a barrier lets them all begin and end. There is one of these.
//
// A region within a region, if that is wanted (max-active-levels-var), and one that a thread
// begins while another has the usual team, gets a team of its own: threads that are idle, or
// new ones. Each waits at a semaphore for the next team. Such teams and their threads are kept for
// the next one when a region has ended.
#include "openmp.h"

#include "front.h"

#include <pthread.h>
#include <string.h>

enum { PAGE = OPENMP_HINTS * sizeof(unsigned) };

/** A thread that runs parts of regions, of the teams that are not the usual one. */
struct worker {
    struct worker *next; // of the same team, or that is idle
    struct team *team;
    unsigned number;
    tm_sem begins;
};

static TM_SHARED struct team usual_team;
static TM_SHARED struct {
    unsigned n;    // threads of it that there are; 0: not yet
    int is_busy;   // with a region
    unsigned dock; // where its threads wait
} usual;
static tm_barrier docks[2];

static TM_SHARED struct {
    struct team *teams;
    struct worker *workers;
} spare;

static tm_mutex teams_mutex; // of what is spare, and of is_busy

extern __typeof__(pthread_create) tmf_pthread_create;

static void meet(tm_barrier *barrier)
{
    FRONT_1(tm_barrier_wait, barrier);
}

static void create_thread(void *(*function)(void *), void *argument)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    if (openmp_stack_size() > 0) {
        (void)!pthread_attr_setstacksize(&attr, openmp_stack_size());
    }
    if (tmf_pthread_create(&thread, &attr, function, argument) != 0) {
        front_fatal("OpenMP: no thread is left");
    }
    pthread_attr_destroy(&attr);
}

// ---- the usual team

static void *work_usually(void *argument)
{
    const unsigned number = (unsigned)(long)argument;
    unsigned dock = usual.dock;

    for (;;) {
        meet(&docks[dock]);
        if (usual.dock != dock) { // there are to be more threads
            dock = usual.dock;
            continue;
        }
        if (number < usual_team.n) {
            openmp_run_part(&usual_team, number);
        }
        meet(&docks[dock]);
    }
    return NULL;
}

// All wait for the other dock then, which has room for the new ones.
static void widen_usual(unsigned n)
{
    const unsigned before = usual.dock;

    if (n <= usual.n) {
        return;
    }
    FRONT_2(tm_barrier_init, &docks[1 - before], n);
    usual.dock = 1 - before;
    if (usual.n > 1) {
        meet(&docks[before]);
    }
    for (unsigned i = usual.n == 0 ? 1 : usual.n; i < n; i++) {
        create_thread(work_usually, (void *)(long)i);
    }
    usual.n = n;
}

static void run_usual(void)
{
    widen_usual(usual_team.n);
    meet(&docks[usual.dock]);
    openmp_run_part(&usual_team, 0);
    meet(&docks[usual.dock]);
}

// ---- other teams

static void *new_memory(size_t size)
{
    void *block = front_new_block(size, PAGE);

    if (block == NULL) {
        front_fatal("OpenMP: no memory for a team");
    }
    return memset(block, 0, size);
}

static void *allocate_sequential(size_t size)
{
    static const tm_alloc_attr attr = {.name = "hints",
                                       .protocol = TM_SEQUENTIAL};

    return tm_alloc(size, &attr);
}

unsigned *openmp_new_hints(void)
{
    unsigned *hints = (unsigned *)FRONT_1(allocate_sequential, PAGE);

    if (hints == NULL) {
        front_fatal("OpenMP: no memory for a team");
    }
    return memset(hints, 0, PAGE);
}

// When all have met at its end the team is its leader's, and so is this.
static void *work_for_any(void *argument)
{
    struct worker *worker = argument;

    for (;;) {
        FRONT_1(tm_sem_wait, &worker->begins);
        openmp_run_part(worker->team, worker->number);
        meet(&worker->team->end);
    }
    return NULL;
}

static struct worker *take_idle(void)
{
    struct worker *worker;

    front_lock(&teams_mutex);
    worker = spare.workers;
    if (worker != NULL) {
        spare.workers = worker->next;
    }
    front_unlock(&teams_mutex);
    return worker;
}

static struct worker *new_worker(void)
{
    struct worker *worker = new_memory(sizeof *worker);

    FRONT_2(tm_sem_init, &worker->begins, 0);
    create_thread(work_for_any, worker);
    return worker;
}

static struct worker *begin_worker(struct team *team, unsigned number)
{
    struct worker *worker = take_idle();

    worker = worker == NULL ? new_worker() : worker;
    worker->next = NULL;
    worker->team = team;
    worker->number = number;
    FRONT_1(tm_sem_post, &worker->begins);
    return worker;
}

static void run_other(struct team *team)
{
    struct worker **last = &team->workers;

    FRONT_2(tm_barrier_init, &team->end, team->n);
    for (unsigned i = 1; i < team->n; i++) {
        *last = begin_worker(team, i);
        last = &(*last)->next;
    }
    openmp_run_part(team, 0);
    meet(&team->end);
}

void openmp_run_all(struct team *team)
{
    if (team == &usual_team) {
        run_usual();
    } else {
        run_other(team);
    }
}

// ---- whose they are

// How many threads a region gets. REQUIRES(teams_mutex)
static unsigned limited(const struct member *leader, unsigned n)
{
    const unsigned limit = leader->icvs.thread_limit;
    const unsigned before = *leader->n_counted;
    const unsigned left = limit > before ? limit - before : 1;

    return limit > 0 && n > left ? left : n;
}

// REQUIRES(teams_mutex)
static bool is_usual(const struct member *leader)
{
    return leader->team == NULL && !usual.is_busy;
}

// REQUIRES(teams_mutex). @return NULL: there is none
static struct team *find_team(const struct member *leader)
{
    struct team *team = spare.teams;

    if (is_usual(leader)) {
        usual.is_busy = 1;
        return &usual_team;
    }
    if (team != NULL) {
        spare.teams = team->next;
    }
    return team;
}

static unsigned wanted_size(const struct member *leader, unsigned n)
{
    const unsigned active_level =
        leader->team == NULL ? 0 : leader->team->active_level;

    if (active_level >= leader->icvs.max_active_levels) {
        return 1;
    }
    return n == 0 ? leader->icvs.n_threads : n;
}

static void begin_region(struct team *team)
{
    if (team->counters == NULL) {
        team->counters = (union counter *)openmp_new_hints();
    }
    team->n_regions++;
}

struct team *openmp_take_team(const struct member *leader, unsigned n)
{
    struct team *team;

    n = wanted_size(leader, n);
    if (n == 1) {
        return NULL;
    }
    front_lock(&teams_mutex);
    n = limited(leader, n);
    team = n == 1 ? NULL : find_team(leader);
    *leader->n_counted += n - 1;
    front_unlock(&teams_mutex);
    if (n > 1) {
        team = team == NULL ? new_memory(sizeof *team) : team;
        team->n = n;
        begin_region(team);
    }
    return team;
}

static struct worker **end_of_list(struct worker **list)
{
    while (*list != NULL) {
        list = &(*list)->next;
    }
    return list;
}

void openmp_give_team_back(const struct member *leader, struct team *team)
{
    front_lock(&teams_mutex);
    *leader->n_counted -= team->n - 1;
    if (team == &usual_team) {
        usual.is_busy = 0;
    } else {
        *end_of_list(&team->workers) = spare.workers;
        spare.workers = team->workers;
        team->workers = NULL;
        team->next = spare.teams;
        spare.teams = team;
    }
    front_unlock(&teams_mutex);
}

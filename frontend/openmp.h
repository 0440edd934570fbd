// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_OPENMP_H
#define FRONTEND_OPENMP_H

#include "front.h"

#include <stdbool.h>

/* What OpenMP's files share: regions (openmp.c), teams (openmp_teams.c), worksharing (openmp_loops.c, openmp_across.c), tasks
 * (openmp_tasks.c, openmp_queues.c, openmp_depend.c), their reductions
 * (openmp_reductions.c), cancellation (openmp_cancel.c), devices (openmp_device.c) and
 * library calls (openmp_calls.c, openmp_environment.c). All in the program's context. */

typedef void region(void *data);

/** As omp_sched_t has them. */
enum schedule { STATIC = 1, DYNAMIC = 2, GUIDED = 3, AUTO = 4 };

/** Memory that a construct has for all its threads. */
enum { FOR_REDUCTIONS, FOR_PROGRAM, FOR_POSTS, N_BLOCKS };

/** The number of omp_default_mem_alloc. */
enum { STANDARD_ALLOCATOR = 1 };

/** Internal control variables of a task: what calls of the library ask and set. */
struct icvs {
    unsigned n_threads; ///< of a region that names no number
    unsigned
        max_active_levels; ///< regions with several threads within each other
    unsigned thread_limit; ///< threads of all regions; 0: none is named
    enum schedule kind;    ///< schedule(runtime)
    unsigned long chunk;   ///< 0: none is named
    uintptr_t allocator;   ///< def-allocator-var: openmp_memory.c
    bool is_dynamic; ///< regions have as many threads as they want all the same
};

/** A loop, sections or a single that threads share out. */
struct share {
    long number; ///< of the construct
    unsigned long next;
    unsigned long end;
    unsigned long step; ///< of the loop's variable; may be a negative number
    unsigned long chunk;
    enum schedule kind;
    int is_down;
    int is_unsigned;    ///< its variable
    long n_taken;       ///< chunks of it, if they are not static
    long turn;          ///< which of them is in order now
    unsigned n_left;    ///< threads that have left it
    unsigned n_waiting; ///< threads that want its place
    unsigned n_counts;  ///< loops of one whose iterations wait for others
    void *copied;
    size_t block_size[N_BLOCKS];
    void *block[N_BLOCKS];
};

/** The constructs that a team is in: openmp_loops.c. */
enum { RING = 64 };
struct ring {
    struct share share[RING];
    tm_mutex mutex[RING];
    tm_cond cond[RING];
};

/** What has been cancelled of a team, or of a region with one thread. */
struct cancelled {
    int is_region;
    long construct; ///< barriers before the end of the one; 0: none
};

/** A team's barrier if it can be cancelled: openmp_cancel.c. */
struct gate {
    struct cancelled cancelled;
    unsigned n_waiting;
    long n_opened;
    tm_cond cond;
};

/** Several threads that run a region together; in shared memory. Who begins the region sets
 * it up. */
struct team {
    unsigned n;
    unsigned level;              ///< regions that its threads are in
    unsigned active_level;       ///< those of them that have several threads
    const struct member *leader; ///< who has begun it, as it was before
    region *function;
    void *data;
    bool has_loop; ///< it begins with this one
    struct share loop;
    uintptr_t *reductions; ///< of its tasks, or NULL
    void *room;            ///< theirs
    struct gate gate;
    unsigned *is_awaited;    ///< hints, by threads: openmp_across.c; or NULL
    unsigned *has_cancelled; ///< a hint: something; NULL: no region asked yet
    struct task_pool
        *pool;          ///< openmp_queues.c; NULL: no region of it had tasks
    tm_barrier barrier; ///< within the region
    tm_barrier end;     ///< of the region; of all teams but the usual one
    union counter *counters; ///< RING hints: openmp_chunks.c
    unsigned n_regions;      ///< that it has run
    struct worker *workers;  ///< likewise: all but the leader
    struct team *next;       ///< of those that are not used
    struct ring ring;
};

/** A task, or what a thread runs of a region itself, or a group of tasks: a task's children
 * are those that it makes while it is in no group, a group's those that are made in it. */
struct task {
    struct task *parent; ///< NULL: what a thread runs itself
    unsigned depth;      ///< how many are above it
    unsigned home;       ///< who runs the parent, and has made this one
    bool is_group;
    bool is_cancelled; ///< a group; of openmp_cancel.c's mutex
    bool is_final;
    bool is_copied; ///< what it is given, by a function of the program's
    bool is_large;  ///< its block is of no queue's
    region *function;
    void *data;
    uintptr_t *reductions; ///< the innermost, where it was made
    struct icvs icvs;      ///< those of who has made it

    // Of who runs it.
    bool has_children; ///< or has had some since it last waited for them

    // Of the mutex of who runs it.
    unsigned n_children; ///< that have not ended
    bool is_waiting;     ///< for them
    struct openmp_event *events;
    struct task *latest;   ///< of its children that others may wait for
    unsigned n_dependents; ///< how many these are

    // Of the mutex of the queue that it is in.
    struct task *older;
    struct task *newer;

    // Of the mutex of its home: openmp_depend.c.
    struct dependence *dependences;
    unsigned n_dependences;
    unsigned n_awaited; ///< dependences on earlier ones that have not ended
    bool is_at_once;    ///< its maker waits for these
    struct edge *successors;
    struct task *earlier;
    struct task *later;
};

/** Which of how many threads. */
struct rank {
    unsigned number;
    unsigned n;
};

/** What a thread knows of itself and its team; shared. */
struct member {
    struct team *team; ///< the innermost that it is of; NULL: of none
    unsigned number;   ///< in that team
    unsigned n;        ///< threads of the innermost region
    unsigned level;    ///< regions that it is in
    struct icvs icvs;  ///< of the task that it runs
    long n_shares;
    long n_done;   ///< of them, those that all have left: before a barrier
    long n_chunks; ///< that it has taken of its share
    struct share *share;
    struct share loop;     ///< as it began, if nobody waits for its chunks:
                           ///< openmp_chunks.c
    long ticket;           ///< of its chunk of an ordered loop
    struct across *across; ///< of a loop whose iterations wait; or NULL
    struct front_locals_loan copied;
    uintptr_t *reductions; ///< the innermost; openmp_reductions.c
    long n_barriers;       ///< of the region that it has passed
    struct cancelled alone;
    struct task *task; ///< that it runs; NULL: it has not asked yet
    struct task base;  ///< what it runs itself, if it has no team
    unsigned n_teams;  ///< of a league; 0: there is none
    unsigned team_number;
    unsigned *n_counted; ///< threads of regions that its limit is of (its
                         ///< contention group), but for those that began them
    struct rank shown;   ///< when it last was told where it runs
};

#define NOTHING(name)                                                          \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
    }

/** Of the calling thread. */
struct member *openmp_self(void);

/** Which of the threads of its innermost region a member is. */
static inline unsigned openmp_index(const struct member *member)
{
    return member->n > 1 ? member->number : 0;
}

/** Of who has begun the region that a member is in, or the member itself, at a level. */
struct rank openmp_rank(const struct member *member, unsigned level);

/** Run a region.
 * @param n  threads; 0: as many as are wanted
 * @param first  the loop that it begins with, or NULL
 * @param reductions  those of its tasks, or NULL
 * @return threads that it had */
unsigned openmp_run(region *function, void *data, unsigned n,
                    const struct share *first, uintptr_t *reductions);

/** Run one thread's part of the team's region. */
void openmp_run_part(struct team *team, unsigned number);

/** Wait for all of the team. @return has the region been cancelled? */
bool openmp_meet(void);

/** The same; what the caller has lent for copyprivate is its own again. */
bool openmp_barrier(void);

// ---- openmp_teams.c

/** A team for a region that `leader` begins, whose it is until it is given back.
 * @param n  threads that are wanted; 0: as many as is usual
 * @return NULL: the region has one thread */
struct team *openmp_take_team(const struct member *leader, unsigned n);
void openmp_give_team_back(const struct member *leader, struct team *team);

/** Let its threads run their parts, and the caller the first one; until all have. */
void openmp_run_all(struct team *team);

/** Numbers, zeros, that are read without a mutex, by threads of all nodes, and are seen at
 * once when they have been set: in sequential memory, a page. */
enum { OPENMP_HINTS = 1024 };
unsigned *openmp_new_hints(void);

static inline void openmp_set_hint(unsigned *hint, unsigned value)
{
    __atomic_store_n(hint, value, __ATOMIC_SEQ_CST);
}

static inline unsigned openmp_read_hint(const unsigned *hint)
{
    return __atomic_load_n(hint, __ATOMIC_SEQ_CST);
}

// ---- openmp_loops.c

/** A region has ended, of a team or of one thread; it begins with this loop. */
void openmp_clear_shares(struct team *team);
void openmp_enter_first(const struct share *settings);
void openmp_leave_shares(struct member *member);

// ---- openmp_across.c, which a program without such loops has not

/** A region begins; by who begins it, alone. */
void openmp_begin_across(struct team *team) __attribute__((weak));

// ---- openmp_environment.c

/** Those of a thread that is in no region. */
struct icvs openmp_initial(void);

/** Those of the tasks of a region. @param outer  of who begins it, in so many regions */
struct icvs openmp_inner(const struct icvs *outer, unsigned level);

/** Most regions with several threads within each other. */
enum { ACTIVE_LEVELS_MAX = 255 };

/** OMP_STACKSIZE, in bytes; 0: none is named. */
size_t openmp_stack_size(void);

/** OMP_CANCELLATION. */
int openmp_can_cancel(void);

// ---- openmp_affinity.c

/** OMP_AFFINITY_FORMAT, or what was set; OMP_DISPLAY_AFFINITY. */
const char *openmp_affinity_format(void);
bool openmp_shows_affinity(void);

/** Show on standard error where the caller runs. @param format  NULL: the usual one */
void omp_display_affinity(const char *format);

// ---- openmp_tasks.c

/* What a program without tasks has not, and does not pay for: NULL then. */

/** A region begins; by who begins it, alone. */
void openmp_begin_tasks(struct team *team) __attribute__((weak));

/** A barrier, or the end of a region: run tasks until all of the team have ended. */
void openmp_finish_tasks(void) __attribute__((weak));

/** Wait for the caller's children that it would have to wait for if it were a task. */
void openmp_wait_for_depend(void **depend) __attribute__((weak));

/** The region is cancelled: who sleeps looks again. */
void openmp_wake_all(const struct team *team) __attribute__((weak));

// ---- openmp_reductions.c

/** Room for n threads, zeros. */
void *openmp_reductions_room(const uintptr_t *data, unsigned n);
size_t openmp_reductions_size(const uintptr_t *data, unsigned n);

/** They have no room: the loop that they are of has no steps. */
void openmp_reductions_without_room(uintptr_t *data);

/** They are the caller's innermost, in this room. */
void openmp_enter_reductions(uintptr_t *data, void *room, unsigned n);

/** The same for a loop of tasks. */
void GOMP_taskgroup_reduction_register(uintptr_t *data);

// ---- openmp_device.c

/** Teams of a league that names no number; 0: nothing was said. Setting that.
 * @param usual  if nothing was said */
unsigned openmp_teams(unsigned usual);
void openmp_want_teams(unsigned n);

/** Threads that regions of a league's team may have; 0: any number. */
unsigned openmp_teams_limit(void);
void openmp_limit_teams(unsigned n);

// ---- openmp_cancel.c

/** A region of the team begins. */
void openmp_clear_cancelled(struct team *team);

/** A barrier that ends when the region is cancelled. @return has it been? */
bool openmp_meet_or_leave(struct member *member);

/** Is the caller not to begin another task? */
bool openmp_is_task_cancelled(void);

/** Has the caller's region been cancelled? */
bool openmp_is_region_cancelled(void);

#endif

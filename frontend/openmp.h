// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_OPENMP_H
#define FRONTEND_OPENMP_H

#include "front.h"

#include <stdbool.h>

/* What OpenMP's files share: regions (openmp.c), worksharing (openmp_loops.c), tasks
 * (openmp_tasks.c, openmp_queues.c, openmp_depend.c), their reductions
 * (openmp_reductions.c), cancellation (openmp_cancel.c), devices (openmp_device.c) and
 * library calls (openmp_calls.c, openmp_environment.c). All in the program's context. */

typedef void region(void *data);

/** As omp_sched_t has them. */
enum schedule { STATIC = 1, DYNAMIC = 2, GUIDED = 3, AUTO = 4 };

/** Memory that a construct has for all its threads. */
enum { FOR_REDUCTIONS, FOR_PROGRAM, FOR_POSTS, N_BLOCKS };

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

/** What has been cancelled of a team, or of a region with one thread. */
struct cancelled {
    int is_region;
    long construct; ///< barriers before the end of the one; 0: none
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

/** What a thread knows of itself and its team; shared. */
struct member {
    unsigned number;
    unsigned n; ///< of the team
    unsigned
        n_region; ///< threads of the team's region that it is in; 0: in none
    int level;    ///< regions that it is in
    long n_shares;
    long n_done;   ///< of them, those that all have left: before a barrier
    long n_chunks; ///< that it has taken of its share
    struct share *share;
    long ticket; ///< of its chunk of an ordered loop
    struct front_locals_loan copied;
    uintptr_t *reductions; ///< the innermost; openmp_reductions.c
    long n_barriers;       ///< of the region that it has passed
    struct cancelled alone;
    struct task *task; ///< that it runs; NULL: it has not asked yet
    struct task base;  ///< what it runs itself, if it has no team
    unsigned n_teams;  ///< of a league; 0: there is none
    unsigned team_number;
    unsigned thread_limit; ///< of it; 0: none is named
};

#define NOTHING(name)                                                          \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
    }

/** Of the calling thread. */
struct member *openmp_self(void);

/** Which of its team's threads a member is: a region within a region has one. */
static inline unsigned openmp_index(const struct member *member)
{
    return member->n > 1 ? member->number : 0;
}

/** Run a region.
 * @param n  threads; 0: as many as are wanted
 * @param first  the loop that it begins with, or NULL
 * @param reductions  those of its tasks, or NULL
 * @return threads that it had */
unsigned openmp_run(region *function, void *data, unsigned n,
                    const struct share *first, uintptr_t *reductions);

/** Wait for all of the team. @return has the region been cancelled? */
bool openmp_meet(void);

/** The same; what the caller has lent for copyprivate is its own again. */
bool openmp_barrier(void);

// ---- openmp_loops.c

/** A region begins: no construct is set up; it begins with this loop; it has ended. */
void openmp_clear_shares(void);
void openmp_enter_first(const struct share *settings);
void openmp_leave_shares(struct member *member);

// ---- openmp_environment.c

/** Threads of a region that names no number; setting that. */
unsigned openmp_wanted(void);
void openmp_want(unsigned n);

/** schedule(runtime). @param chunk  0: none is named */
void openmp_set_schedule(enum schedule kind, unsigned long chunk);
enum schedule openmp_schedule(unsigned long *chunk);

/** OMP_STACKSIZE, in bytes; 0: none is named. */
size_t openmp_stack_size(void);

/** OMP_CANCELLATION. */
int openmp_can_cancel(void);

// ---- openmp_tasks.c

/* What a program without tasks has not, and does not pay for: NULL then. */

/** A region of n threads begins; by its first one, alone. */
void openmp_begin_tasks(unsigned n) __attribute__((weak));

/** A barrier, or the end of a region: run tasks until all of the team have ended. */
void openmp_finish_tasks(void) __attribute__((weak));

/** Wait for the caller's children that it would have to wait for if it were a task. */
void openmp_wait_for_depend(void **depend) __attribute__((weak));

/** The region is cancelled: who sleeps looks again. */
void openmp_wake_all(void) __attribute__((weak));

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

/** Threads that a region of a team may have; 0: any number. */
unsigned openmp_teams_limit(void);
void openmp_limit_teams(unsigned n);

// ---- openmp_cancel.c

/** A region of the team begins. */
void openmp_clear_cancelled(void);

/** A barrier that ends when the region is cancelled. @return has it been? */
bool openmp_meet_or_leave(const struct member *member);

/** Is the caller not to begin another task? */
bool openmp_is_task_cancelled(void);

/** Has the caller's region been cancelled? */
bool openmp_is_region_cancelled(void);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_TASKING_H
#define RUNTIME_TASKING_H

#include <stdatomic.h>

#include "base/mutex.h"
#include "base/table.h"
#include "tasks/tasks.h"

struct node;
struct thread;

/** The most runners of a node: threads that nobody but this part knows of. Their slots are
 * behind those of the program's threads. */
#define RUNNERS_MAX 256u

/** What the number of a runner has, as a thread, and no other's. */
#define RUNNER_BIT (UINT64_C(1) << 63)

/** The number of a thread: is it a runner? */
static inline int tasking_is_runner(uint64_t thread)
{
    return (thread & RUNNER_BIT) != 0;
}

/** A tm_group or loop that has been spawned into. */
struct open_group {
    struct family family;    ///< first: found from it
    uint64_t thread;         ///< whose it is
    uint64_t place;          ///< where that waits
    struct open_group *next; ///< of those that are waited for
    void *result;            ///< [family.value_size], of the program; or NULL
    unsigned char initial[]; ///< [family.value_size]
};

/** This node's tasks and who runs them: runners.c. */
struct tasking {
    struct tasks *tasks;
    struct mutex lock;         ///< guards the next two
    struct runner *idle;       ///< parked
    _Atomic unsigned n_idle;   ///< also read without it
    _Atomic unsigned *n_free;  ///< [n_workers] runners of it that run no task
    struct fetching *fetching; ///< [n_workers] each is its worker's alone
    _Atomic unsigned
        n_fetching_more; ///< runners that may wait for pages, beside one
    _Atomic int is_on;   ///< there are runners
    _Atomic int has_announced;
    _Atomic int wants_tick; ///< somebody is hungry, and there is a task

    // Guarded by the node lock.
    unsigned n_runners;
    uint8_t is_to_ask;      ///< idle runners are to ask other nodes anew
    uint8_t is_to_announce; ///< who has come has not heard that there are tasks
    struct open_group *waits;
    struct table loops; ///< struct loop_memory: loop_memory.c
    unsigned n_places;  ///< of loops whose pieces are placed
};

// ---- runners.c

/** The calling thread waits for a page, or has waited: if it is a runner, its worker
 * begins no task meanwhile. */
void tasking_fetch_begins(struct node *node, const struct thread *thread);
void tasking_fetch_ends(struct node *node, const struct thread *thread);

/** Run a task on the calling thread. It is gone afterwards. */
void tasking_run(struct node *node, struct task *task);

/** Give a task to whoever runs it: the calling worker's deques. Its family counts it
 * already; it may be gone when this returns. */
void tasking_push(struct node *node, struct task *task);

/** The calling thread waits until all tasks of its group have ended, and runs some. */
void tasking_wait(struct node *node, struct open_group *group);

/** The next line of "who waits for tasks": as sync_next_wait(). Node lock.
 * @param at  NULL before the first */
const struct open_group *tasking_next_wait(const struct node *node,
                                           const struct open_group *at,
                                           char *text, size_t size);

// ---- task_rules.c

/** End the program, if the caller is a task: these must not call the function. Under the
 * node lock. */
void tasking_forbid(struct node *node, const char *function);

// ---- task_calls.c

struct tm_group;

/** Spawn into a group of the caller's, which begins with that. @return as tm_spawn() */
tm_status tasking_spawn(struct node *node, tm_group *group,
                        void (*function)(void *), const void *argument,
                        size_t size, void *out);

/** The open group of a tm_group of the caller's, which begins now if it has not.
 * @return NULL  an attribute is out of range */
struct open_group *tasking_open(struct node *node, tm_group *group);

/** Wait for it, and set the program's results. It is gone afterwards. */
void tasking_close(struct node *node, tm_group *group);

/** May it be a group's, or a loop's? @param reduction  NULL: none */
int tasking_reduction_is_good(const tm_reduction *reduction);

/** A task of the caller's, or the caller, ends: is there a group that it has not waited for? That
 * ends the program. @param what  it has done */
void tasking_check_end(struct node *node, const struct thread *thread,
                       const char *what);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_OPENMP_TASKS_H
#define FRONTEND_OPENMP_TASKS_H

#include "openmp.h"

/* What the files of tasks share: making, running and waiting (openmp_tasks.c), queues and
 * sleep (openmp_queues.c), `depend` (openmp_depend.c). A team has a pool of tasks, in which
 * a thread of it is named by its index. */

struct task_pool;

/** Is it a child of `of`, or a child's, and so on? @param depth  of `of` */
bool task_is_within(const struct task *task, const struct task *of,
                    unsigned depth);

// ---- openmp_queues.c

/** The mutex of a thread of the team: of its queue, and of what tasks it runs. */
void queue_lock(struct task_pool *pool, unsigned index);
void queue_unlock(struct task_pool *pool, unsigned index);

/** What the thread runs of the region itself. */
struct task *queue_whole(struct task_pool *pool, unsigned index);

/** A record with room for so many bytes, which its data is; by the thread itself. */
struct task *queue_new(struct task_pool *pool, unsigned index, size_t size,
                       size_t alignment);

/** A task has ended that the caller has made; or another thread, whose mutex is held. */
void queue_keep(struct task_pool *pool, unsigned index, struct task *task);
void queue_give_back(struct task_pool *pool, unsigned home, struct task *task);

/** Has the thread so many tasks that the next one is to run at once? By itself. */
bool queue_is_full(struct task_pool *pool, unsigned index);

/** A task may be run by any thread. REQUIRES(queue_lock(pool, index)) */
void queue_put(struct task_pool *pool, unsigned index, struct task *task);

/** Take a task of the caller's queue, the newest; else of the others', the oldest.
 * @param n  threads of the team
 * @param of  it must be within; NULL: any, and more may come into the own queue
 * @return NULL: there is none */
struct task *queue_take(struct task_pool *pool, unsigned index, unsigned n,
                        const struct task *of);

/** The caller looks for tasks, and will sleep if there are none: from now on it is woken
 * when one is put that it accepts (NULL: any). */
void sleeper_enter(struct task_pool *pool, unsigned index,
                   const struct task *of);

/** It has found something to do. Or it sleeps until it is woken. */
void sleeper_leave(struct task_pool *pool, unsigned index);
void sleeper_sleep(struct task_pool *pool, unsigned index);

/** It may have what it waits for. */
void sleeper_wake(struct task_pool *pool, unsigned index);

/** A thread is at the barrier and has no task any more that is its own. @return phase */
long phase_arrive(struct task_pool *pool, unsigned n);

/** Are all there, so that all tasks have ended? */
bool phase_is_over(struct task_pool *pool, long phase);

// ---- openmp_depend.c

/** More children that others may wait for are not made: the next one is run at once. */
enum { DEPENDENTS_MAX = 256 };

/** The task whose children wait for each other. */
struct task *depend_owner(const struct task *task);

/** Note what a new task depends on; the list is as the compiler makes it. */
void depend_note(struct task *task, void **depend);

/** It comes behind its siblings. REQUIRES(the mutex of its home)
 * @return does it wait for none of them? */
bool depend_enter(struct task *task);

/** It has ended. REQUIRES(the mutex of its home)
 * @param[out] wakes_home  its home waits for a task to run it at once
 * @return those that wait for nothing now, each the `newer` of the next one */
struct task *depend_end(struct task *task, bool *wakes_home);

/** What was noted of it is not needed any more. */
void depend_forget(struct task *task);

#endif

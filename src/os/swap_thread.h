// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SWAP_THREAD_H
#define OS_SWAP_THREAD_H

#include <stdatomic.h>

#include "base/mutex.h"
#include "os/kthread.h"
#include "os/swap_engine.h"

/*
 * The kernel thread of an engine, tm-swap: jobs are handed to it in the order in
 * which they come. Inside of os/swap_*.c.
 */

struct swap_job_list {
    struct swap_job *first;
    struct swap_job **last; ///< where the next one is linked
};

struct swap_thread {
    // What the thread does with some jobs that have been posted, linked by `next`.
    void (*serve)(void *owner, struct swap_job *jobs);
    void *owner;
    pthread_t thread;
    _Atomic uint32_t posted; ///< counts what it is to notice; it sleeps on it

    // Guarded by the mutex.
    struct mutex mutex;
    struct swap_job_list todo;
    int is_closing;
};

void swap_jobs_init(struct swap_job_list *list);
void swap_jobs_put(struct swap_job_list *list, struct swap_job *job);

/** @return the first, NULL if there is none */
struct swap_job *swap_jobs_take(struct swap_job_list *list);

/** Start it. @return 0 or the errno for which that fails */
int swap_thread_open(struct swap_thread *thread,
                     void (*serve)(void *owner, struct swap_job *jobs),
                     void *owner);

/** Hand a job over. Context: any kernel thread; does not block. */
void swap_thread_post(struct swap_thread *thread, struct swap_job *job);

/** End it, after what has been posted. */
void swap_thread_close(struct swap_thread *thread);

#endif

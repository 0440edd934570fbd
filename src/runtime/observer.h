// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_OBSERVER_H
#define RUNTIME_OBSERVER_H

#include <pthread.h>

#include "observe/probe.h"
#include "observe/sample.h"

struct node;

/* The observer, a kernel thread of each node. */

#define OBSERVER_MAX_JOBS 16

typedef void observer_job(void *owner);

struct observer {
    pthread_t thread;
    _Atomic int is_stopping;
    _Atomic uint32_t alarms;   ///< it sleeps on this word
    _Atomic uint32_t has_left; ///< who stops it sleeps on this one
    struct node_sample sample; ///< single numbers may be read at any time
    struct memory_watch watch; ///< of the observer, once that runs
    int has_watch;

    // Guarded by the node lock.
    enum { OBSERVER_NONE, OBSERVER_RUNS, OBSERVER_ENDED } state;
    struct {
        observer_job *run;
        void *owner;
    } jobs[OBSERVER_MAX_JOBS];
    unsigned n_jobs;
};

/** Open `watch` unless it is: once, for the observer reads it. Before that runs, or
 * under the node lock. @return 0 if what says how much memory there is cannot be read */
int observer_has_watch(struct node *node);
/** Start the observer if it does not run. Under the node lock.
 * @return TM_OK, TM_ESTATE (it has ended), TM_ESYSTEM (logged) */
tm_status observer_start(struct node *node);
/** Have a function run on the observer thread, without any lock, after those asked
 * for before. Under the node lock; does not block. If it takes long it looks at
 * `is_stopping` ten times a second.
 * @return TM_OK
 * @return TM_ELIMIT  OBSERVER_MAX_JOBS wait already
 * @return TM_ESTATE, TM_ESYSTEM  as observer_start() */
tm_status observer_run(struct node *node, observer_job *job, void *owner);
/** In a job: sleep. @return 0 if it should end now */
int observer_sleep(struct node *node, uint64_t duration_ns);
/** End it. When this returns no job runs, and none will. Not under the node lock.
 * Waits for the job at hand, at most 2 s. */
void observer_stop(struct node *node);
/** The latest of this node's memory; see observe/sample.h. Any kernel thread. */
const struct node_sample *observer_sample(struct node *node);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_OBSERVER_H
#define RUNTIME_OBSERVER_H

#include <pthread.h>

#include "observe/probe.h"
#include "observe/sample.h"

/*
 * The observer, a kernel thread of each node: observer.c. And what nodes have to
 * offer: statics.c.
 */

#define OBSERVER_MAX_JOBS 8

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

/** What nodes have to offer. Guarded by the node lock. */
struct statics {
    struct node_statics *nodes; ///< [TM_MAX_NODES]; NULL: not known yet
    struct node_costs
        *costs; ///< [TM_MAX_NODES] at the root, as they come; zeros
    struct node_costs own;
    struct probe probe;
    unsigned n_measured; ///< parts of own that are
};

#endif

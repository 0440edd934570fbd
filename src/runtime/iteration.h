// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_ITERATION_H
#define RUNTIME_ITERATION_H

#include "runtime/threads.h"
#include "sync/sync.h"

struct node;

/** Which barriers end an iteration. */
enum iteration_mode {
    ITERATION_OFF,     ///< nobody wants to know
    ITERATION_SEARCH,  ///< not known: the root is told of every barrier
    ITERATION_MARKED,  ///< those of tm_iteration_end()
    ITERATION_PERIOD,  ///< those that `period` and `phase` say
    ITERATION_UNKNOWN, ///< none, until the program calls tm_iteration_end()
};

/** This node's iterations. Guarded by the node lock. */
struct iteration {
    enum iteration_mode mode;
    uint64_t period;
    uint64_t phase;
    struct arrival *arrivals; ///< [n_room] n_arrivals not reported yet
    uint32_t n_arrivals;
    uint32_t n_room;
    int is_reported;   ///< n_arrivals are told already
    int is_marked;     ///< they end an iteration
    int was_marked;    ///< those reported last did
    uint64_t began_ns; ///< the last barrier was passed, or sent
    uint64_t busy_ns;  ///< without the waits at barriers, since the report
    uint64_t *wall_ns; ///< [n_workers] in threads, when they last reported
    uint64_t arrived_ns;
    uint64_t release_ns;               ///< of it, releases at barriers
    uint64_t sent_bytes[TM_MAX_NODES]; ///< to each node, since the report
    uint32_t n_barriers; ///< passed since the last end of an iteration
    uint32_t n_in_last;  ///< in the last whole iteration, its end included
    int is_ending;       ///< threads have arrived where one ends
    uint64_t n_ended;    ///< that threads here have taken part in
    uint64_t started_ns;
    uint64_t n_probed; ///< calls of iteration_probe()
    uint64_t clock_ns; ///< what it takes to read the clock that these read
    uint64_t
        spent_ns; ///< processor time on all this and the scheme, but for plans
};

/** What the scheme costs, by processor time: one in some calls is measured, and stands
 * for all. @return for iteration_probe_end() on the same kernel thread */
uint64_t iteration_probe(struct node *node);
void iteration_probe_end(struct node *node, uint64_t began_ns);

/** Begin to take part in the distribution of threads. */
void iteration_start(struct node *node);
/** The calling thread is about to arrive at a barrier. Under the node lock.
 * @return 1 if that ends an iteration: the thread may move after it */
int iteration_note(struct node *node, struct thread *thread, uint64_t key,
                   enum sync_arrival kind);
/** @return the iterations that a thread has ended by tm_iteration_end(); with
 * --move-at=barriers 0 until the program calls that, and from then on a number that grows
 * by one with each. Under the node lock. */
uint64_t iteration_ended_by(const struct iteration *iteration,
                            const struct thread *thread);
/** The sync_ops.at_barrier. */
void iteration_at_barrier(void *owner, uint64_t key, enum sync_stage stage);
/** On the root: tell a node that has come which barriers end an iteration. */
void iteration_tell_mode(struct node *node, node_id id);
/** iteration_mode has arrived. */
void iteration_receive_mode(struct node *node, const struct message *message);

#endif

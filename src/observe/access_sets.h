// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_ACCESS_SETS_H
#define OBSERVE_ACCESS_SETS_H

#include "observe/access_set.h"

/*
 * The root's part of tracking: collects the access sets of all threads for one
 * round. Not thread-safe: node lock.
 */
struct access_sets;

/** What a node says at the end of a round. */
struct node_tracking {
    int is_done;        ///< it has said so
    int is_cancelled;   ///< it has given up: there are no sets of it
    uint64_t took_ns;   ///< the tracked iteration, 0: it took no part
    uint64_t before_ns; ///< the iteration before it, 0: not known
    uint64_t n_touches; ///< accesses that were caught
    uint64_t iteration; ///< which one was tracked, as its threads count
};

/** What is known of one thread. */
struct thread_accesses {
    uint64_t thread;
    node_id node; ///< where it was; the last one if it sent parts from two
    struct wire_access_run *runs; ///< [n_runs]
    size_t n_runs;
    size_t room;
    struct page_use *uses; ///< [n_uses], or NULL
    size_t n_uses;
};

/** @param round    what names it in messages
 *  @param n_pages  of the space: sets with others are refused
 *  @return NULL if memory is short */
struct access_sets *access_sets_new(uint32_t round, unsigned n_nodes,
                                    page_no n_pages);
/** One holder more, who calls access_sets_free() too. */
void access_sets_hold(struct access_sets *sets);
/** Of the last holder; who made them is the first. */
void access_sets_free(struct access_sets *sets);

/** As given to access_sets_new(). */
uint32_t access_sets_round(const struct access_sets *sets);

/**
 * A node sends a part of a thread's set; parts come in order.
 *
 * @param body  [size] runs
 * @return TM_OK
 * @return TM_EWIRE  the body makes no sense, or that node is done: nothing is
 *                   changed
 */
TM_CHECKED tm_status access_sets_add(struct access_sets *sets, node_id node,
                                     uint64_t thread, const void *body,
                                     uint32_t size);

/** A node has sent all. @return TM_OK, TM_EWIRE (it is done already) */
TM_CHECKED tm_status access_sets_done(struct access_sets *sets, node_id node,
                                      const struct node_tracking *said);

/** @return 1 if all nodes are done */
int access_sets_is_complete(const struct access_sets *sets);
/** @return 1 if all nodes are done and none has given up */
int access_sets_is_whole(const struct access_sets *sets);

/** What a node has said; all zero until then. */
const struct node_tracking *access_sets_node(const struct access_sets *sets,
                                             node_id node);

/** Threads that have a set, by their numbers once it is complete. */
uint32_t access_sets_n_threads(const struct access_sets *sets);
const struct thread_accesses *access_sets_at(const struct access_sets *sets,
                                             uint32_t index);

/** What is known of a thread, once it is complete; NULL: there is no set of it. */
const struct thread_accesses *access_sets_thread(const struct access_sets *sets,
                                                 uint64_t thread);

/** Make a list of pages for each thread, in order of first use, for
 * access_sets_find(). By one holder, once, when it is complete. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status access_sets_expand(struct access_sets *sets);

/** The pages that a thread uses. @param[out] n_uses
 *  @return [n_uses], the sets' own; NULL if there is no set of this thread
 *  Context: any thread, as long as the sets are not changed. */
const struct page_use *access_sets_find(const struct access_sets *sets,
                                        uint64_t thread, size_t *n_uses);

#endif

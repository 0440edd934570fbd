// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_MIGRATION_PAGES_H
#define RECONFIG_MIGRATION_PAGES_H

#include "pages/engine.h"
#include "reconfig/remap.h"

/*
 * Pages after a change of the mapping: what a thread that moves will use first
 * comes with it, and what a node's threads use no more leaves the node
 * ([Liu06] 4.3, the second subphase of reconfiguration). Called under the node
 * lock.
 */
struct migration_pages;

/** Pages that are told of a thread that moves, at most. The rest is fetched ahead
 * when the thread faults its way through memory. */
#define PAGES_SOON_MAX 1024u

/** @return NULL if memory is short. Port and engine must outlive it. */
struct migration_pages *migration_pages_new(const struct port *port,
                                            struct engine *engine);
void migration_pages_free(struct migration_pages *pages);

/** On the root: a thread is about to move.
 * @param uses  [n]  in order of first use; n may be 0 */
void migration_pages_announce(struct migration_pages *pages, node_id to,
                              uint64_t thread, const struct page_use *uses,
                              size_t n);

enum pages_stage {
    PAGES_HAVE_LEFT = 0, ///< all threads are where they should be
    PAGES_WILL_LEAVE = 1 ///< they have not been told yet
};

/** On the root: threads move, or have moved. Tells each node that threads leave
 * which pages its remaining and new threads do not use: first that they may go
 * along, then that nobody uses what has stayed. Nothing is sent of threads that were
 * not tracked, nor to nodes that have such threads.
 * @param plan  whose threads, and what they use; its nodes are the live ones of
 *              the port's roster, in their order
 * @param from  [plan->view.n_threads]  nodes before
 * @param to    [plan->view.n_threads]  and after; the plan's the other way round
 *              when it is taken back */
void migration_pages_withdraw(struct migration_pages *pages,
                              const struct remap *plan, const uint32_t *from,
                              const uint32_t *to, enum pages_stage stage);

/**
 * What has been announced of a thread that has not come yet.
 * @param[out] list  [PAGES_SOON_MAX]  pages in order of first use, as the root
 *                   has sent them
 * @return how many; PAGES_SOON_MAX: there may be more; 0: nobody knows
 */
size_t migration_pages_announced(const struct migration_pages *pages,
                                 uint64_t thread, page_no *list);

/** A thread has come to this node: fetch what was announced. */
void migration_pages_thread_arrived(struct migration_pages *pages,
                                    uint64_t thread);

/** pages_soon or pages_unused has come. @return TM_OK, TM_EWIRE */
tm_status migration_pages_receive(struct migration_pages *pages,
                                  const struct message *message);

/** Runs of adjacent pages: exposed for tests.
 * @param numbers  [n] sorted, each once
 * @param[out] run_n  length of the run that starts at numbers[at]
 * @return index behind the run */
size_t migration_pages_next_run(const uint64_t *numbers, size_t n, size_t at,
                                uint32_t *run_n);

#endif

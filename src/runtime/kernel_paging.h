// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_KERNEL_PAGING_H
#define RUNTIME_KERNEL_PAGING_H

#include "os/memory_watch.h"
#include "runtime/threads.h"

struct node;

/*
 * With --memory-by=kernel: what the kernel takes and brings, and pages that it is told
 * to take.
 */

/** What the kernel pages, with --memory-by=kernel: kernel_paging.c. Guarded by the
 * node lock. */
struct kernel_paging {
    uint64_t n_page_ins;
    uint64_t wait_ns;       ///< which that took
    uint64_t *major_faults; ///< [n_workers] + 1, as of their last arrivals
    uint64_t n_before;      ///< n_page_ins when the round began
    unsigned n_arrived;     ///< at barriers, in this round
    unsigned rounds_left;   ///< that memory is taken to be short for
};

/** Pages that have come in for a worker's threads and are to go, oldest first. */
struct passing_list {
    page_no *pages; ///< [n] of 2 * kernel_passing.window
    unsigned n;
};

/** Which pages pass through memory: kernel_passing.c. Guarded by the node lock. */
struct kernel_passing {
    uint32_t
        *turns; ///< [n_pages] who brought it in last; NULL: nothing is done
    struct memory_watch watch;
    struct passing_list *lists; ///< [n_workers]
    unsigned window;            ///< pages of a list that go together
    uint64_t polled_ns;         ///< free memory
    uint64_t n_may_stay;        ///< pages that come in and stay
    uint64_t n_told;            ///< pages that the kernel was told to page out
};

// ---- kernel_paging.c: all do nothing unless the kernel pages. Node lock.

/** Called when paging is opened, when all globals may be used, and when it is closed. */
void kernel_paging_open(struct node *node);
void kernel_paging_explain(struct node *node);
void kernel_paging_close(struct node *node);
/** A thread has faulted on a page of the space. To be asked before it is served.
 * @return 0, or the time: the kernel has taken the page */
uint64_t kernel_paging_began(struct node *node, page_no page, int is_write);
/** It is served. @param began_ns  what kernel_paging_began() said
 * @return how long the kernel took for it, ns */
uint64_t kernel_paging_ended(struct node *node, struct thread *thread,
                             page_no page, uint64_t began_ns);
/** A thread arrives at a barrier. On its worker. */
void kernel_paging_note_arrival(struct node *node, struct thread *thread);
/** The memory part of the node's numbers. */
void kernel_paging_stats(struct node *node, struct tm_node_stats *stats);

// ---- kernel_passing.c: all do nothing without kernel_passing_open(). Node lock.

void kernel_passing_open(struct node *node);
void kernel_passing_close(struct node *node);
/** A page that the kernel has taken is back for this thread, on its worker. */
void kernel_passing_came(struct node *node, const struct thread *thread,
                         page_no page);

#endif

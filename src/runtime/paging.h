// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PAGING_H
#define RUNTIME_PAGING_H

#include <stdatomic.h>

#include "mem/pager.h"
#include "observe/access_set.h"
#include "runtime/rounds.h"
#include "runtime/threads.h"

struct fault_paging;
struct node;

/*
 * A node that is short of memory: the pager at work, and what that costs each thread.
 * What the kernel pages is in kernel_paging.h.
 */

/** What too little memory costs a node. */
struct memory_use {
    uint64_t wait_ns; ///< a worker's waiting, on the average
    uint64_t out_ns;  ///< of it, until other pages had gone
    uint64_t n_pages; ///< that came in from the swap file, or again from others
    uint64_t n_gone;  ///< that went, to make room
    uint64_t budget;  ///< bytes for shared data now; 0: as many as at the start
};

/** The pager at work on this node: paging.c. Guarded by the node lock. */
struct paging {
    struct pager *pager; ///< NULL: there is no budget
    struct swap_file *swap;
    struct rounds rounds; ///< of its workers
    int is_kernels;       ///< the kernel pages: kernel_paging.c
    uint64_t first_pages; ///< the budget at the start
    uint64_t least_pages; ///< what a budget must be
    double part; ///< of what a control group leaves; 0: the budget is fixed
    double left_before;       ///< bytes for shared data at the last sample
    uint64_t n_samples;       ///< of the observer's, that it has followed
    int is_asked;             ///< the root is asked to track
    int is_learned;           ///< orders of use are known
    int has_swept;            ///< a round of threads is over
    int is_told;              ///< that there is far too little memory
    uint64_t ins_before;      ///< pages that had come in before this round
    _Atomic uint64_t wait_ns; ///< that too little memory has cost threads
    uint64_t out_ns;          ///< of it, until there was room
    struct memory_use told; ///< of these and the pager's, by paging_take_use()
};

/** Is there a budget? Without the lock, too. */
static inline int paging_is_on(const struct paging *paging)
{
    return paging->pager != NULL;
}

/** Is a fault to be asked what it has to do with memory: paging_admit(),
 * paging_note_result()? */
static inline int paging_follows_faults(const struct paging *paging)
{
    return paging_is_on(paging) || paging->is_kernels;
}

/** Threads that have left or ended, and what paging cost them here. Guarded by the
 * node lock. */
struct thread_paging {
    struct tm_paging_stats *rows; ///< [n] of `room`
    size_t n;
    size_t room;
};

// ---- paging.c: the pager at work

/** Pages that have come from the swap file since the start. Under the node lock. */
uint64_t paging_count_ins(struct node *node);

/** Give the pager back. */
void paging_close(struct node *node);
/** The calling thread has faulted at an instruction: wait until the page's bytes are in
 * memory, or there is room for them. Under the node lock, which is given back meanwhile.
 * @param fault  zeros; what that has cost is noted there */
void paging_admit(struct node *node, struct thread *thread,
                  uintptr_t instruction, page_no page, int is_write,
                  struct fault_paging *fault);
/** The fault has been served, or will be by another node. Under the node lock. */
void paging_note_result(struct node *node, struct thread *thread, page_no page,
                        enum fault_result result, struct fault_paging *fault);
/** It has waited for another node, and tries its instruction again. Under the node
 * lock. */
void paging_note_back(struct node *node, struct thread *thread);
/** A fault that came from memory being short has cost a thread this, with all
 * waiting. */
void paging_note_cost(struct node *node, struct thread *thread, uint64_t ns);
/** The swap file's descriptor is readable. Under the node lock. */
void paging_serve_disk(struct node *node);
/** Go on with what the disk has done. Under the node lock.
 * @return 1 if it should be called again soon */
int paging_poll(struct node *node);
/** -1, or a descriptor that is readable when paging_serve_disk() should be called. */
int paging_fd(struct node *node);
/** A thread arrives at a barrier. Under the node lock.
 * @return 1: when it goes on it should let others of its worker go first */
int paging_note_arrival(struct node *node, struct thread *thread);
/** What a thread uses, in which order, has been tracked. Of one that has used nothing
 * what was known before counts on. */
void paging_learn(struct node *node, const struct access_set *set);
/** What too little memory has cost all threads since the start; the budget is not told.
 * Under the node lock. */
void paging_total_use(struct node *node, struct memory_use *use);
/** What too little memory has cost since the last call. Under the node lock. */
void paging_take_use(struct node *node, struct memory_use *use);

// ---- budget.c: how much memory

/** @return bytes that a control group leaves for this node's shared data now; 0: none
 * limits it. When what all nodes have to offer is known. */
uint64_t budget_of_group(struct node *node);
/** If the budget is a group's, let it follow what that leaves. The service thread,
 * under the node lock. */
void budget_follow(struct node *node);
/** @return bytes, or 0 while they are what they were at the start. Under the node
 * lock. */
uint64_t budget_if_changed(struct node *node);

// ---- thread_paging.c: what too little memory costs each thread

/** A thread ends here or leaves. Under the node lock. */
void thread_paging_left(struct node *node, const struct thread *thread);
/** One of its messages has come. Under the node lock. */
void thread_paging_receive(struct node *node, node_id from,
                           const struct message *message);
/** For --stats: those that waited longest. */
void thread_paging_print(struct node *node);
void thread_paging_close(struct node *node);

#endif

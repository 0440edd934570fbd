// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_THREADS_H
#define RUNTIME_THREADS_H

#include <stdatomic.h>

#include "mem/pager.h"
#include "pages/engine.h"
#include "reconfig/migrate.h"
#include "runtime/rounds.h"
#include "sync/sync.h"
#include "ult/ult.h"

struct node;

/** What this node knows of a thread that is here. */
struct thread {
    uint64_t number;
    char name[16];
    struct ult *ult;
    struct fault_history history;
    uint64_t start; ///< the program's function and its argument
    uint64_t arg;
    uint64_t result;
    node_id target; ///< where it is to move; NODE_NONE: nowhere
    uint32_t moves; ///< how often it has moved
    uint64_t
        n_barriers; ///< that it has arrived at, or iterations it has ended: iteration.c
    uint64_t passed;   ///< of them, when it last went on from one: checkpoint.c
    int is_held;       ///< it stays there: checkpoint.c
    struct wait *join; ///< for the end of another; NULL: none
    int is_aside;      ///< it is held in that: checkpoint_hold.c
    uint64_t noted_ns; ///< its processor time at the last of them
    uint64_t handling_ns; ///< of which in handling faults, since then
    uint64_t n_faults;    ///< on this node
    int pages;            ///< its latest fault was for memory that is short
    uint64_t repeats;     ///< faults in a row at one place that changed nothing
    page_no last_page;
    uintptr_t place;     ///< return address of its latest call of ours
    const char *wrapped; ///< the C library's function that wrap.c does for it
    int is_walked;       ///< its frames are being walked: call_site.c
    uint64_t end_key;  ///< barrier that it waits at, if that ends an iteration
    uint64_t ended_ns; ///< when it was at such a one before, 0: not here
    uint64_t iteration_began_ns; ///< for the trace; 0: not known
    int is_tracked;              ///< it is in the iteration that is tracked
    struct round_place place_in_round; ///< paging.c
    struct pager_claims claims;        ///< the pager's
    struct family *family;             ///< of the task that it runs; NULL: none
    unsigned n_groups; ///< that it, or its task, has not waited for
    uint32_t turn;     ///< barriers that it has arrived at: kernel_passing.c
    // What too little memory has cost it on this node: thread_paging.c.
    _Atomic uint64_t page_ins;
    _Atomic uint64_t swap_ns;
    _Atomic uint64_t swap_out_ns; ///< of it, until there was room
};

/** The root says so: sync's callback. @return TM_OK, TM_EWIRE */
tm_status threads_start(void *owner, uint64_t number, uint64_t start,
                        uint64_t arg, const char *name);
int threads_set_target(void *owner, uint64_t number, node_id node);
/** The calling thread moves now if it is to. */
void threads_move_if_wanted(struct node *node);
/** Ask for a thread, here or elsewhere, to move. Does not wait for it. Under the node
 * lock. */
void threads_send(struct node *node, uint64_t number, node_id id);
/** A thread has come: reconfig's callback. @return TM_OK, TM_EWIRE */
tm_status threads_arrived(void *owner, const struct moved_thread *moved);
struct thread *thread_new(struct node *node, uint64_t number, const char *name);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_NODE_H
#define RUNTIME_NODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/mutex.h"
#include "base/options.h"
#include "base/tokens.h"
#include "cluster/bootstrap.h"
#include "cluster/failure_detector.h"
#include "mem/space.h"
#include "net/bundle.h"
#include "net/transport.h"
#include "os/descriptor_set.h"
#include "os/main_stack.h"
#include "os/trap.h"
#include "pages/engine.h"
#include "reconfig/chronicle.h"
#include "reconfig/migration_pages.h"
#include "reconfig/scheme.h"
#include "runtime/argument.h"
#include "runtime/attendance.h"
#include "runtime/buddies.h"
#include "runtime/checkpoint.h"
#include "runtime/cluster_capacity.h"
#include "runtime/cut_marks.h"
#include "runtime/deadlock.h"
#include "runtime/error_report.h"
#include "runtime/fault_lines.h"
#include "runtime/iteration.h"
#include "runtime/kernel_paging.h"
#include "runtime/liveness.h"
#include "runtime/members.h"
#include "runtime/meter.h"
#include "runtime/observer.h"
#include "runtime/outside.h"
#include "runtime/page_story.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/planned_faults.h"
#include "runtime/prepared.h"
#include "runtime/progress_told.h"
#include "runtime/race_reports.h"
#include "runtime/script.h"
#include "runtime/showing.h"
#include "runtime/tasking.h"
#include "runtime/tracking.h"
#include "runtime/tuning.h"
#include "sync/sync.h"
#include "ult/ult.h"

/*
 * This node: its state, whose parts have headers of their own, and what nearly every
 * file of this folder needs: the node lock, waiting, the calling thread.
 */

enum runtime_step {
    RUNTIME_NONE,
    RUNTIME_STARTING,
    RUNTIME_RUNNING,
    RUNTIME_ENDED,
    RUNTIME_FORKED, ///< this process is a child of a node: child.c
};

/** A node. */
struct node {
    _Atomic int step; ///< enum runtime_step: node_step()
    struct options options;
    struct bootstrap bootstrap;
    struct neighbours neighbours;
    node_id self;
    _Atomic unsigned n_nodes; ///< that there have been; members.c
    unsigned n_workers;
    const struct fault_source *fault_source;
    const struct transport *transport;

    /** The node lock: guards net, space, engine, sync, and what follows. */
    struct mutex lock;
    struct net *net;
    struct descriptor_set sockets; ///< that reach other hosts
    struct port port;
    struct members members;
    const struct part *const *parts;        ///< NULL behind the last: parts.c
    const struct part *part_of[OWNERS_END]; ///< messages; or NULL
    struct bundle bundle;                   ///< messages that are about to go
    uint64_t n_sent; ///< messages that membership_is_aside() does not name
    uint64_t n_received;
    /** Messages that were decoded and contradict what is known. */
    uint64_t n_refused;
    struct space space;
    struct engine *engine;
    struct paging paging;
    struct kernel_paging kernel_paging;
    struct kernel_passing kernel_passing;
    struct thread_paging thread_paging;
    struct sync *sync;
    struct migration *migration;
    struct iteration iteration;
    struct migration_pages *pages;
    struct scheme *scheme;           ///< on the root; NULL: threads stay
    struct chronicle *chronicle;     ///< likewise; NULL: no report is wanted
    struct access_sets *access_sets; ///< the root: of the latest round
    struct cluster_capacity capacity;
    struct tracking tracking;
    struct tasking tasking;
    struct tuning tuning;
    struct script_notes script;
    struct tokens calls;     ///< of runtime messages
    struct thread **threads; ///< [node_n_slots()]; NULL: not here
    uint64_t n_moved_in;
    uint64_t n_moved_out;
    uint64_t n_to_self; ///< messages to this node that were sent ...
    uint64_t activity;  ///< messages handled, but for the idle ones
    uint64_t shuffle_state;
    const struct tm_unchanged
        *unchanged; ///< the program; NULL: it was written for Teamster
    struct prepared prepared; ///< main(), until it waits
    struct checkpoint checkpoint;
    struct cut_marks cut_marks;
    struct outside outside; ///< of its memory
    struct buddies buddies;
    uint64_t
        layout_hash; ///< of the mappings and build-ids of the program and its libraries
    struct deadlock deadlock;
    struct freed_blocks freed;
    struct races races;
    struct failure_detector detector; ///< who is alive, if has_detector
    int has_detector;
    struct told told;                     ///< what the launcher knows
    struct showing showing;               ///< to who looks closely
    struct loss loss;                     ///< guarded by the node lock
    struct planned_faults planned_faults; ///< for tests
    struct event_ring *trace;             ///< NULL: none is wanted
    struct fault_lines *fault_lines;      ///< NULL: none are counted
    struct story_watch story;
    FILE *step_log; ///< for tests, or NULL: step_log.c

    struct ult_system *ult;
    struct observer observer;
    pthread_t service;
    void (*end_process)(
        struct node *node); ///< what the service thread does at the end
    int wake_fd;            ///< eventfd: wakes the service thread
    int has_worker_affinity; ///< workers prefer one processor (worker_affinity.c)
    struct attendance attendance; ///< who attends to the network
    _Atomic int is_stopping;
    _Atomic uint32_t is_frozen; ///< changed under the node lock
    struct meter meter;
    _Atomic uint64_t sync_ns;
    uint64_t start_ns;
    int pid;
    char **argv; ///< of main(), as it was called
    struct main_stack main_stack;
    struct argument_watch arguments; ///< of new threads
    _Atomic int is_finishing;        ///< changed under the node lock
    _Atomic pid_t ender; ///< kernel thread that ends the process; 0: none yet
    int exit_code;       ///< then: of this process; does not change any more
    _Atomic uintptr_t denied; ///< page of an access that is an error, and said
};

/** The one mutable global: this process is that node. For public functions and signal
 * handlers; all others are given it. */
extern struct node this_node;

/** How far this node is; also without the lock, and in a signal handler. Pairs with the
 * store in node_set_step(): who sees a step sees what was done before it. */
static inline enum runtime_step node_step(const struct node *node)
{
    return (enum runtime_step)atomic_load_explicit(&node->step,
                                                   memory_order_acquire);
}

static inline void node_set_step(struct node *node, enum runtime_step step)
{
    atomic_store_explicit(&node->step, (int)step, memory_order_release);
}

/** Is the run over for this node, by another's or the root's will? Also without the
 * lock. Pairs with the store in node_finish_soon(). */
static inline int node_is_finishing(const struct node *node)
{
    return atomic_load_explicit(&node->is_finishing, memory_order_acquire);
}

/** The calling kernel thread ends the process. */
static inline void node_note_ender(struct node *node)
{
    atomic_store_explicit(&node->ender, gettid(), memory_order_release);
}

/** If the run is over, and somebody ends the process (an unchanged program's, of whose threads
 * some may still run; or one that another node has ended): wait for that. Who ends it, and is in
 * what is called at its end, does so at once. */
void node_await_end(const struct node *node);

/** Do nodes come or go just now, so that this one must not begin anything? Changes
 * under the node lock only. */
static inline int node_is_frozen(const struct node *node)
{
    return atomic_load_explicit(&node->is_frozen, memory_order_relaxed) != 0;
}

// ---- page_fault.c

/** The trap_fn: an access was not allowed. */
int access_trap(void *owner, const struct trap *trap);

// ---- node.c: the node lock, waiting, what is sent

/** Take the node lock. While nodes come or go this waits until that is over. */
void node_enter(struct node *node);
/** The same to ask a node something. @return 0: there is no such node now, and the
 * lock is not taken */
int node_enter_to_ask(struct node *node, unsigned id);
/** The same for who serves others, and begins nothing: does not wait for that. */
void node_enter_serving(struct node *node);
/** Handle the messages that this node has sent itself meanwhile and what else
 * has arrived, and give the lock back. */
void node_leave(struct node *node);
/** From now on who calls node_enter() waits; or no longer. Under the node lock. */
void node_freeze(struct node *node, int is_frozen);
/** Do nodes come or go? Then nothing is begun that is for the nodes there are: the
 * scheme and its plans end with the roster. Under the node lock. */
int node_is_changing(struct node *node);
/** Have the service thread poll at once. Any thread; in a signal handler, too. */
void node_wake_service(struct node *node);
/** The run is over for this node: the service thread ends the process. Only the first
 * call counts. Under the node lock. @param exit_code  of this process */
void node_finish_soon(struct node *node, int exit_code);

/** A thread that waits for one wake-up, on its own stack. */
struct wait {
    struct waiter waiter;
    struct ult *ult;
    const char *call; ///< of the API: its name, for the trace
    _Atomic int is_done;
};

/** Prepare to wait; under the node lock or before it. */
void wait_init(struct wait *wait);
/** Has the answer come? */
int wait_is_over(const struct wait *wait);
/** Wait. may_switch as ult_park(). Not under the node lock. */
void wait_for(struct wait *wait, int may_switch);
/** Prepare to wait, and take the node lock: what is to wake the caller is asked next. */
void wait_begin(struct node *node, struct wait *wait);
/** The same for a call of sync, which may block: the caller's new threads start now. */
void wait_begin_call(struct node *node, struct wait *wait);
/** Then: give the node lock back, and wait. @return the waiter's status */
tm_status wait_end(struct node *node, struct wait *wait);
/** Make what this node has written known, and wait until it is. Not under the lock. */
void wait_for_release(struct node *node);

/** On a node that emulates a slow one: wait as long as that one would have
 * computed until now. Before the program does what other nodes may see. */
static inline void node_pay(const struct node *node)
{
    if (__builtin_expect(node->options.share < 1, 0)) {
        ult_pay();
    }
}

/** What work of so many nanoseconds counts as here: more, on such a node. */
static inline uint64_t node_slowed_ns(const struct node *node, uint64_t ns)
{
    return __builtin_expect(node->options.share < 1, 0)
               ? (uint64_t)((double)ns / node->options.share)
               : ns;
}

/* Slots of threads: 0 main(), 1 to max_threads the program's, then the clerk of checkpoints and
 * the runners of tasks. */
static inline unsigned node_clerk_slot(const struct node *node)
{
    return node->options.max_threads + 1;
}

/** @param i  0 to RUNNERS_MAX - 1 */
static inline unsigned node_runner_slot(const struct node *node, unsigned i)
{
    return node_clerk_slot(node) + 1 + i;
}

static inline unsigned node_n_slots(const struct node *node)
{
    return node_clerk_slot(node) + 1 + RUNNERS_MAX;
}

/** The calling thread's record, NULL outside threads. */
struct thread *thread_self(void);
/** A thread that is here, or NULL. Under the node lock. */
struct thread *thread_find(struct node *node, uint64_t number);

/** Calls of the API: TM_OK if the runtime runs and the caller is a thread, else
 * TM_ESTATE, logged with the function's name. Calls node_pay(), and notes where
 * the program calls: to be used in the public function itself, or inlined into it. */
#define CHECK_CALL(function)                                                   \
    check_call((function), (uintptr_t)__builtin_return_address(0))
tm_status check_call(const char *function, uintptr_t place);

tm_status node_open_port(struct node *node);

// ---- node_stats.c

/** This node's numbers. Under the node lock. */
void stats_collect(struct node *node, struct tm_node_stats *stats);

// ---- receive.c

/** The net_config.receive: a message has come. Under the node lock. */
void node_receive(void *owner, node_id from, const struct message *message);

#endif

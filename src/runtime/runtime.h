// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mutex.h"
#include "base/options.h"
#include "base/tokens.h"
#include "cluster/bootstrap.h"
#include "cluster/pulse.h"
#include "mem/space.h"
#include "net/transport.h"
#include "observe/access_sets.h"
#include "observe/track.h"
#include "os/death_watch.h"
#include "os/trap.h"
#include "proto/engine.h"
#include "reconfig/membership.h"
#include "reconfig/migrate.h"
#include "reconfig/pages.h"
#include "reconfig/scheme.h"
#include "runtime/observer.h"
#include "sync/sync.h"
#include "ult/ult.h"

/** What this node knows of a thread that is here. */
struct thread {
    uint64_t number;
    char name[16];
    struct ult *ult;
    struct fault_history history;
    uint64_t start; ///< the program's function and its argument
    uint64_t arg;
    uint64_t result;
    node_id target;      ///< where it is to move; NODE_NONE: nowhere
    uint32_t moves;      ///< how often it has moved
    uint64_t n_barriers; ///< that it has arrived at, or iterations it has ended
    uint64_t noted_ns;   ///< its processor time at the last of them
    uint64_t handling_ns; ///< of which in handling faults, since then
    uint64_t repeats;     ///< faults in a row at one place that changed nothing
    page_no last_page;
    uintptr_t place;     ///< return address of its latest call of ours
    const char *wrapped; ///< the C library's function that wrap.c does for it
    int is_walked;       ///< its frames are being walked: place.c
    uint64_t end_key;  ///< barrier that it waits at, if that ends an iteration
    uint64_t ended_ns; ///< when it was at such a one before, 0: not here
    int is_tracked;    ///< it is in the iteration that is tracked
    uint32_t round;    ///< of its worker that it is in: paging.c
    uint32_t turn;     ///< barriers that it has arrived at: kernel_passing.c
    // What too little memory has cost it on this node: thread_paging.c.
    _Atomic uint64_t page_ins;
    _Atomic uint64_t swap_ns;
    _Atomic uint64_t swap_out_ns; ///< of it, until there was room
};

/** Threads that have left or ended, and what paging cost them here. Guarded by the
 * node lock. */
struct thread_paging {
    struct tm_thread_stats *rows; ///< [n] of `room`
    size_t n;
    size_t room;
};

/** Which barriers end an iteration. */
enum iteration_mode {
    ITERATION_OFF,    ///< nobody wants to know
    ITERATION_SEARCH, ///< not known: the root is told of every barrier
    ITERATION_MARKED, ///< those of tm_iteration_end()
    ITERATION_PERIOD, ///< those that `period` and `phase` say
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
    uint64_t release_ns; ///< of it, releases at barriers
    int is_ending;       ///< threads have arrived where one ends
    uint64_t n_ended;    ///< that threads here have taken part in
    uint64_t started_ns;
    uint64_t n_probed; ///< calls of iteration_probe()
    uint64_t
        spent_ns; ///< processor time on all this and the scheme, but for plans
};

/** What the message `track` asks for. */
enum track_what { TRACK_BEGIN, TRACK_SOMEBODY_DONE, TRACK_GIVE_UP };

/** Called under the node lock when a round is over, with what has been found,
 * which belongs to it then: see access_sets_is_whole(). */
typedef void tracking_done_fn(void *owner, struct access_sets *sets);

/** Tracking on this node: tracking.c. Guarded by the node lock. */
struct tracking {
    _Atomic int is_on; ///< changed under the lock, and read without
    int is_armed;      ///< the next iteration is to be tracked
    int began_early;   ///< before the barrier opened here
    uint32_t round;    ///< that this is about
    struct track *track;
    uint64_t began_ns;
    uint64_t period_ns; ///< the latest iteration of a thread here, 0: not known
    uint64_t before_ns; ///< the one before the tracked one

    struct access_sets *sets; ///< the root, while a round is under way
    uint32_t last_round;
    uint64_t give_up_ns; ///< 0: nobody is done
    tracking_done_fn *done;
    void *done_owner;
    uint64_t n_iterations; ///< that have ended, for --track
    unsigned n_written;    ///< rounds, for --track
};

/** The order in which a worker runs threads between barriers. */
struct worker_order {
    uint32_t *threads; ///< [n] since the round began
    uint32_t n;
    uint32_t room;
    uint32_t round;
};

/** The pager at work on this node: paging.c. Guarded by the node lock. */
struct paging {
    struct pager *pager; ///< NULL: there is no budget
    struct swap_file *swap;
    struct worker_order *orders; ///< [n_workers]
    int is_asked;                ///< the root is asked to track
    int is_learned;              ///< orders of use are known
    _Atomic uint64_t wait_ns;    ///< that too little memory has cost threads
    uint64_t out_ns;             ///< of it, until there was room
    uint64_t told_wait_ns;       ///< of these, paging_take_use() has told
    uint64_t told_out_ns;
    uint64_t told_pages;
};

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
    uint64_t looked_ns;         ///< for more memory
    uint64_t n_may_stay;        ///< pages that come in and stay
    uint64_t n_told;            ///< pages that the kernel was told to page out
};

/** How far the launcher believes this node to be: progress.c. */
struct told {
    uint64_t at_ns;
    uint64_t n_iterations;
    unsigned n_threads;
};

/** Nodes that come and go: members.c. Guarded by the node lock. */
struct members {
    struct membership *machine;
    uint16_t host; ///< this node's, as the launcher counts hosts
    int has_asked; ///< to leave
    uint8_t has_left[TM_MAX_NODES]; ///< nothing is sent to them any more
    node_id gone;                   ///< has left a moment ago, NODE_NONE
    uint64_t gone_ns;
};

enum runtime_step {
    RUNTIME_NONE,
    RUNTIME_STARTING,
    RUNTIME_RUNNING,
    RUNTIME_ENDED,
    RUNTIME_FORKED, ///< this process is a child of a node: child.c
};

/** Who of this host has died; the service thread's. */
struct neighbours {
    struct death_watch *watch; ///< NULL: a launcher sees deaths
    uint64_t died_ns;          ///< when one did, 0: none
    node_id dead;
};

/** The first node whose connection has ended: lifesigns.c. */
struct loss {
    uint64_t seen_ns; ///< 0: none has
    node_id node;
    char why[256];
};

/** The one mutable global: this node. */
struct runtime {
    _Atomic int step; ///< enum runtime_step
    struct options options;
    struct bootstrap bootstrap;
    struct neighbours neighbours;
    node_id self;
    unsigned n_nodes;
    unsigned n_workers;
    const struct fault_source *fault_source;
    const struct transport *transport;

    /** The node lock: guards net, space, engine, sync, and what follows. */
    struct mutex lock;
    struct net *net;
    struct port port;
    struct members members;
    uint64_t n_sent; ///< messages that membership_is_aside() does not name
    uint64_t n_received;
    struct space space;
    struct engine *engine;
    struct paging paging;
    struct kernel_paging kernel_paging;
    struct kernel_passing kernel_passing;
    struct thread_paging thread_paging;
    struct sync *sync;
    struct migration *migration;
    struct iteration iteration;
    struct pages *pages;
    struct scheme *scheme;           ///< on the root; NULL: threads stay
    struct access_sets *access_sets; ///< the root: of the latest round
    struct statics statics;
    struct tracking tracking;
    struct tokens calls;     ///< of runtime messages
    struct thread **threads; ///< [max_threads + 1] by slot; NULL: not here
    uint64_t n_moved_in;
    uint64_t n_moved_out;
    uint64_t n_to_self; ///< messages to this node that were sent ...
    uint64_t activity;  ///< messages handled, but for the idle ones
    uint64_t shuffle_state;
    struct pulse pulse; ///< who is alive, if has_pulse
    int has_pulse;
    struct told told; ///< what the launcher knows
    struct loss loss; ///< guarded by the node lock
    uint64_t die_in;  ///< for tests: messages until this node dies; 0: never

    struct ult_system *ult;
    struct observer observer;
    pthread_t service;
    int wake_fd;   ///< eventfd: wakes the service thread
    int has_seats; ///< workers have a processor each (seats.c)
    int spins; ///< this machine has a processor for each worker of each node
    _Atomic int is_stopping;
    _Atomic uint32_t is_frozen; ///< changed under the node lock: members.c
    _Atomic uint64_t crowded_until_ns; ///< others want this processor
    _Atomic uint64_t looked_ns; ///< when a worker last looked at the network
    _Atomic uint64_t looking_since_ns; ///< since when one does so, 0: none
    _Atomic uint64_t looked_short_ns;  ///< the end of the last short look
    _Atomic int is_look_left;          ///< the transport believes in a look
    _Atomic int is_patrolled;          ///< the service thread ends that
    _Atomic uint64_t fault_ns;
    _Atomic uint64_t sync_ns;
    uint64_t start_ns;
    int pid;
    int is_finishing;         ///< service thread: the program has ended
    int exit_code;            ///< then: of this process
    _Atomic uintptr_t denied; ///< page of an access that is an error, and said
};

extern struct runtime runtime;

// ---- registry.c: what is pluggable

extern const struct fault_source *const fault_sources[];
extern const unsigned n_fault_sources;

/** The source that an option names, or the first that works. @return NULL if
 * there is none; logged */
const struct fault_source *fault_source_choose(const char *name);

// ---- node.c: the node lock, waiting, messages

/** Take the node lock. While nodes come or go this waits until that is over. */
void node_enter(void);
/** The same for who serves others, and begins nothing: does not wait for that. */
void node_enter_serving(void);
/** Handle the messages that this node has sent itself meanwhile and what else
 * has arrived, and give the lock back. */
void node_leave(void);
/** The same, and nothing that this kernel thread began is under way on the disk: see
 * wrap_calm(). Waits for the disk. */
void node_leave_calm(void);

/** A thread that waits for one wake-up, on its own stack. */
struct wait {
    struct waiter waiter;
    struct ult *ult;
    _Atomic int is_done;
};

/** Prepare to wait; under the node lock or before it. */
void wait_init(struct wait *wait);
/** Wait. may_switch as ult_park(). Not under the node lock. */
void wait_for(struct wait *wait, int may_switch);

/** On a node that emulates a slow one: wait as long as that one would have
 * computed until now. Before the program does what other nodes may see. */
static inline void node_pay(void)
{
    if (__builtin_expect(runtime.options.share < 1, 0)) {
        ult_pay();
    }
}

/** What work of so many nanoseconds counts as here: more, on such a node. */
static inline uint64_t node_slowed_ns(uint64_t ns)
{
    return __builtin_expect(runtime.options.share < 1, 0)
               ? (uint64_t)((double)ns / runtime.options.share)
               : ns;
}

/** The calling thread's record, NULL outside threads. */
struct thread *thread_self(void);

/** Calls of the API: TM_OK if the runtime runs and the caller is a thread, else
 * TM_ESTATE, logged with the function's name. Calls node_pay(), and notes where
 * the program calls: to be used in the public function itself, or inlined into it. */
#define CHECK_CALL(function)                                                   \
    check_call((function), (uintptr_t)__builtin_return_address(0))
tm_status check_call(const char *function, uintptr_t place);

void node_receive(void *owner, node_id from, const struct message *message);
tm_status node_open_port(void);

// ---- service.c

tm_status service_start(void);
/** Have it look at once. */
void service_wake(void);
void service_join(void);
/** What a worker does when it has nothing to run. */
int service_idle(void *owner, unsigned worker);

// ---- observer.c

/** Start the observer if it does not run. Under the node lock.
 * @return TM_OK, TM_ESTATE (it has ended), TM_ESYSTEM (logged) */
tm_status observer_start(void);
/** Have a function run on the observer thread, without any lock, after those asked
 * for before. Under the node lock; does not block. If it takes long it looks at
 * observer_is_stopping() ten times a second.
 * @return TM_OK
 * @return TM_ELIMIT  OBSERVER_MAX_JOBS wait already
 * @return TM_ESTATE, TM_ESYSTEM  as observer_start() */
tm_status observer_run(observer_job *job, void *owner);
/** In a job: 1 if it should end now. */
int observer_is_stopping(void);
/** In a job: sleep. @return 0 if it should end now */
int observer_sleep(uint64_t duration_ns);
/** End it. When this returns no job runs, and none will. Not under the node lock.
 * Waits for the job at hand, at most 2 s. */
void observer_stop(void);
/** The latest of this node's memory; see observe/sample.h. Any kernel thread. */
const struct node_sample *observer_sample(void);

// ---- statics.c: what nodes have to offer

/** Measure this node's, for its card. Computes for some milliseconds. */
void statics_measure_own(struct node_statics *statics);
/** Take what the cards of all nodes say. @param cards  [n_nodes] */
void statics_take(const struct node_card *cards);
/** Begin to measure what pages and messages cost here; the root will be told. Under
 * the node lock, once. @return as observer_run() */
tm_status statics_begin_costs(void);
/** A message of types probe and costs. Under the node lock. */
tm_status statics_receive(node_id from, const struct message *message);
/** What a node, < n_nodes, has to offer. In a cluster of one the first call measures
 * it. Lives as long as the process. Under the node lock. */
const struct node_statics *cluster_statics(unsigned node);
/** The power of a live node beside others. Root, under the node lock. */
double cluster_power(node_id node);
/** What pages and messages cost at a node, as far as it is known: zeros until then,
 * and on nodes other than the root. Some 20 ms after the start all of it is there;
 * in a cluster of one only after statics_begin_costs(). Under the node lock. */
const struct node_costs *cluster_costs(unsigned node);

// ---- access.c

/** The trap_fn: an access was not allowed. */
int access_trap(void *owner, const struct trap *trap);

// ---- kernel_paging.c: all do nothing unless the kernel pages. Node lock.

/** Called by paging_open(), paging_finish() and paging_close(). */
void kernel_paging_open(void);
void kernel_paging_explain(void);
void kernel_paging_close(void);
/** A thread has faulted on a page of the space. To be asked before it is served.
 * @return 0, or the time: the kernel has taken the page */
uint64_t kernel_paging_began(page_no page, int is_write);
/** It is served. @param began_ns  what kernel_paging_began() said
 * @return how long the kernel took for it, ns */
uint64_t kernel_paging_ended(struct thread *thread, page_no page,
                             uint64_t began_ns);
/** A thread arrives at a barrier. On its worker. */
void kernel_paging_note_arrival(struct thread *thread);
/** The memory part of the node's numbers. */
void kernel_paging_stats(struct tm_node_stats *stats);

// ---- kernel_passing.c: all do nothing without kernel_passing_open(). Node lock.

void kernel_passing_open(void);
void kernel_passing_close(void);
/** A page that the kernel has taken is back for this thread, on its worker. */
void kernel_passing_came(const struct thread *thread, page_no page);

// ---- paging.c: the pager at work

/** If memory is declared for this node's shared data, keep within it. After
 * engine and space are there. */
void paging_open(void);
/** If none is declared and a control group limits the node, keep within that. When
 * what all nodes have to offer is known, and no thread runs yet. */
void paging_start(void);
/** The run is over and nobody else holds the node lock any more: TM_SHARED
 * variables are in memory from now on. */
void paging_finish(void);
/** Give the pager back. */
void paging_close(void);
/** The calling thread has faulted: wait until the page's bytes are in memory, or
 * there is room for them. Under the node lock, which is given back meanwhile.
 * @return how long it has waited, ns */
uint64_t paging_admit(struct thread *thread, page_no page, int is_write);
/** Is this node short of memory? Then nearly all faults on pages that are there come
 * from that. Under the node lock. */
int paging_is_short(void);
/** Such a fault has cost a thread this, with all waiting. */
void paging_note_cost(struct thread *thread, uint64_t ns);
/** The swap file's descriptor is readable. Whoever waited for a transfer may have
 * seen its end before that: it is made unreadable, or who sleeps on it never would.
 * Under the node lock. */
void paging_serve_disk(void);
/** Go on with what the disk has done. Under the node lock.
 * @return 1 if it should be called again soon */
int paging_poll(void);
/** Let pages go if there are too many: before the lock is given back. */
static inline void paging_settle(void)
{
    if (runtime.paging.pager != NULL) {
        pager_settle(runtime.paging.pager);
    }
}
/** Wait for all transfers of the disk that are under way. */
static inline void paging_finish_transfers(void)
{
    if (runtime.paging.pager != NULL) {
        pager_finish_transfers(runtime.paging.pager);
    }
}
/** -1, or a descriptor that is readable when paging_serve_disk() should be called. */
int paging_fd(void);
/** A thread arrives at a barrier. Under the node lock.
 * @return 1: when it goes on it should let others of its worker go first */
int paging_note_arrival(struct thread *thread);
/** What threads use, in which order, has been tracked. */
void paging_learn(const struct access_set *set);
/** What too little memory has cost since the last call. Under the node lock. */
struct memory_use {
    uint64_t wait_ns; ///< a worker's waiting, on the average
    uint64_t out_ns;  ///< of it, until other pages had gone
    uint64_t n_pages; ///< that came in from the swap file, or again from others
};
void paging_take_use(struct memory_use *use);
/** The memory part of the node's numbers. Under the node lock. */
void paging_stats(struct tm_node_stats *stats);
/** A thread comes to the node; before pages_thread_arrived(). */
void paging_thread_arrived(const struct thread *thread);
/** A thread has left the node. */
void paging_thread_left(const struct thread *thread);
/** paging_ask has arrived at the root. */
tm_status paging_receive(const struct message *message);

// ---- report.c: errors of the program

/** Explain a trap that is not an access to a page of a live block. */
void report_trap(const struct trap *trap);
/** Explain why a call of the C library on shared memory fails.
 * @param address  the first byte that does not belong to a block */
void report_bad_buffer(const char *function, uintptr_t place,
                       const void *address);
/** tm_free() has found that something wrote behind a block.
 * @param at  the byte of it that has changed, >= block->size */
void report_overrun(const struct heap_block *block, uint64_t at,
                    const char *file, int line);
/** End the program with what is wrong with it, exit code 70. Under the node
 * lock. */
_Noreturn void report_program_error(const char *text);
/** Write a line that begins with "thread 3 ...", with what this node knows of
 * that thread: its name, and where it called. Under the node lock. */
void report_complete_line(const char *line, char *text, size_t size);

// ---- freed.c: blocks that are no more

/** A message has arrived that may be about a block's end. Under the node lock,
 * before the engine gets it. */
void freed_watch(const struct message *message);
/** "in block 'x' of 8 bytes, allocated at a.c:1, freed at a.c:2"
 * @return 0 if the page was in no block lately. Under the node lock. */
int freed_describe(page_no page, char *text, size_t size);

// ---- place.c: where the program was

/** "main (a.c:12)", or "libc.so.6+0x12, called from main (a.c:12)". */
void place_describe(const struct trap *trap, char *text, size_t size);

// ---- child.c: children made by fork()

void child_prepare(void);

// ---- threads.c

void threads_start(void *owner, uint64_t number, uint64_t start, uint64_t arg,
                   const char *name);
int threads_set_target(void *owner, uint64_t number, node_id node);
/** The calling thread moves now if it is to. */
void threads_move_if_wanted(void);
/** A thread has come: reconfig's callback. */
void threads_arrived(void *owner, const struct moved_thread *moved);
struct thread *thread_new(uint64_t number, const char *name);
/** A thread that is here, or NULL. Under the node lock. */
struct thread *thread_find(uint64_t number);

// ---- iteration.c

/** What the scheme costs, by processor time: one in some calls is measured, and stands
 * for all. @return for iteration_probe_end() on the same kernel thread */
uint64_t iteration_probe(void);
void iteration_probe_end(uint64_t began_ns);

/** Begin to take part in the distribution of threads. */
void iteration_start(void);
/** The calling thread is about to arrive at a barrier. Under the node lock.
 * @return 1 if that ends an iteration: the thread may move after it */
int iteration_note(struct thread *thread, uint64_t key, enum sync_arrival kind);
/** The sync_ops.at_barrier. */
void iteration_at_barrier(void *owner, uint64_t key, enum sync_stage stage);
/** On the root: tell a node that has come which barriers end an iteration. */
void iteration_tell_mode(node_id node);
/** iteration_mode has arrived. */
void iteration_receive_mode(const struct message *message);

// ---- distribution.c: the scheme, on the root

/** Begin to decide who runs where, if the options and the cluster ask for it. */
void distribution_start(void);
/** iteration has arrived. Under the node lock. */
tm_status distribution_receive(node_id from, const struct message *message);
/** With --explain, say how it went. */
void distribution_print(void);
/** On the root: is it about to change something, and not to be disturbed? */
int distribution_is_busy(void);
/** On the root: does somebody decide where threads run? */
int distribution_decides(void);
/** The roster is another: begin anew, with the nodes that there are. */
void distribution_roster_changed(void);

// ---- profile.c

/** With --save-profile, write the latest decision's. */
void profile_save(void);

// ---- tracking.c: which pages threads use, on one node

void tracking_open(void);
/** The program ends: its memory must be there until it is over. */
void tracking_close(void);
/** A thread is about to arrive at a barrier that ends an iteration. */
void tracking_note_end(struct thread *thread, uint64_t key);
/** Some threads are at a stage of a barrier. */
void tracking_at_barrier(uint64_t key, enum sync_stage stage);
/** Has a thread here arrived at this barrier, which ends an iteration? */
int tracking_is_end(uint64_t key);
/** A thread has come in the middle of things; has ended, or is about to leave. */
void tracking_thread_arrived(struct thread *thread);
void tracking_thread_left(const struct thread *thread);
/** The ult_config.turn. */
void tracking_turn(void *owner, struct ult *ult);
/** What tracking_touch() does while tracking. */
void tracking_touch_now(const struct thread *thread, page_no page,
                        int is_write);
/** track has arrived, from the root. */
tm_status tracking_receive(node_id from, const struct message *message);
/** What is due by time. */
void tracking_tick(void);

static inline int tracking_is_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&runtime.tracking.is_on, memory_order_acquire), 0);
}

/** The calling thread's node can serve this access now. Under the node lock. */
static inline void tracking_touch(const struct thread *thread, page_no page,
                                  int is_write)
{
    if (tracking_is_on()) {
        tracking_touch_now(thread, page, is_write);
    }
}

/** The calling thread may have run since before tracking began: then it waits for
 * its turn. Not under the node lock. */
static inline void tracking_enter(void)
{
    if (tracking_is_on()) {
        ult_enter_gate();
    }
}

// ---- tracking_round.c: the root's part

/** Track the next iteration, on all nodes. Root, under the node lock; returns at
 * once. @return 0 if a round is under way already, else 1 and `done` will be
 *         called */
int tracking_start(tracking_done_fn *done, void *owner);
/** Root: is a round under way? */
int tracking_is_active(void);
/** track_set or track_done has arrived. */
tm_status tracking_collect(node_id from, const struct message *message);
/** On the root a barrier opens: for --track. */
void tracking_passes(uint64_t key);
void tracking_round_tick(void);
/** Say so if --track has come to nothing. */
void tracking_finish(void);

// ---- stats.c

void stats_collect(struct tm_node_stats *stats);
void stats_receive(node_id from, const struct message *message);
void stats_print_table(void);

// ---- thread_paging.c: what too little memory costs each thread

/** A thread ends here or leaves. Under the node lock. */
void thread_paging_left(const struct thread *thread);
/** One of its messages has come. Under the node lock. */
void thread_paging_receive(node_id from, const struct message *message);
/** For --stats: those that waited longest. */
void thread_paging_print(void);
void thread_paging_close(void);

// ---- finish.c

/** The end of a node other than the root, or of the root's atexit(). */
void finish_receive(const struct message *message);
_Noreturn void finish_serving(void);
void finish_now(void);
void finish_at_exit(int status, void *argument);
void finish_fatal(int exit_code);

// ---- members.c: nodes come and go

/** Before the node is connected. */
void members_open(void);
/** The node lives. */
void members_start(void);
/** Wait until nodes do not come or go any more. Under the node lock, which is given
 * back meanwhile. */
void members_wait(void);
/** The launcher wants something of that: BOOTSTRAP_CHANGE. Service thread, without
 * the lock. */
void members_follow(void);
/** Under the node lock. @return 1 if it wants to be called again soon */
int members_tick(void);

// ---- deadlock.c

void deadlock_tick(void);
/** Nodes have come or gone: what was found out until now counts for nothing. */
void deadlock_restart(void);
void deadlock_receive(node_id from, const struct message *message);

// ---- lifesigns.c: who is alive. All under the node lock

/** Nodes are connected. */
void lifesigns_start(void);

/** From the service thread, several times a second. */
void lifesigns_tick(void);

/** What the transport tells: a net_event_fn. */
void lifesigns_event(void *owner, enum net_event event, node_id node,
                     const char *why);

/** A message has come. */
void lifesigns_hear(node_id from);

// ---- progress.c

/** Tell the launcher how far this node is, if that is news. Under the node lock, from
 * the service thread. */
void progress_tick(void);

// ---- neighbours.c: deaths on this host, if no launcher sees them

/** Nodes are connected. @param roster  their cards and hosts */
void neighbours_watch(const struct boot_roster *roster);

/** Readable if neighbours_look() has something to do; -1: there is nothing. */
int neighbours_fd(void);

/** From the service thread, outside the node lock. */
void neighbours_look(void);

/** From the service thread, several times a second. */
void neighbours_tick(void);

#endif

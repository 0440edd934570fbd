// SPDX-License-Identifier: BSD-3-Clause
#ifndef WORLD_H
#define WORLD_H

#include "harness/sim_harness.h"
#include "mem/pager.h"
#include "observe/track.h"
#include "pages/causality.h"
#include "pages/engine.h"
#include "protocol/protocol_calls.h"
#include "reconfig/membership.h"
#include "runtime/registry.h"

/*
 * What the files of the conformance test share: the simulated nodes, the threads
 * with what each is doing, and the oracle.
 */
#define FEW_NODES 5
#define FEW_IDS 10 // with those that come while it runs
#define FEW_THREADS 12
#define WIDE_NODES 18 // of PROTOCOL/wide
#define MAX_IDS 21
#define MAX_THREADS 24
#define N_PAGES 24
#define CELL 16u
#define N_CELLS (N_PAGES * TM_PAGE_SIZE / CELL)
#define CELLS_OF_PAGE (TM_PAGE_SIZE / CELL)
#define N_GLOBALS (SPACE_BLOCK + N_PAGES) // of two directory nodes
#define N_LOCKS 4
#define N_PARCELS 60
#define LOCKED_CELLS 40 // per lock, spread over the pages
#define LIMIT_NS (1000ull * 1000 * 1000 * 1000) // of virtual time

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fail(#what, __LINE__);                                             \
        }                                                                      \
    } while (0)

enum step { CHOOSE, ACCESS, WAITING, ENDED };

struct judge;
struct promise;
struct world;

struct thread {
    struct waiter waiter; // first: found from it
    struct world *world;
    unsigned number;
    node_id node;
    enum step step;
    struct fault_history history;
    page_no page; // that it waits for
    int is_waiting_page;
    int is_let_in; // by the pager, without room
    int may_move;  // it has passed a barrier: changes.c
    int is_at_barrier;
    // the access under way
    uint64_t offset;
    unsigned length;
    int is_write;
    int is_at_counter;     // it reads the word of the atomic operations
    struct parcel *parcel; // that it uses, or NULL
    uint64_t
        also; // what else the instruction reads: a byte; as `offset`: nothing
    uintptr_t instruction; // its number
    unsigned n_tries;
    struct pager_claims claims;
    uint8_t value;
    // where it is in its program
    unsigned phase;
    unsigned ops_left;
    int lock_held;    // -1: none
    int lock_outside; // that it held when it took lock_held; -1: none
    unsigned lock_ops;
    uint64_t added;
    void (*then)(struct thread *thread);
    void (*wake)(struct waiter *waiter); // its waiter's, between times
    uint64_t sweep;
};

// A small block: parcels.c.
struct parcel {
    uint64_t address; // 0: there is none
    uint64_t value;
};

struct lock {
    struct waiter waiter; // first: of its token's way to another node ...
    struct thread *to;    // ... where this thread waits
    int holder;           // thread, -1
    node_id node;         // where the token is
    unsigned queue[MAX_THREADS];
    unsigned n_queue;
};

// What a node's receiver gets.
struct end {
    struct world *world;
    node_id node;
};

struct node {
    struct engine *engine;
    struct space space;
    struct swap_file *swap; // with a budget
    struct pager *pager;    // or NULL
    const struct thread
        *in_place; // it waits for its pager and keeps the worker; or NULL
    struct track *track;
    struct end end;
    uint64_t counter_seen;
    // changes.c
    struct sync *sync;
    struct membership *membership;
    int is_frozen;
    uint64_t n_sent;
    uint64_t n_received;
    struct port sim_port; // as the simulated network made it
};

struct world {
    struct sim *sim;
    unsigned n_nodes; // with those that may come
    unsigned n_threads;
    unsigned n_phases;
    tm_protocol protocol;
    struct node nodes[MAX_IDS];
    struct thread threads[MAX_THREADS];
    struct lock locks[N_LOCKS];
    struct parcel parcels[N_PARCELS];
    page_no pages[N_PAGES]; // of the block under test
    uint64_t grain;         // 0; or its pages are blocks, with this grain
    int is_used;            // its addresses may have been another's
    int has_globals;        // globals.c
    int globals_are_used;
    uint8_t oracle[N_PAGES * TM_PAGE_SIZE];
    int8_t owner[N_CELLS]; // in this phase: thread, -1 nobody, -2 locked
    uint8_t lock_of[N_CELLS];
    uint64_t counter_address;
    uint64_t counter_sum;
    uint64_t counter_floor; ///< the sum at the last barrier
    uint64_t block; // its address; 0: it is in globals, or there are cells
    uint64_t cells[N_PAGES]; // with a grain: the addresses of its pages' blocks
    uint64_t gap;            // what lies before it; 0: nothing of its own
    unsigned lives_left;
    int has_budget;
    int crosses; // instructions need two pages
    int shares_worker; // threads of a node run one at a time, also while one waits for the
                       // pager; else each as if it had a worker of its own
    int guards;         // locks have pages of their own
    int strides;        // threads seem to go through pages in strides
    unsigned n_steps;   // that main() has waited for
    int has_changes;    // nodes come and go: changes.c
    unsigned n_come;    // numbers given so far
    unsigned n_changes; // done
    int tells;          // events travel behind updates: meet.c
    node_id manager;    // of the barrier
    int is_wide; // there are many nodes, and the barrier is sync's: wide.c
    unsigned n_relays; // messages that nodes have passed on there
    unsigned n_arrived;
    unsigned n_ended;
    struct judge *judge;     // or NULL: audit.c
    struct promise *promise; // or NULL: promise.c
    unsigned n_audited_lives;
    int is_put_off; // the event has changed nothing but its own time
};

/** Say the seed and what does not hold, and abort. */
_Noreturn void fail(const char *what, int line);

/** Does the protocol drop copies that are old, rather than keep them up to date? */
static inline int drops_copies(const struct world *world)
{
    return world->protocol == TM_IMPLICIT ||
           world->protocol == TM_LAZY_RELEASE ||
           world->protocol == TM_HOMELESS || world->protocol == TM_ADAPTIVE ||
           world->protocol == TM_SCOPE;
}

/** What holds at any time: of pages, engines and trackers; and of pagers. */
void check_world(struct world *world);
void check_pagers(struct world *world);

/** When everything has been released: the copies of a node equal the oracle. */
void check_copies(struct world *world, unsigned node);

/** A thread leaves its node, or ends. */
void leave_pager(struct thread *thread);

/** Let a thread make its next step, a little later. */
void resume(struct thread *thread);

/** Begin or go on: a timer of the simulated network. */
void step(void *owner, uint64_t argument);

/** Release, and go on when every copy has what was written. */
void release_then(struct thread *thread, void (*then)(struct thread *));

/** Release, then wait until all threads have; or only the latter. */
void arrive(struct thread *thread);
void pass_barrier(struct thread *thread);

/** A thread goes on behind a barrier. */
void pass_one(struct thread *thread);

/* wide.c */
struct sync_ops wide_ops(struct node *node);
void wide_open(struct world *world);
/** Give the barrier its count; wakes the waiter. */
void wide_begin(struct world *world, struct waiter *waiter);
/** A millisecond has passed at a node. */
void wide_tick(struct world *world, node_id node);
void wide_arrive(struct thread *thread);
/** A message has come at a node. @return 0 if it is not of the barrier */
int wide_receive(struct world *world, node_id from, node_id at,
                 const struct message *message);

/** All nodes come after what any of them has released: for finding races. */
void order_all(struct world *world);

void take_lock(struct thread *thread, unsigned number);
void give_lock(struct thread *thread);

/** Handle a message that is of these meetings. @return 0 if it is not */
int meet_receive(struct world *world, node_id at,
                 const struct message *message);

/** The roster as the root has it. */
static inline const struct roster *roster_of(const struct world *world)
{
    return &sim_port(world->sim, 0)->roster;
}

/* globals.c: variables that are the root's before anything happens */
void globals_open(struct world *world, unsigned node);
/** May the next life of the block be in them? Then it is, this once.
 * @return 1 if so */
int globals_lend(struct world *world);
/** Have the heap's next block begin near a border of directory nodes, now and then.
 * @return bytes to allocate before it, 0: none */
uint64_t globals_gap(const struct world *world);

/* changes.c: nodes come and go */
void changes_open(struct world *world, unsigned n_first);
void changes_close(struct world *world);
/** A message has come at a node. @return 0 if it is not of a change */
int changes_receive(struct world *world, node_id from, node_id at,
                    const struct message *message);
/** A millisecond has passed at the root. */
void changes_tick(struct world *world);
/** Is a node frozen? Then no call is made and no thread begins, but for those under
 * way. */
int changes_is_frozen(const struct world *world);
/** Nothing changes any more until threads are started again. */
void changes_settle(struct world *world);
/** A thread goes on behind a barrier, perhaps elsewhere. */
void changes_move(struct thread *thread);

/** The page of an address, the same on all nodes. */
static inline page_no page_at(const struct world *world, uint64_t address)
{
    page_no page;

    CHECK(space_find(&world->nodes[0].space, (const void *)(uintptr_t)address,
                     &page));
    return page;
}

/** The bytes of the block's page that are its own; others belong to nobody's oracle. */
static inline struct page_part own_part(const struct world *world, unsigned at)
{
    return space_part(&world->nodes[0].space, world->pages[at]);
}

/** The cell, or in its page one that is all of its own bytes. */
static inline unsigned own_cell(const struct world *world, unsigned cell)
{
    const unsigned first = cell - cell % (TM_PAGE_SIZE / CELL);
    const struct page_part part = own_part(world, cell * CELL / TM_PAGE_SIZE);

    return first + part.offset / CELL + cell % (part.size / CELL);
}

/** The page with the word of the atomic operations. */
static inline page_no counter_page(const struct world *world)
{
    return page_at(world, world->counter_address);
}

/** A node's program reads that word. It only grows, so does what a node sees of it: E5.
 * The page may be read there. */
void look_at_counter(const struct world *world, struct node *node);

/** Deal the cells that no lock guards to threads, for the next phase. */
void deal_cells(struct world *world);

static inline struct engine *engine_of(const struct thread *thread)
{
    return thread->world->nodes[thread->node].engine;
}

/** @return a number below `bound` */
static inline uint64_t pick(const struct thread *thread, uint64_t bound)
{
    return sim_random(thread->world->sim, bound);
}

#endif

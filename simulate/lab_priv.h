// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIMULATE_LAB_PRIV_H
#define SIMULATE_LAB_PRIV_H

#include "base/options.h"
#include "mem/pager.h"
#include "pages/causality.h"
#include "pages/engine.h"
#include "reconfig/migrate.h"
#include "reconfig/migration_pages.h"
#include "reconfig/scheme.h"
#include "runtime/rounds.h"
#include "simulate/simulate.h"
#include "sync/sync.h"

/* What the files of a simulation share. */

struct lab;
struct lab_node;

/** What travels with a thread: a small stack. */
enum { LAB_STACK_BYTES = 4096 };

// ---- the script, for this run's addresses: play.c

/** Pages next to each other that a thread uses alike. */
struct play_run {
    page_no page;
    uint32_t n_pages;
    uint16_t flags;
    uint16_t diff_bytes; ///< of one phase
    uint8_t writes; ///< a bit for each phase in which it is written; 0: all
    uint32_t block;
};

/** A thread's part in a round. */
struct play_part {
    struct play_run *runs; ///< [n_runs]
    uint32_t n_runs;
    uint64_t n_touches;
};

struct play {
    uint32_t n_threads;
    uint32_t n_rounds;
    struct play_part *rounds; ///< [n_rounds * n_threads]
    struct play_part *fills;  ///< [n_threads] what each writes at first
    page_no n_pages;          ///< of all blocks
};

/** @param pages  [script->n_blocks] where each block begins here */
void play_init(struct play *play, const struct profile_script *script,
               uint32_t n_threads, const page_no *pages);
void play_release(struct play *play);

/** The pages that a thread uses in some round, in order. @return [*n] for free() */
struct page_use *play_uses(const struct play *play, uint32_t thread,
                           uint32_t round, size_t *n);

// ---- threads: actor.c

enum actor_step {
    ACTOR_ABSENT,   ///< not yet started, or on its way
    ACTOR_RUNNABLE, ///< in its worker's queue
    ACTOR_RUNNING,
    ACTOR_HELD,     ///< waits in place: for the disk
    ACTOR_FETCHING, ///< waits for a page from elsewhere; its worker runs others
    ACTOR_PARKED,   ///< waits at a barrier
    ACTOR_ENDED,
};

/** Where in its part a thread is. */
struct actor_place {
    uint32_t run;
    uint32_t page; ///< within the run
};

struct actor {
    struct waiter waiter; // first: found from it
    struct lab *lab;
    uint64_t number;
    uint32_t index; ///< of the profile's threads
    struct lab_node *node;
    unsigned worker;
    enum actor_step step;
    struct actor *next; ///< in the worker's queue
    // its program
    uint64_t iteration; ///< that it is in, from 1; 0: it fills
    uint32_t phase;
    struct actor_place at;
    int is_behind_barrier; ///< it has passed one, and goes on
    int is_beginning;      ///< an iteration
    int is_resumed;        ///< it has waited for `page`, and goes on
    int is_let_in;         ///< by the pager
    page_no page;          ///< that it waits for
    int is_write;
    // what it is measured by
    double touch_ns;  ///< of the round that it is in, for each touch
    double owed_ns;   ///< computed since the last event
    uint64_t comp_ns; ///< since its last report
    // as the runtime has it
    struct fault_history history;
    struct pager_claims claims;
    struct round_place place_in_round;
    uint64_t n_barriers;
    uint32_t moves;
    node_id target;
    uint64_t waits_since_ns;
};

/** A kernel thread that runs threads. */
struct lab_worker {
    struct lab_node *node;
    struct actor *current; ///< NULL: it has none
    struct actor *first;   ///< those that could run
    struct actor *last;
    unsigned n_fetching;
    uint64_t since_ns; ///< up to when its time is noted
    uint64_t wall_ns;  ///< in threads, since the last report
    struct simulated_times times;
};

/** Put a thread on a node's workers. */
void actor_start(struct actor *actor, struct lab_node *node);
/** It can run. */
void actor_ready(struct actor *actor);
/** Note where a worker has been since it was noted last. */
void worker_note(struct lab_worker *worker);

// ---- nodes: lab_node.c

/** A thread's arrival that is to be told. */
struct told_arrival {
    uint64_t number;
    uint64_t comp_ns;
    uint64_t n_barriers;
};

struct own_letters {
    struct own_letter *first;
    struct own_letter *last;
};

struct lab_node {
    struct lab *lab;
    node_id id;
    struct port port;
    struct space space;
    struct engine *engine;
    struct sync *sync;
    struct disk *disk;
    struct swap_file *swap;
    struct pager *pager; ///< NULL: there is no budget
    struct rounds rounds;
    int is_taught; ///< the pager has been told what threads use
    struct migration *migration;
    struct migration_pages *pages;
    struct lab_worker *workers; ///< [n_workers]
    unsigned n_workers;
    unsigned n_actors;
    unsigned n_parked;
    uint64_t ticked_ns; ///< when it looked what is due
    uint64_t next_tick_ns;
    uint64_t let_go_ns;     ///< an event is to come then; 0: none
    struct own_letters own; ///< messages to itself
    // its report of an iteration: reports.c
    struct told_arrival *arrivals; ///< [n_arrivals]
    uint32_t n_arrivals;
    uint32_t n_room;
    uint64_t began_ns;
    uint64_t arrived_ns;
    uint64_t busy_ns;
    uint64_t release_ns;
    uint64_t wait_ns; ///< of threads, for the disk
    uint64_t out_ns;  ///< of it, for room
    struct pager_stats told;
    uint64_t *sent_bytes; ///< [n_nodes] since the last report
    struct simulated_node_result result;
};

void lab_node_open(struct lab *lab, node_id id);
/** A space with a budget has a pager. */
void lab_node_open_pager(struct lab_node *node);
void lab_node_close(struct lab_node *node);
/** What comes after all that happens on a node. */
void lab_node_leave(struct lab_node *node);
/** Pages that others wait for are held: have them go in time. */
void lab_node_let_go_later(struct lab_node *node);
void lab_receive(void *owner, node_id to, node_id from,
                 const struct message *message);

// ---- what a node tells of an iteration: reports.c

/** A thread is about to arrive at an iteration's end. */
void report_note(struct actor *actor);
void report_at_barrier(void *owner, uint64_t key, enum sync_stage stage);

// ---- the root's scheme: deciding.c

struct decider;

/** If there is somebody who decides. */
void decider_open(struct lab *lab);
void decider_close(struct lab *lab);
tm_status decider_receive(struct lab *lab, node_id from,
                          const struct message *message);
/** The root's threads are about to go on behind an iteration's end. */
void decider_passes(struct lab *lab);
/** How many of n threads each node is to begin with, as ops.share_out of sync. */
int decider_share_out(void *owner, const node_id *nodes, unsigned n_nodes,
                      const uint32_t *load, uint32_t n, uint32_t *counts);

// ---- all of it

struct lab {
    const struct simulation *simulation;
    struct events events;
    struct wires *wires;
    struct lab_node *nodes; ///< [n_nodes]
    struct play play;
    struct actor *actors;   ///< [n_threads]
    struct actor **by_slot; ///< [n_threads + 1]
    struct waiter main;     ///< the program's thread 0
    int main_waits;
    uint64_t barrier; ///< its key
    struct decider *decider;
    uint32_t n_ended_here; ///< arrivals at the present iteration's end
    uint64_t iteration;    ///< that have ended
    uint64_t began_ns;     ///< the present one
    uint64_t start_ns;
    uint64_t n_ticks_ahead; ///< events that are a node's next tick, or were
    int is_over;
    struct simulation_result *result;
    size_t room_for_moves;
};

// ---- what is counted: counting.c

/** All threads have arrived at the end of an iteration. */
void lab_iteration_ends(struct lab *lab);
/** A thread is leaving its node. */
void lab_note_move(struct lab *lab, const struct actor *actor, node_id to);
/** The run is over. */
void lab_take_result(struct lab *lab);

static inline const struct simulated_node *lab_node_says(
    const struct lab_node *node)
{
    return &node->lab->simulation->nodes[node->id];
}

#endif

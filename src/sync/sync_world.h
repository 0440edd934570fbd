// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_SYNC_WORLD_H
#define SYNC_SYNC_WORLD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "harness/sim_harness.h"
#include "sync/sync.h"

/*
 * For the tests: a cluster in one process. Nodes with a sync layer each, over
 * the simulated network; threads as coroutines, called actors here, that are
 * written as plain functions. Releases take random time.
 *
 * Whether writes are visible where they must be is checked all along, by
 * vectors: each node counts its writes; `seen` says how many of each node's
 * writes another node sees, which grows when a release ends; an actor's `must`
 * says how many of each node's writes it must see, which it gets from locks,
 * barriers, semaphores, creators and joined actors. After each step every
 * node's sync_is_valid().
 */

enum {
    WORLD_NODES = 5,
    WORLD_ACTORS = 96,
    WORLD_OBJECTS = 32, ///< keys of one kind
    WORLD_COUNT = 32,   ///< the most threads at one barrier
};

/** A key that is not small and not spread well. */
#define KEY(number) (0x7e8000000000u + 64u * (uint64_t)(number))

struct writes {
    uint64_t of[WORLD_NODES];
};

struct actor;
typedef void actor_fn(struct actor *self, uint64_t arg);

struct actor {
    struct world *world;
    struct waiter waiter;
    bool is_used;
    bool is_blocked; ///< in a call
    bool is_woken;
    bool is_present; ///< false while it moves
    bool is_ended;
    uint64_t thread;
    node_id node;
    uint32_t moves;
    int target; ///< of set_target, -1: none
    actor_fn *body;
    uint64_t arg;
    uint64_t result;
    uint64_t counted; ///< arrivals, or the most of those that it has met
    struct writes must;
    char name[16];
    struct coroutine *coroutine;
};

struct world_rwlock {
    struct writes written; ///< before a writer unlocked it: all must see that
    struct writes read;    ///< before a reader began to: writers must
    struct writes over;    ///< before somebody was through: who comes then must
    unsigned n_readers;
    struct actor *writer;
};

struct world_barrier {
    uint32_t count;
    uint64_t n_arrivals;
    struct {
        struct writes must;
        uint64_t threads[WORLD_COUNT];
        uint64_t values[WORLD_COUNT];
    } episodes[2];
};

struct world_node {
    struct world *world;
    node_id id;
    struct sync *sync;
    struct map held;      ///< mutexes
    struct port sim_port; ///< as the simulated network made it
    struct writes seen;
};

struct world_config {
    struct sim_config sim;
    uint64_t release_max_ns; ///< 0: every release is done at once
    uint32_t max_threads;
    bool polls_when_idle;
    bool no_polls;
    bool expects_errors;
    unsigned n_locks_kept; ///< sync_keep_locks(); 0: as many as usual
    bool has_data;         ///< bound to each lock, which nobody passes on
    bool changes_managers; ///< now and then, as when nodes come or go
    bool anyone_unlocks;   ///< sync_let_anyone_unlock()
};

struct world {
    struct world_config config;
    struct sim *sim;
    struct world_node nodes[WORLD_NODES];
    struct actor actors[WORLD_ACTORS];
    struct actor *running;
    unsigned n_alive;
    uint64_t n_steps;
    unsigned n_in_flight; ///< messages
    uint64_t n_sent;      ///< between different nodes
    unsigned n_releases;  ///< under way
    bool is_changing;     ///< the managers; actors wait
    unsigned n_changes;

    struct writes locks[WORLD_OBJECTS];
    struct actor *holders[WORLD_OBJECTS];
    struct world_rwlock rwlocks[WORLD_OBJECTS];
    struct writes onces[WORLD_OBJECTS];
    unsigned n_done[WORLD_OBJECTS]; ///< times that what is done once was done
    struct world_barrier barriers[WORLD_OBJECTS];
    struct writes created[4096]; ///< by the number in the actor's name
    unsigned n_created;
    struct writes ended[4096]; ///< by world_ended_of()

    unsigned n_errors;
    uint64_t n_calls; ///< each is a place of its own
    char error[640];  ///< the last program error
    unsigned n_starts[WORLD_NODES];
    uint64_t start_order[WORLD_ACTORS];
    unsigned n_started;
};

struct world *world_new(const struct world_config *config);
/** Run `body` as main(), and all that it brings about, until nothing happens
 * any more. @return 1 if all actors have ended */
int world_run(struct world *world, actor_fn *body, uint64_t arg);
void world_free(struct world *world);

/** The waits of all nodes, one a line; in a buffer of its own. */
const char *world_waits(struct world *world);

/* Calls of actors; block the actor. */
tm_status do_lock(struct actor *self, unsigned object);
tm_status do_trylock(struct actor *self, unsigned object);
/** Times are from now on. */
tm_status do_timedlock(struct actor *self, unsigned object, uint64_t ns);
tm_status do_set_type(struct actor *self, unsigned object,
                      enum tm_mutex_type type);
tm_status do_unlock(struct actor *self, unsigned object);
/** The same of a mutex that another may have locked. */
tm_status do_unlock_for_another(struct actor *self, unsigned object);
/** sync_lock_renew(). */
tm_status do_renew(struct actor *self, unsigned object);
tm_status do_cond_wait(struct actor *self, unsigned cond, unsigned lock);
tm_status do_cond_timedwait(struct actor *self, unsigned cond, unsigned lock,
                            uint64_t ns);
tm_status do_cond_signal(struct actor *self, unsigned cond, int all);
tm_status do_sem_init(struct actor *self, unsigned object, uint32_t value);
tm_status do_sem_wait(struct actor *self, unsigned object);
tm_status do_sem_trywait(struct actor *self, unsigned object);
/** It may be interrupted: then TM_ETIMEDOUT. @param ns  0: as long as it takes */
tm_status do_sem_wait_or_interrupt(struct actor *self, unsigned object,
                                   uint64_t ns);
void do_interrupt(struct actor *self, uint64_t thread);
tm_status do_sem_timedwait(struct actor *self, unsigned object, uint64_t ns);
tm_status do_sem_ask(struct actor *self, unsigned object, uint64_t *value);
tm_status do_sem_post(struct actor *self, unsigned object);
/** @param ns  how long it waits: 0 not at all, UINT64_MAX as long as it takes */
tm_status do_rwlock(struct actor *self, unsigned object, enum sync_hold hold,
                    uint64_t ns);
tm_status do_rwlock_unlock(struct actor *self, unsigned object);
/** Do it, if it is not done: takes ns. */
tm_status do_once(struct actor *self, unsigned object, uint64_t ns);
tm_status do_barrier_init(struct actor *self, unsigned object, uint32_t count);
uint64_t do_arrive(struct actor *self, unsigned object, enum sync_arrival kind,
                   tm_op op, uint64_t value);
tm_status do_create(struct actor *self, actor_fn *body, uint64_t arg,
                    int on_node, uint64_t *thread);
tm_status do_join(struct actor *self, uint64_t thread, uint64_t *result);
tm_status do_detach(struct actor *self, uint64_t thread);
tm_status do_migrate(struct actor *self, uint64_t thread, node_id node);
void do_launch(struct actor *self);
void do_compute(struct actor *self, uint64_t ns);
/** Go to another node; as after tm_iteration_end(). */
void do_move(struct actor *self, node_id node);
/** Write to shared memory, on the actor's node. */
void do_write(struct actor *self);
/** Does the actor's node see all that the actor must see? Fails if not. */
void do_check(struct actor *self);

/* Between sync_world.c and sync_actor.c: the start and the end of a call, which
 * blocks the actor if need be; what an actor must see from now on. */
struct sync *actor_begin(struct actor *self);
/** To another node, behind all messages that are on their way there. */
void world_travel(struct actor *self, node_id node);
tm_status actor_finish(struct actor *self);
void actor_must_see(struct actor *self, const struct writes *writes);
void writes_raise(struct writes *writes, const struct writes *other);
struct writes *world_ended_of(struct world *world, uint64_t thread);

/* For short tests: a network of some µs, and calls that must succeed. */
struct world_config world_config_of(unsigned n_nodes);
/** Run a program that must end, without errors if none are expected. */
void world_run_program(struct world_config config, actor_fn *body);
uint64_t must_create(struct actor *self, actor_fn *body, uint64_t arg,
                     int on_node);
uint64_t must_join(struct actor *self, uint64_t thread);
uint64_t must_run_on(struct actor *self, actor_fn *body, uint64_t arg,
                     int on_node);

uint64_t world_random(struct world *world, uint64_t bound);

#define world_check(world, condition)                                          \
    ((condition) ? (void)0                                                     \
                 : world_fail((world), #condition, __FILE__, __LINE__))

_Noreturn void world_fail(struct world *world, const char *what,
                          const char *file, int line);

#endif

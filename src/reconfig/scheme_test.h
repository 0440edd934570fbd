// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_SCHEME_TEST_H
#define RECONFIG_SCHEME_TEST_H

/*
 * A made-up cluster for the scheme's tests: threads have work, nodes have power and
 * memory, and an iteration takes as long as its slowest node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reconfig/scheme.h"

enum { N_NODES = 4, N_THREADS = 32, BARRIERS = 3, FREE_PAGES = 3 * 1024 };

#define PAGE_IN_S 0.01

static const double equal[] = {1, 1, 1, 1}; // power of nodes
static const double unequal[] = {1.0, 0.8, 0.8, 0.6};

struct world {
    struct scheme *scheme;
    double power[N_NODES];          // as the nodes are
    double slowdown[N_NODES];       // another job takes so much of them
    uint64_t memory_pages[N_NODES]; // as the nodes say at the start
    uint64_t pages_taken[N_NODES];  // since then, by somebody else
    int tells_memory;               // nodes say what they have now
    double work_s[N_THREADS];
    uint32_t node_of[N_THREADS];
    uint32_t target[N_THREADS];
    uint64_t n_barriers;
    uint64_t period; // 0: the program says where iterations end
    uint64_t phase;
    int is_searching;
    int is_thinking;
    int takes_its_time; // who thinks
    int n_tracks;
    unsigned n_vain;  // so many times tracking is given up
    uint32_t n_known; // threads that tracking finds pages of
    int n_refusals;   // to move, at most
    int is_shuffled;  // reports come from another node first each time
    unsigned n_late; // threads, from the first on, of which nothing is told yet
    double noise; // of each thread's time; and some iterations are far longer
    uint32_t draw;
    uint64_t now_ns;
    char said[1u << 16];
};

static inline void op_track(void *owner)
{
    ((struct world *)owner)->n_tracks++;
}

static inline double op_tracking_s(void *owner)
{
    (void)owner;
    return 0.05;
}

static inline void op_think(void *owner)
{
    ((struct world *)owner)->is_thinking = 1;
}

static inline void op_move(void *owner, uint64_t thread, node_id node)
{
    ((struct world *)owner)->target[thread - 1] = node;
}

static inline void op_set_period(void *owner, uint64_t period, uint64_t phase)
{
    struct world *world = owner;

    world->period = period;
    world->phase = phase;
    world->is_searching = period == 0 && phase == PERIOD_SEARCH;
}

static inline void op_leave(void *owner, const struct remap *plan,
                            const uint32_t *from, const uint32_t *to,
                            int has_moved)
{
    (void)owner;
    (void)has_moved;
    assert_true(plan->n_moves > 0);
    assert_true(memcmp(from, to, plan->view.n_threads * sizeof *from) != 0);
}

static inline void op_describe(void *owner, unsigned node,
                               struct node_view *view)
{
    const struct world *world = owner;

    *view = (struct node_view){
        .power = world->power[node],
        .n_processors = 1,
        .memory_pages = world->memory_pages[node],
        .free_pages = 1u << 20,
        .total_pages = 1u << 20,
        .swap_in_s = PAGE_IN_S,
        .packet_s = 1e-5,
        .packet_bytes = 8192,
    };
    snprintf(view->name, sizeof view->name, "n%u", node);
}

static inline const struct page_use *op_uses(void *owner, uint64_t thread,
                                             size_t *n)
{
    static struct page_use pages[N_THREADS][2];

    if (thread > ((struct world *)owner)->n_known) {
        *n = 0;
        return NULL;
    }
    pages[thread - 1][0] = (struct page_use){thread, USE_READ, 0};
    pages[thread - 1][1] =
        (struct page_use){thread + 1, USE_READ | USE_WRITE, 100};
    *n = 2;
    return pages[thread - 1];
}

static inline void op_explain(void *owner, const char *text)
{
    struct world *world = owner;
    const size_t used = strlen(world->said);

    // What does not fit is left out.
    snprintf(world->said + used, sizeof world->said - used, "%s\n", text);
}

// A mapping by hand, for worlds that are made then; NULL: none.
static const uint32_t *counts_by_hand;

static inline struct world *world_new(const char *policy, const double *power)
{
    struct world *world = calloc(1, sizeof *world);
    const struct scheme_ops ops = {
        .owner = world,
        .track = op_track,
        .tracking_s = op_tracking_s,
        .think = op_think,
        .move = op_move,
        .set_period = op_set_period,
        .leave = op_leave,
        .describe = op_describe,
        .uses = op_uses,
        .explain = op_explain,
    };
    const struct scheme_config config = {
        .policy = policy_find(policy),
        .n_nodes = N_NODES,
        .counts = counts_by_hand,
        .explains = 1,
    };

    assert_non_null(config.policy);
    world->n_known = N_THREADS;
    for (unsigned i = 0; i < N_NODES; i++) {
        world->power[i] = power[i];
        world->slowdown[i] = 1;
        world->memory_pages[i] = 1u << 20;
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        world->work_s[i] = 0.01;
        world->node_of[i] = i * N_NODES / N_THREADS;
        world->target[i] = world->node_of[i];
    }
    world->scheme = scheme_new(&config, &ops);
    assert_non_null(world->scheme);
    return world;
}

static inline void world_free(struct world *world)
{
    scheme_free(world->scheme);
    free(world);
}

// A node's threads share the pages at their edges, see op_uses().
static inline uint64_t pages_in(const struct world *world, unsigned node)
{
    uint64_t memory = world->memory_pages[node] - world->pages_taken[node];
    uint64_t demand = 0;

    for (unsigned page = 1; page <= N_THREADS + 1; page++) {
        demand += (page <= N_THREADS && world->node_of[page - 1] == node) ||
                  (page > 1 && world->node_of[page - 2] == node);
    }
    return demand > memory ? demand - memory : 0;
}

static inline double paging_s(const struct world *world, unsigned node)
{
    return (double)pages_in(world, node) * PAGE_IN_S;
}

// Processor time: another job makes it no longer, only the time by the clock.
static inline double comp_s(const struct world *world, unsigned thread)
{
    return world->work_s[thread] / world->power[world->node_of[thread]];
}

static inline double busy_s(const struct world *world, unsigned node)
{
    double sum_s = 0;

    for (unsigned i = 0; i < N_THREADS; i++) {
        sum_s += world->node_of[i] == node ? comp_s(world, i) : 0;
    }
    return sum_s * world->slowdown[node] + paging_s(world, node);
}

static inline double iteration_s(const struct world *world)
{
    double most_s = 0;

    for (unsigned i = 0; i < N_NODES; i++) {
        most_s = busy_s(world, i) > most_s ? busy_s(world, i) : most_s;
    }
    return most_s;
}

static inline double random_below_1(struct world *world)
{
    world->draw = world->draw * 1664525u + 1013904223u;
    return (world->draw >> 8) * 0x1p-24;
}

// @return what a time is to be multiplied with
static inline double noise(struct world *world)
{
    return 1 + world->noise * (random_below_1(world) - 0.5);
}

// Now and then something else runs, and a node takes three times as long.
static inline double node_noise(struct world *world)
{
    int is_disturbed = world->noise > 0 && random_below_1(world) < 0.03;

    return (is_disturbed ? 3 : 1) * noise(world);
}

// Bytes.
static inline uint64_t told_memory(const struct world *world, unsigned node)
{
    uint64_t pages = world->memory_pages[node] - world->pages_taken[node];

    return world->tells_memory && world->pages_taken[node] > 0
               ? pages * TM_PAGE_SIZE
               : 0;
}

// Each sends 3 KiB to its left and 1 to its right.
static inline uint16_t put_peers(struct wire_writer *writer, unsigned node)
{
    if (node > 0) {
        wire_put_u16(writer, (uint16_t)(node - 1));
        wire_put_u64(writer, 3 * 1024);
    }
    if (node + 1 < N_NODES) {
        wire_put_u16(writer, (uint16_t)(node + 1));
        wire_put_u64(writer, 1024);
    }
    return (node > 0) + (node + 1 < N_NODES);
}

static inline void report(struct world *world, unsigned node, int marked,
                          uint32_t place)
{
    uint8_t body[N_THREADS * 28 + 20];
    double factor = node_noise(world);
    uint64_t busy_ns = (uint64_t)(busy_s(world, node) * factor * 1e9);
    uint64_t mem_ns = (uint64_t)(paging_s(world, node) * factor * 1e9);
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_iteration,
        .u.iteration = {.busy_ns = busy_ns,
                        .comp_ns = busy_ns - mem_ns,
                        .mem_ns = mem_ns,
                        .pages_in = pages_in(world, node),
                        .pages_out = pages_in(world, node),
                        .memory = told_memory(world, node),
                        .free = FREE_PAGES * TM_PAGE_SIZE,
                        .marked = (uint8_t)marked},
        .body = body,
    };
    size_t n_before;

    message.u.iteration.n_peers = put_peers(&writer, node);
    n_before = (size_t)(writer.at - body);
    for (unsigned i = world->n_late; i < N_THREADS; i++) {
        if (world->node_of[i] == node) {
            wire_put_u64(&writer, i + 1);
            wire_put_u64(&writer, (uint64_t)(comp_s(world, i) * factor *
                                             noise(world) * 1e9));
            wire_put_u64(&writer, world->n_barriers);
            wire_put_u32(&writer, place);
        }
    }
    message.body_size = (uint32_t)(writer.at - body);
    if (message.body_size > n_before) {
        assert_int_equal(scheme_receive(world->scheme, (node_id)node, &message,
                                        world->now_ns),
                         TM_OK);
    }
}

static inline void follow_up(struct world *world)
{
    if (world->n_tracks > 0) {
        const int is_vain = world->n_vain > 0;

        world->n_tracks = 0;
        world->n_vain -= is_vain != 0;
        scheme_tracked(world->scheme, !is_vain);
    }
    if (world->is_thinking && !world->takes_its_time) {
        world->is_thinking = 0;
        scheme_think(world->scheme);
        scheme_thought(world->scheme, 0);
    }
}

static inline void end_iteration(struct world *world, int marked,
                                 uint32_t place)
{
    unsigned first = 0;

    world->now_ns += (uint64_t)(iteration_s(world) * 1e9) + 1000;
    if (world->is_shuffled) {
        first = (unsigned)(random_below_1(world) * N_NODES);
    }
    for (unsigned i = 0; i < N_NODES; i++) {
        report(world, (first + i) % N_NODES, marked, place);
    }
    for (unsigned i = 0; marked && i < N_THREADS; i++) {
        if (world->node_of[i] != world->target[i]) {
            if (world->n_refusals > 0) {
                world->n_refusals--;
                continue;
            }
            world->node_of[i] = world->target[i];
        }
    }
    follow_up(world);
}

static inline void iterate(struct world *world, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        world->n_barriers++;
        end_iteration(world, MARKED_BY_PROGRAM, 77);
    }
}

static inline void count(const struct world *world, unsigned *n)
{
    memset(n, 0, N_NODES * sizeof *n);
    for (unsigned i = 0; i < N_THREADS; i++) {
        n[world->node_of[i]]++;
    }
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// A run in virtual time, from main() to the end: main() allocates the script's blocks,
// creates its threads, and waits for their end. All nodes are in this process; one queue of
// events (events.h) holds what will happen.
//
//   real:  engine, protocols, heap, pager with its order of replacement and its swap file's
//          slots and checksums, sync, moving of threads and pages, scheme, policies, models,
//          first mapping, the encoding of messages
//   model: links (wires.c), disks (disk.c), processors and threads (actor.c), what the
//          runtime puts around the machines (lab_node.c, reports.c, deciding.c)
#include "simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ensure.h"
#include "base/memory.h"
#include "base/options.h"
#include "protocol/protocol_rows.h"
#include "simulate/lab_priv.h"

/** Pages that a node needs at least, and more for each worker: as runtime/paging.c. */
#define LEAST_PAGES 16u
#define LEAST_PAGES_A_WORKER 8u

/** So long nothing is ahead but ticks: the run stands still. */
#define PATIENCE_NS (UINT64_C(60) * 1000000000)

/** So many events, and no iteration ends: it does, too. */
#define PATIENCE (UINT64_C(1) << 32)

/** The clock has room for twice that. */
#define TOTAL_MAX_S 9e9

/** Of a link or a disk. */
#define LATENCY_MAX_S 1000.0
#define BYTES_PER_S_MIN 1.0

static void note_woken(struct waiter *waiter)
{
    waiter->wake = NULL;
}

// Events happen until main() has what it waits for. @return 0 it stands still
static int await_main(struct lab *lab)
{
    const struct events *events = &lab->events;
    uint64_t moved_ns = events->now_ns;
    uint64_t last = lab->iteration;
    uint64_t n = 0;

    lab_node_leave(&lab->nodes[0]);
    while (lab->main.wake != NULL) {
        n = lab->iteration == last ? n + 1 : 0;
        last = lab->iteration;
        if (events->n_in_heap > lab->n_ticks_ahead) {
            moved_ns = events->now_ns;
        }
        if (n > PATIENCE || events->now_ns - moved_ns > PATIENCE_NS ||
            !events_step(&lab->events)) {
            return 0;
        }
    }
    return 1;
}

static struct waiter *main_waiter(struct lab *lab)
{
    lab->main = (struct waiter){.wake = note_woken};
    return &lab->main;
}

// ---- what main() does

static page_no allocate(struct lab *lab, uint64_t n_pages)
{
    struct lab_node *node = &lab->nodes[0];
    page_no page = 0;

    engine_alloc(node->engine, n_pages * TM_PAGE_SIZE, NULL, "", 0,
                 main_waiter(lab));
    ensure(await_main(lab));
    ensure_memory(lab->main.result != 0);
    ensure(space_find(&node->space, (const void *)(uintptr_t)lab->main.result,
                      &page));
    return page;
}

static void allocate_blocks(struct lab *lab)
{
    const struct profile_script *script = lab->simulation->script;
    page_no *pages = memory_new(script->n_blocks, sizeof *pages);

    for (uint32_t b = 0; b < script->n_blocks; b++) {
        pages[b] = allocate(lab, script->blocks[b].n_pages);
    }
    play_init(&lab->play, script, lab->simulation->n_threads, pages);
    free(pages);
    lab->barrier = (uint64_t)(uintptr_t)space_address(&lab->nodes[0].space,
                                                      allocate(lab, 1));
}

static void create_threads(struct lab *lab)
{
    struct sync *sync = lab->nodes[0].sync;
    const uint32_t n_threads = lab->simulation->n_threads;

    sync_barrier_init(sync, lab->barrier, n_threads, main_waiter(lab));
    ensure(await_main(lab) && lab->main.status == TM_OK);
    for (uint32_t i = 0; i < n_threads; i++) {
        sync_thread_create(sync, 1, i, &(tm_thread_attr){0}, main_waiter(lab));
        ensure(await_main(lab) && lab->main.status == TM_OK);
    }
}

// @return 0 the run stands still
static int run_threads(struct lab *lab)
{
    struct sync *sync = lab->nodes[0].sync;

    lab->start_ns = lab->events.now_ns;
    lab->began_ns = lab->start_ns;
    lab->main = *main_waiter(lab);
    lab->main_waits = 1;
    sync_thread_launch(sync, 0);
    sync_thread_join(sync, 0, &lab->main);
    return await_main(lab);
}

// ---- opening and closing

static void open_lab(struct lab *lab)
{
    const struct simulation *simulation = lab->simulation;
    struct wire_speed *speeds = memory_new(simulation->n_nodes, sizeof *speeds);

    for (unsigned i = 0; i < simulation->n_nodes; i++) {
        speeds[i] = simulation->nodes[i].wire;
    }
    events_init(&lab->events, simulation->seed);
    lab->wires = wires_new(&lab->events, simulation->n_nodes, speeds,
                           simulation->noise, lab_receive, lab);
    free(speeds);
    lab->nodes = memory_new(simulation->n_nodes, sizeof *lab->nodes);
    lab->actors = memory_new(simulation->n_threads, sizeof *lab->actors);
    lab->by_slot =
        memory_new((size_t)simulation->n_threads + 1, sizeof(struct actor *));
    for (uint32_t i = 0; i < simulation->n_threads; i++) {
        lab->actors[i].lab = lab;
        lab->actors[i].index = i;
        lab->actors[i].node = &lab->nodes[0];
    }
    for (unsigned i = 0; i < simulation->n_nodes; i++) {
        lab_node_open(lab, (node_id)i);
    }
    decider_open(lab);
}

static void close_lab(struct lab *lab)
{
    decider_close(lab);
    for (unsigned i = 0; i < lab->simulation->n_nodes; i++) {
        lab_node_close(&lab->nodes[i]);
    }
    wires_free(lab->wires);
    events_release(&lab->events);
    play_release(&lab->play);
    free(lab->nodes);
    free(lab->actors);
    free(lab->by_slot);
}

static void open_pagers(struct lab *lab)
{
    for (unsigned i = 0; i < lab->simulation->n_nodes; i++) {
        if (lab->simulation->nodes[i].has_budget) {
            lab_node_open_pager(&lab->nodes[i]);
        }
    }
}

// ---- what can be simulated

static double slowest_share(const struct simulated_node *node)
{
    double share = 1;

    for (uint32_t i = 0; i < node->n_loads; i++) {
        share = node->loads[i].share < share ? node->loads[i].share : share;
    }
    return share;
}

// All that is computed, one after the other on this node: no run takes longer by that.
static double longest_s(const struct simulation *simulation,
                        const struct simulated_node *node)
{
    double sum_s = 0;

    for (uint32_t i = 0; i < simulation->n_threads; i++) {
        sum_s += simulation->threads[i].computation_s;
    }
    return sum_s * (1 + simulation->noise) * simulation->n_iterations /
           node->view.power / slowest_share(node);
}

static int is_too_slow(double latency_s, double bytes_per_s)
{
    return !(latency_s <= LATENCY_MAX_S && bytes_per_s >= BYTES_PER_S_MIN);
}

static tm_status check_node(const struct simulation *simulation,
                            const struct simulated_node *node, char *error,
                            size_t size)
{
    const char *name = node->view.name;

    if (node->view.n_processors < 1 || node->view.n_processors > WORKERS_MAX) {
        snprintf(error, size, "node %s has %u processors; allowed: 1 to %d",
                 name, node->view.n_processors, WORKERS_MAX);
    } else if (!(longest_s(simulation, node) <= TOTAL_MAX_S)) {
        snprintf(error, size,
                 "on node %s, of power %g, %u iterations could take %.3g s; "
                 "allowed: up to %g: see its power, and computation_s of "
                 "threads",
                 name, node->view.power, simulation->n_iterations,
                 longest_s(simulation, node), TOTAL_MAX_S);
    } else if (is_too_slow(node->wire.latency_s, node->wire.bytes_per_s) ||
               is_too_slow(node->disk.seek_s, node->disk.bytes_per_s)) {
        snprintf(error, size,
                 "the link or the disk of node %s is too slow; allowed: up to "
                 "%g s for a message or a seek, and %g byte a second or more",
                 name, LATENCY_MAX_S, BYTES_PER_S_MIN);
    } else {
        return TM_OK;
    }
    return TM_ECONFIG;
}

static tm_status check_nodes(const struct simulation *simulation, char *error,
                             size_t size)
{
    tm_status status = TM_OK;

    if (simulation->n_nodes > TM_MAX_NODES) {
        snprintf(error, size, "there are %u nodes; allowed: 1 to %u",
                 simulation->n_nodes, TM_MAX_NODES);
        return TM_ECONFIG;
    }
    for (unsigned i = 0; status == TM_OK && i < simulation->n_nodes; i++) {
        status = check_node(simulation, &simulation->nodes[i], error, size);
    }
    return status;
}

static tm_status check_budgets(const struct simulation *simulation, char *error,
                               size_t size)
{
    for (unsigned i = 0; i < simulation->n_nodes; i++) {
        const struct simulated_node *node = &simulation->nodes[i];
        const uint64_t least = LEAST_PAGES + (uint64_t)LEAST_PAGES_A_WORKER *
                                                 node->view.n_processors;

        if (node->has_budget && node->view.memory_pages < least) {
            snprintf(error, size,
                     "node %s has %" PRIu64 " KiB for shared data and needs "
                     "%" PRIu64 " KiB at least: give it more memory=",
                     node->view.name,
                     node->view.memory_pages * TM_PAGE_SIZE >> 10,
                     least * TM_PAGE_SIZE >> 10);
            return TM_ECONFIG;
        }
    }
    return TM_OK;
}

static tm_status run(struct lab *lab, char *error, size_t size)
{
    tm_status status = TM_OK;

    open_lab(lab);
    open_pagers(lab);
    allocate_blocks(lab);
    create_threads(lab);
    if (run_threads(lab)) {
        lab_take_result(lab);
    } else {
        snprintf(error, size,
                 "internal error: the run stands still in iteration %" PRIu64
                 ", at %.6f s",
                 lab->iteration + 1, (double)lab->events.now_ns * 1e-9);
        status = TM_ESTATE;
    }
    lab->is_over = 1;
    close_lab(lab);
    return status;
}

tm_status simulate(const struct simulation *simulation,
                   struct simulation_result *result, char *error, size_t size)
{
    struct lab *lab;
    tm_status status = check_nodes(simulation, error, size);

    if (status == TM_OK) {
        status = check_budgets(simulation, error, size);
    }
    if (status != TM_OK) {
        return status;
    }
    *result = (struct simulation_result){
        .iterations =
            memory_new(simulation->n_iterations, sizeof *result->iterations),
        .nodes = memory_new(simulation->n_nodes, sizeof *result->nodes),
    };
    lab = memory_new(1, sizeof *lab);
    lab->simulation = simulation;
    lab->result = result;
    status = run(lab, error, size);
    free(lab);
    if (status != TM_OK) {
        simulation_release(result);
    }
    return status;
}

void simulation_release(struct simulation_result *result)
{
    free(result->iterations);
    free(result->nodes);
    free(result->moves);
    *result = (struct simulation_result){0};
}

const char *simulated_protocol_usual(void)
{
    for (unsigned i = 0; i < n_option_rows; i++) {
        if (strcmp(option_rows[i].name, "protocol") == 0) {
            return option_rows[i].default_value;
        }
    }
    ensure(!"there is an option for the protocol");
    return "";
}

int simulated_protocol(const char *name, tm_protocol *protocol)
{
    static const char *const names[] = {
#define PROTOCOL(symbol, id, text, no_diffs) text,
#define BLOCK_PROTOCOL(symbol, id, text, no_diffs) NULL,
#include "base/protocols.def"
    };

    for (unsigned i = 0; i < all_protocols.n; i++) {
        if (names[i] != NULL && strcmp(names[i], name) == 0) {
            *protocol = all_protocols.rows[i]->id;
            return 1;
        }
    }
    return 0;
}

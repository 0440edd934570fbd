// SPDX-License-Identifier: BSD-3-Clause
//
// What nodes have to offer, the static part of what [Liu06] collects.
//
// Power and memory are measured before the node gives its card, so that all nodes
// know them of all when the run begins; that delays the start by two milliseconds.
// Costs take longer. The observer measures them when the run has begun, and tells
// the root as soon as both parts are there:
//
//   pages     written and read where a swap file would be; the observer waits for
//             the device
//   messages  a probe of the next node (observe/probe.c), which goes on by itself as
//             answers come
//
// A probe at the start says what a message costs before the program has fetched
// anything, on all nodes alike, and not mixed with the waiting that comes from how
// threads are placed, as times of real fetches are. Nodes of one machine begin one
// after another, so that they measure the machine and not each other.
#include "observe/statics.h"
#include "base/ensure.h"
#include "base/log.h"
#include "observe/swap_cost.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/rows.h"
#include "runtime/statics.h"

#include <stdlib.h>
#include <string.h>

#define N_PARTS 2u // pages, messages

/** Between the beginnings of nodes of one machine. */
#define TURN_NS (10 * 1000 * 1000u)

void statics_measure_own(struct node *node, struct node_statics *statics)
{
    const struct options *options = &node->options;
    const struct declared declared = {
        .n_workers = node->n_workers,
        .speed = options->speed,
        .share = options->share,
        .memory = options->memory,
    };

    (void)observer_has_watch(node);
    statics_measure(statics, &declared, &node->observer.watch);
    memcpy(statics->name, node->bootstrap.name, sizeof statics->name);
}

static void make_room(struct node *node)
{
    struct statics *statics = &node->statics;

    statics->nodes = calloc(TM_MAX_NODES, sizeof *statics->nodes);
    statics->costs = calloc(TM_MAX_NODES, sizeof *statics->costs);
    ensure_memory(statics->nodes != NULL && statics->costs != NULL);
}

void statics_take(struct node *node, const struct node_card *cards)
{
    make_room(node);
    for (unsigned i = 0; i < node->n_nodes; i++) {
        node->statics.nodes[i] = cards[i].statics;
    }
}

const struct node_statics *cluster_statics(struct node *node, unsigned id)
{
    if (node->statics.nodes == NULL) { // a cluster of one
        make_room(node);
        statics_measure_own(node, &node->statics.nodes[0]);
    }
    return &node->statics.nodes[id];
}

const struct node_costs *cluster_costs(struct node *node, unsigned id)
{
    return &node->statics.costs[id];
}

static void tell_root(struct node *node, const struct node_costs *costs)
{
    struct message message = {
        .type = MESSAGE_costs,
        .u.costs = {.swap_kind = (uint8_t)costs->swap_kind,
                    .swap_in_ns = costs->swap_in_ns,
                    .swap_out_ns = costs->swap_out_ns,
                    .latency_ns = costs->latency_ns,
                    .fetch_ns = costs->fetch_ns,
                    .packet_ns = costs->packet_ns,
                    .packet_bytes = costs->packet_bytes},
    };

    port_send(&node->port, 0, &message);
}

static void part_is_measured(struct node *node)
{
    node->statics.n_measured++;
    if (node->statics.n_measured == N_PARTS) {
        engine_keep_copies(node->engine,
                           node_costs_keep_copies(&node->statics.own));
        tell_root(node, &node->statics.own);
    }
}

static void measure_swap(struct node *node)
{
    const char *folder = swap_folder(node->options.swap_dir);
    struct swap_cost cost = {0};
    char reason[256];

    if (swap_cost_measure(folder, node->options.swap_rate,
                          &node->observer.is_stopping, &cost, reason,
                          sizeof reason) != TM_OK) {
        log_debug("what swapping costs is not known: %s", reason);
    }
    node_enter(node);
    node->statics.own.swap_kind = cost.kind;
    node->statics.own.swap_in_ns = cost.in_ns.median;
    node->statics.own.swap_out_ns = cost.out_ns.median;
    part_is_measured(node);
    node_leave(node);
}

static unsigned n_before_on_machine(struct node *node)
{
    const struct node_statics *nodes = node->statics.nodes;
    unsigned n = 0;

    for (unsigned i = 0; i < node->self; i++) {
        n += nodes[i].machine == nodes[node->self].machine;
    }
    return n;
}

// The live node behind this one, in turn; this one if there is no other.
static node_id next_node(struct node *node)
{
    const struct roster *roster = &node->port.roster;

    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] > node->self) {
            return roster->live[i];
        }
    }
    return roster->live[0];
}

// A job of the observer.
static void measure_costs(void *owner)
{
    struct node *node = owner;
    node_id next;

    if (!observer_sleep(node, (uint64_t)n_before_on_machine(node) * TURN_NS)) {
        return;
    }
    node_enter(node);
    next = next_node(node); // now, for nodes may have left meanwhile
    if (next != node->self) {
        probe_start(&node->statics.probe, &node->port, next);
    } else {
        part_is_measured(node); // there is nobody to ask
    }
    node_leave(node);
    measure_swap(node);
}

tm_status statics_begin_costs(struct node *node)
{
    tm_status status = observer_run(node, measure_costs, node);

    // The service thread runs before this does: the run may be over already.
    return status == TM_ESTATE ? TM_OK : status;
}

static tm_status receive_probe(struct node *node, node_id from,
                               const struct message *message)
{
    struct statics *statics = &node->statics;
    int is_over;
    tm_status status =
        probe_receive(&statics->probe, &node->port, from, message, &is_over);

    if (status == TM_OK && is_over) {
        probe_result(&statics->probe, &statics->own);
        part_is_measured(node);
    }
    return status;
}

static double us(uint64_t ns)
{
    return (double)ns * 1e-3;
}

static void log_node(struct node *node, unsigned id)
{
    const struct node_statics *statics = cluster_statics(node, id);
    const struct node_costs *costs = cluster_costs(node, id);

    log_debug("node %u on %s: %.0f Mflop/s, speed %g declared, %u processors, "
              "%u workers, %llu of %llu MiB free; page out %.1f, in %.1f, "
              "fetched %.1f, packet %.2f us",
              id, statics->host, statics->mflops, statics->declared_speed,
              statics->n_processors, statics->n_workers,
              (unsigned long long)statics->memory_free >> 20,
              (unsigned long long)statics->memory_total >> 20,
              us(costs->swap_out_ns), us(costs->swap_in_ns),
              us(costs->fetch_ns), us(costs->packet_ns));
}

static tm_status receive_costs(struct node *node, node_id from,
                               const struct message *message)
{
    const struct message_costs *said = &message->u.costs;

    if (node->self != 0 || said->swap_kind > SWAP_IN_MEMORY) {
        return TM_EWIRE;
    }
    node->statics.costs[from] = (struct node_costs){
        .swap_kind = (enum swap_kind)said->swap_kind,
        .swap_in_ns = said->swap_in_ns,
        .swap_out_ns = said->swap_out_ns,
        .latency_ns = said->latency_ns,
        .fetch_ns = said->fetch_ns,
        .packet_ns = said->packet_ns,
        .packet_bytes = said->packet_bytes,
    };
    log_node(node, from);
    return TM_OK;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    return message->type == MESSAGE_probe ? receive_probe(node, from, message)
                                          : receive_costs(node, from, message);
}

// Until now there was nobody to tell.
static void roster_changed(struct node *node, int is_first)
{
    if (is_first && statics_begin_costs(node) != TM_OK) {
        log_error("what swapping costs here is not measured");
    }
}

const struct part part_offers = {
    .name = "offers",
    .open = part_no_step,
    .start = part_no_step,
    .tick = part_no_tick,
    .messages = {MESSAGE_probe, MESSAGE_costs},
    .receive = receive,
    .thread_arrived = part_no_thread,
    .thread_left = part_no_thread,
    .roster_changed = roster_changed,
    .stats = part_no_stats,
    .finish = part_no_step,
    .close = part_no_step,
};

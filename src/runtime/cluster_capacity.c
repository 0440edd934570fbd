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
#include "runtime/cluster_capacity.h"
#include "base/ensure.h"
#include "base/log.h"
#include "observe/own_capacity.h"
#include "observe/swap_cost.h"
#include "runtime/node.h"
#include "runtime/observer.h"

#include <stdlib.h>
#include <string.h>

#define N_PARTS 2u // pages, messages

/** Between the beginnings of nodes of one machine. */
#define TURN_NS (10 * 1000 * 1000u)

void capacity_measure_own(struct node *node, struct node_capacity *capacity)
{
    const struct options *options = &node->options;
    const struct declared declared = {
        .n_workers = node->n_workers,
        .speed = options->speed,
        .share = options->share,
        .memory = options->memory,
    };

    (void)observer_has_watch(node);
    capacity_measure(capacity, &declared, &node->observer.watch);
    memcpy(capacity->name, node->bootstrap.name, sizeof capacity->name);
}

static void make_room(struct node *node)
{
    struct cluster_capacity *capacity = &node->capacity;

    capacity->nodes = calloc(TM_MAX_NODES, sizeof *capacity->nodes);
    capacity->costs = calloc(TM_MAX_NODES, sizeof *capacity->costs);
    ensure_memory(capacity->nodes != NULL && capacity->costs != NULL);
}

void capacity_take(struct node *node, const struct boot_member *members)
{
    make_room(node);
    for (unsigned i = 0; i < node->n_nodes; i++) {
        node->capacity.nodes[i] = members[i].capacity;
    }
}

const struct node_capacity *capacity_of(struct node *node, unsigned id)
{
    if (node->capacity.nodes == NULL) { // a cluster of one
        make_room(node);
        capacity_measure_own(node, &node->capacity.nodes[0]);
    }
    return &node->capacity.nodes[id];
}

unsigned capacity_n_beside(struct node *node, unsigned n_first)
{
    return node->capacity.nodes != NULL
               ? capacity_n_sharing(node->capacity.nodes, n_first, node->self)
               : 1;
}

const struct node_costs *cluster_costs(struct node *node, unsigned id)
{
    return &node->capacity.costs[id];
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
    node->capacity.n_measured++;
    if (node->capacity.n_measured == N_PARTS) {
        engine_keep_copies(node->engine,
                           node_costs_keep_copies(&node->capacity.own));
        tell_root(node, &node->capacity.own);
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
    node->capacity.own.swap_kind = cost.kind;
    node->capacity.own.swap_in_ns = cost.in_ns.median;
    node->capacity.own.swap_out_ns = cost.out_ns.median;
    part_is_measured(node);
    node_leave(node);
}

static unsigned n_before_on_machine(struct node *node)
{
    const struct node_capacity *nodes = node->capacity.nodes;
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
        probe_start(&node->capacity.probe, &node->port, next);
    } else {
        part_is_measured(node); // there is nobody to ask
    }
    node_leave(node);
    measure_swap(node);
}

tm_status capacity_begin_costs(struct node *node)
{
    tm_status status = observer_run(node, measure_costs, node);

    // The service thread runs before this does: the run may be over already.
    return status == TM_ESTATE ? TM_OK : status;
}

static tm_status receive_probe(struct node *node, node_id from,
                               const struct message *message)
{
    struct cluster_capacity *capacity = &node->capacity;
    int is_over;
    tm_status status =
        probe_receive(&capacity->probe, &node->port, from, message, &is_over);

    if (status == TM_OK && is_over) {
        probe_result(&capacity->probe, &capacity->own);
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
    const struct node_capacity *capacity = capacity_of(node, id);
    const struct node_costs *costs = cluster_costs(node, id);

    log_debug("node %u on %s: %.0f Mflop/s, speed %g declared, %u processors, "
              "%u workers, %llu of %llu MiB free; page out %.1f, in %.1f, "
              "fetched %.1f, packet %.2f us",
              id, capacity->host, capacity->mflops, capacity->declared_speed,
              capacity->n_processors, capacity->n_workers,
              (unsigned long long)capacity->memory_free >> 20,
              (unsigned long long)capacity->memory_total >> 20,
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
    node->capacity.costs[from] = (struct node_costs){
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
    if (is_first && capacity_begin_costs(node) != TM_OK) {
        log_error("what swapping costs here is not measured");
    }
}

const struct part part_capacity = {
    .owns = OWNER_capacity,
    .receive = receive,
    .roster_changed = roster_changed,
    .save = parts_save_nothing,
};

// SPDX-License-Identifier: BSD-3-Clause
//
// What a simulation comes to: counted where it happens, and taken together at its end.
#include <string.h>

#include "base/vector.h"
#include "simulate/lab_priv.h"

static void count_pages(const struct lab *lab, uint64_t *fetched,
                        uint64_t *page_ins)
{
    for (unsigned i = 0; i < lab->simulation->n_nodes; i++) {
        struct tm_node_stats stats = {0};
        struct pager_stats paged = {0};

        engine_stats(lab->nodes[i].engine, &stats);
        if (lab->nodes[i].pager != NULL) {
            pager_stats(lab->nodes[i].pager, &paged);
        }
        *fetched += stats.pages_fetched;
        *page_ins += paged.ins;
    }
}

void lab_iteration_ends(struct lab *lab)
{
    struct simulated_iteration *iteration =
        &lab->result->iterations[lab->iteration++];

    lab->n_ended_here = 0;
    iteration->length_ns = lab->events.now_ns - lab->began_ns;
    lab->began_ns = lab->events.now_ns;
    for (unsigned i = 0; i < lab->simulation->n_nodes; i++) {
        iteration->messages += lab->nodes[i].result.messages;
        iteration->bytes += lab->nodes[i].result.bytes;
    }
    count_pages(lab, &iteration->pages_fetched, &iteration->page_ins);
}

void lab_note_move(struct lab *lab, const struct actor *actor, node_id to)
{
    struct simulation_result *result = lab->result;

    vector_reserve(result->moves, lab->room_for_moves, result->n_moves + 1);
    result->moves[result->n_moves++] = (struct simulated_move){
        .iteration = lab->iteration,
        .thread = actor->index,
        .from = actor->node->id,
        .to = to,
    };
}

static void add_times(struct simulated_times *sum,
                      const struct simulated_times *more)
{
    sum->compute_s += more->compute_s;
    sum->page_s += more->page_s;
    sum->wire_s += more->wire_s;
    sum->wait_s += more->wait_s;
}

static void take_node_result(struct lab *lab, unsigned i)
{
    struct lab_node *node = &lab->nodes[i];
    struct simulated_node_result *result = &lab->result->nodes[i];
    struct tm_node_stats stats = {0};
    struct pager_stats paged = {0};

    *result = node->result;
    engine_stats(node->engine, &stats);
    result->pages_fetched = stats.pages_fetched;
    result->updates_sent = stats.updates_sent;
    if (node->pager != NULL) {
        pager_stats(node->pager, &paged);
        result->page_ins = paged.ins;
        result->page_outs = paged.outs;
        result->copies_forgotten = paged.dropped;
        result->disk_busy_ns = disk_busy_ns(node->disk);
        result->disk_hurried = disk_n_hurried(node->disk);
    }
    for (unsigned w = 0; w < node->n_workers; w++) {
        worker_note(&node->workers[w]);
        add_times(&result->times, &node->workers[w].times);
    }
}

void lab_take_result(struct lab *lab)
{
    struct simulation_result *result = lab->result;

    result->total_ns = lab->events.now_ns - lab->start_ns;
    memcpy(result->counts, wires_counts(lab->wires), sizeof result->counts);
    for (unsigned i = 0; i < lab->simulation->n_nodes; i++) {
        take_node_result(lab, i);
    }
    for (uint32_t i = 0; i < lab->simulation->n_threads; i++) {
        result->nodes[lab->actors[i].node->id].n_threads++;
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Which threads share a node. The sizes are given; the best partition is hard to
// find, so two are made that cost little:
//
// - the threads as they are now, those that lose least moved to where threads are
//   missing: few moves;
// - blocks of thread numbers, if that cuts too much: best for most programs, whose
//   threads are numbered as their data lie.
//
// The better one is improved by swaps (partition_swaps.c), which keep the sizes.
#include "place/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/answer.h"

#define PEEL_MAX 8192u ///< threads among which each move is chosen anew
#define CLEARLY 1.1    ///< less of a cut: worth the moves

// ---- repairing ----

#define NOWHERE UINT32_MAX

struct repair {
    const struct partition_problem *problem;
    uint32_t *node_of;
    uint32_t *n_on;  ///< [n_nodes]
    double *to_node; ///< [n_nodes]: affinity of one thread
    uint32_t *list;  ///< [n_threads]: of one node
};

/** Where a thread would go, and what is won (or lost) by it. */
struct offer {
    uint32_t node; ///< NOWHERE: it must stay
    double gain;
};

static struct offer best_offer(struct repair *repair, uint32_t thread)
{
    const struct affinity *affinity = repair->problem->affinity;
    const uint32_t *counts = repair->problem->counts;
    const uint32_t own = repair->node_of[thread];
    struct offer best = {NOWHERE, 0};

    if (repair->problem->view->threads[thread].is_pinned &&
        own == repair->problem->current[thread]) {
        return best;
    }
    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        repair->to_node[repair->node_of[affinity->peers[e]]] +=
            affinity->weights[e];
    }
    for (uint32_t x = 0; x < repair->problem->view->n_nodes; x++) {
        const double gain = repair->to_node[x] - repair->to_node[own];

        if (repair->n_on[x] < counts[x] &&
            (best.node == NOWHERE || gain > best.gain)) {
            best = (struct offer){x, gain};
        }
    }
    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        repair->to_node[repair->node_of[affinity->peers[e]]] = 0;
    }
    return best;
}

static void send(struct repair *repair, uint32_t thread, uint32_t node)
{
    repair->n_on[repair->node_of[thread]]--;
    repair->n_on[node]++;
    repair->node_of[thread] = node;
}

/** Take the thread that loses least, again and again. */
static void peel(struct repair *repair, uint32_t node, uint32_t n_listed)
{
    while (repair->n_on[node] > repair->problem->counts[node]) {
        struct offer best = {NOWHERE, 0};
        uint32_t at = 0;

        for (uint32_t k = 0; k < n_listed; k++) {
            const struct offer offer = best_offer(repair, repair->list[k]);

            if (offer.node != NOWHERE &&
                (best.node == NOWHERE || offer.gain > best.gain)) {
                best = offer;
                at = k;
            }
        }
        if (best.node == NOWHERE) {
            return; // all that are left are pinned
        }
        send(repair, repair->list[at], best.node);
        repair->list[at] = repair->list[--n_listed];
    }
}

/** The same for many threads: from the highest number down, each to the first
 * node with room. */
static void peel_quickly(struct repair *repair, uint32_t node,
                         uint32_t n_listed, uint32_t *next)
{
    const uint32_t *counts = repair->problem->counts;

    while (repair->n_on[node] > counts[node] && n_listed > 0) {
        const uint32_t thread = repair->list[--n_listed];

        if (repair->problem->view->threads[thread].is_pinned) {
            continue;
        }
        while (*next < repair->problem->view->n_nodes &&
               repair->n_on[*next] >= counts[*next]) {
            ++*next;
        }
        if (*next == repair->problem->view->n_nodes) {
            return;
        }
        send(repair, thread, *next);
    }
}

static void repair_nodes(struct repair *repair, uint32_t *first)
{
    const struct cluster_view *view = repair->problem->view;
    uint32_t *const lists = repair->list;
    uint32_t next = 0;

    cluster_view_list_threads(view, repair->node_of, first, lists);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const uint32_t n = first[x + 1] - first[x];

        repair->list = lists + first[x];
        if (view->n_threads <= PEEL_MAX) {
            peel(repair, x, n);
        } else {
            peel_quickly(repair, x, n, &next);
        }
    }
    repair->list = lists;
}

void partition_repair(const struct partition_problem *problem,
                      uint32_t *node_of)
{
    const size_t n = problem->view->n_nodes;
    uint32_t *first = memory_new(n + 1, sizeof *first);
    struct repair repair = {
        .problem = problem,
        .node_of = node_of,
        .n_on = memory_new(n, sizeof(uint32_t)),
        .to_node = memory_new(n, sizeof(double)),
        .list = memory_new(problem->view->n_threads, sizeof(uint32_t)),
    };

    for (uint32_t i = 0; i < problem->view->n_threads; i++) {
        repair.n_on[node_of[i]]++;
    }
    repair_nodes(&repair, first);
    free(first);
    free(repair.n_on);
    free(repair.to_node);
    free(repair.list);
}

// ---- the better one ----

void partition_find(const struct partition_problem *problem, double worth,
                    uint32_t *node_of)
{
    const size_t n = problem->view->n_threads;
    uint32_t *blocks;
    double cut;

    memcpy(node_of, problem->current, n * sizeof *node_of);
    partition_repair(problem, node_of);
    cut = affinity_cut(problem->affinity, node_of);
    if (cut <= worth) {
        return;
    }
    blocks = memory_new(n, sizeof *blocks);
    answer_blocks(problem->view, problem->counts, blocks);
    if (affinity_cut(problem->affinity, blocks) * CLEARLY < cut) {
        memcpy(node_of, blocks, n * sizeof *node_of);
    }
    free(blocks);
    partition_swap(problem, node_of);
}

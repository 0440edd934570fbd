// SPDX-License-Identifier: BSD-3-Clause
//
// After CVM, [CVM]: as many threads as a node's power is of all power; groups
// of these sizes grown by correlation, c(i, j) = pages that both use, each from
// the thread least related to the rest; pairs swapped while that keeps more
// together; groups given to the nodes that have most of their threads.
// Memory does not come into it.
//
// Growing: the thread that comes next is looked for on the *rim* only: threads
// without a node that have affinity to the group. Of a chain that is two
// threads, of a grid the border.
//
// I1  A thread is on the rim, just once, if and only if it has no node and its
//     to_group is not 0.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/partition.h"
#include "place/policies.h"

#define GROW_MAX 4096u  ///< threads; growing takes up to their square
#define NODES_MAX 2048u ///< among which groups are exchanged
#define NOWHERE UINT32_MAX

// ---- growing ----

struct growth {
    const struct affinity *affinity;
    uint32_t *node_of;
    double *to_rest;  ///< [n_threads]: affinity to threads without a node
    double *to_group; ///< [n_threads]: of threads without one; to the group
    uint32_t *rim;    ///< [n_threads]: n_rim threads, I1
    uint32_t n_rim;
    uint32_t lowest; ///< no thread below it is without a node
};

/** Of the threads without a node, the one least related to the others. */
static uint32_t pick_seed(const struct growth *growth)
{
    uint32_t best = NOWHERE;

    for (uint32_t i = 0; i < growth->affinity->n_threads; i++) {
        if (growth->node_of[i] == NOWHERE &&
            (best == NOWHERE || growth->to_rest[i] < growth->to_rest[best])) {
            best = i;
        }
    }
    return best;
}

/** The thread most related to the group, of equals the lowest number; any if none
 * is related. */
static uint32_t pick_next(struct growth *growth)
{
    const double *to_group = growth->to_group;
    uint32_t *rim = growth->rim;
    uint32_t at = 0;

    if (growth->n_rim == 0) {
        while (growth->node_of[growth->lowest] != NOWHERE) {
            growth->lowest++;
        }
        return growth->lowest;
    }
    for (uint32_t k = 1; k < growth->n_rim; k++) {
        const double more = to_group[rim[k]] - to_group[rim[at]];

        if (more > 0 || (more == 0 && rim[k] < rim[at])) {
            at = k;
        }
    }
    const uint32_t best = rim[at];

    rim[at] = rim[--growth->n_rim];
    return best;
}

/** A thread, not on the rim any more, joins the group on a node. */
static void join_cluster(struct growth *growth, uint32_t thread, uint32_t node)
{
    const struct affinity *affinity = growth->affinity;

    growth->node_of[thread] = node;
    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        const uint32_t peer = affinity->peers[e];

        growth->to_rest[peer] -= affinity->weights[e];
        if (growth->node_of[peer] == NOWHERE) {
            if (growth->to_group[peer] == 0) {
                growth->rim[growth->n_rim++] = peer;
            }
            growth->to_group[peer] += affinity->weights[e];
        }
    }
}

static void grow(struct growth *growth, uint32_t node, uint32_t n_threads)
{
    if (n_threads > 0) {
        join_cluster(growth, pick_seed(growth), node);
    }
    for (uint32_t k = 1; k < n_threads; k++) {
        join_cluster(growth, pick_next(growth), node);
    }
    while (growth->n_rim > 0) {
        growth->to_group[growth->rim[--growth->n_rim]] = 0;
    }
}

static void begin(struct growth *growth)
{
    const struct affinity *affinity = growth->affinity;

    for (uint32_t i = 0; i < affinity->n_threads; i++) {
        growth->node_of[i] = NOWHERE;
        for (uint32_t e = affinity->first[i]; e < affinity->first[i + 1]; e++) {
            growth->to_rest[i] += affinity->weights[e];
        }
    }
}

static void grow_all(const struct partition_problem *problem, uint32_t *node_of)
{
    const size_t n = problem->view->n_threads;
    struct growth growth = {
        .affinity = problem->affinity,
        .node_of = node_of,
        .to_rest = memory_new(n, sizeof(double)),
        .to_group = memory_new(n, sizeof(double)),
        .rim = memory_new(n, sizeof(uint32_t)),
    };

    begin(&growth);
    for (uint32_t x = 0; x < problem->view->n_nodes; x++) {
        grow(&growth, x, problem->counts[x]);
    }
    free(growth.to_rest);
    free(growth.to_group);
    free(growth.rim);
}

// ---- which group goes where ----

/** Exchange the nodes of groups of one size as long as more threads stay then.
 * @param stay  [n_nodes][n_nodes]: threads of a group that are on a node now
 * @param node_for  [n_nodes]: of each group */
static void exchange_nodes(const struct partition_problem *problem,
                           const uint32_t *stay, uint32_t *node_for)
{
    const uint32_t n = problem->view->n_nodes;
    int has_won;

    do {
        has_won = 0;
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = a + 1; b < n; b++) {
                const uint32_t *of_a = stay + (size_t)a * n;
                const uint32_t *of_b = stay + (size_t)b * n;
                const uint32_t x = node_for[a];
                const uint32_t y = node_for[b];

                if (problem->counts[a] == problem->counts[b] &&
                    of_a[y] + of_b[x] > of_a[x] + of_b[y]) {
                    node_for[a] = y;
                    node_for[b] = x;
                    has_won = 1;
                }
            }
        }
    } while (has_won);
}

static void relabel(const struct partition_problem *problem, uint32_t *node_of)
{
    const uint32_t n = problem->view->n_nodes;
    uint32_t *stay;
    uint32_t *node_for;

    if (n > NODES_MAX) {
        return;
    }
    stay = memory_new((size_t)n * n, sizeof *stay);
    node_for = memory_new(n, sizeof *node_for);
    for (uint32_t x = 0; x < n; x++) {
        node_for[x] = x;
    }
    for (uint32_t i = 0; i < problem->view->n_threads; i++) {
        stay[(size_t)node_of[i] * n + problem->current[i]]++;
    }
    exchange_nodes(problem, stay, node_for);
    for (uint32_t i = 0; i < problem->view->n_threads; i++) {
        node_of[i] = node_for[node_of[i]];
    }
    free(stay);
    free(node_for);
}

// ---- all ----

static void group_threads(const struct partition_problem *problem,
                          uint32_t *node_of)
{
    if (problem->view->n_threads <= GROW_MAX) {
        grow_all(problem, node_of);
    } else {
        answer_blocks(problem->view, problem->counts, node_of);
    }
    partition_swap(problem, node_of);
    relabel(problem, node_of);
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    double *powers = memory_new(view->n_nodes, sizeof *powers);
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);
    struct affinity affinity;
    const struct partition_problem problem = {view, &affinity, counts,
                                              request->current, INFINITY};

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        powers[x] = view->nodes[x].power * view->nodes[x].n_processors;
    }
    counts_in_proportion(view->n_threads, powers, view->n_nodes, counts);
    affinity_init(&affinity, view, AFFINITY_CORRELATION, 0);
    group_threads(&problem, mapping->node_of);
    affinity_release(&affinity);
    free(powers);
    free(counts);
}

const struct policy policy_cvm = {
    .name = "cvm",
    .summary = "as CVM: threads in proportion to power, those together that "
               "share most",
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

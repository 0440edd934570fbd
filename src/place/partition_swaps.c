// SPDX-License-Identifier: BSD-3-Clause
//
// Swaps of pairs of threads.
//
// I1  to_node[i][x] is the affinity of thread i to the threads on node x.
// I2  A swap keeps the size of each group.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/partition.h"

#define TABLE_MAX (4u << 20) ///< entries of the table of I1
#define N_PASSES 8

struct swaps {
    const struct partition_problem *problem;
    uint32_t *node_of;
    uint32_t n_nodes;
    double *to_node;   ///< [n_threads][n_nodes], I1
    uint32_t *first;   ///< [n_nodes + 1]: in `members`
    uint32_t *members; ///< [n_threads], by node
    uint32_t *place;   ///< [n_threads]: in `members`
    double least;      ///< gain that counts as one
    uint32_t n_swaps;  ///< so far
};

// ---- pairs ----

static double *row_of(const struct swaps *swaps, uint32_t thread)
{
    return swaps->to_node + (size_t)thread * swaps->n_nodes;
}

static int may_move(const struct swaps *swaps, uint32_t thread)
{
    return answer_may_move(swaps->problem->view, swaps->problem->current,
                           swaps->node_of, thread);
}

static int are_alike(const struct swaps *swaps, uint32_t a, uint32_t b)
{
    const struct thread_view *threads = swaps->problem->view->threads;

    return fabs(threads[a].computation_s - threads[b].computation_s) <=
           swaps->problem->swap_within_s;
}

static double edge_between(const struct affinity *affinity, uint32_t a,
                           uint32_t b)
{
    for (uint32_t e = affinity->first[a]; e < affinity->first[a + 1]; e++) {
        if (affinity->peers[e] == b) {
            return affinity->weights[e];
        }
    }
    return 0;
}

// ---- swapping ----

/** Tell a thread's peers that it goes from one node to another. */
static void tell_peers(struct swaps *swaps, uint32_t thread, uint32_t from,
                       uint32_t to)
{
    const struct affinity *affinity = swaps->problem->affinity;

    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        double *row = row_of(swaps, affinity->peers[e]);

        row[from] -= affinity->weights[e];
        row[to] += affinity->weights[e];
    }
}

static void swap_pair(struct swaps *swaps, uint32_t a, uint32_t b)
{
    const uint32_t x = swaps->node_of[a];
    const uint32_t y = swaps->node_of[b];
    const uint32_t place = swaps->place[a];

    swaps->n_swaps++;
    tell_peers(swaps, a, x, y);
    tell_peers(swaps, b, y, x);
    swaps->node_of[a] = y;
    swaps->node_of[b] = x;
    swaps->members[place] = b;
    swaps->members[swaps->place[b]] = a;
    swaps->place[a] = swaps->place[b];
    swaps->place[b] = place;
}

/** The best partner on node y for a thread that would win `gain` there. */
static void swap_with_best(struct swaps *swaps, uint32_t thread, uint32_t y,
                           double gain)
{
    const uint32_t x = swaps->node_of[thread];
    double best_gain = swaps->least;
    uint32_t best = thread;

    for (uint32_t k = swaps->first[y]; k < swaps->first[y + 1]; k++) {
        const uint32_t other = swaps->members[k];
        const double *row = row_of(swaps, other);
        double both = gain + row[x] - row[y];

        if (both <= best_gain || !may_move(swaps, other) ||
            !are_alike(swaps, thread, other)) {
            continue;
        }
        both -= 2 * edge_between(swaps->problem->affinity, thread, other);
        if (both > best_gain) {
            best_gain = both;
            best = other;
        }
    }
    if (best != thread) {
        swap_pair(swaps, thread, best);
    }
}

/** Swap a thread with others as long as that wins something. */
static void look_at(struct swaps *swaps, uint32_t thread)
{
    const double *row = row_of(swaps, thread);

    for (uint32_t y = 0; y < swaps->n_nodes; y++) {
        const uint32_t x = swaps->node_of[thread];
        const double gain = row[y] - row[x];

        if (row[y] > 0 && y != x && may_move(swaps, thread)) {
            swap_with_best(swaps, thread, y, gain);
        }
    }
}

/** @return whether there was a swap */
static int pass(struct swaps *swaps)
{
    const uint32_t n_before = swaps->n_swaps;

    for (uint32_t i = 0; i < swaps->problem->view->n_threads; i++) {
        look_at(swaps, i);
    }
    return swaps->n_swaps > n_before;
}

static void fill_in(struct swaps *swaps)
{
    const struct affinity *affinity = swaps->problem->affinity;
    const uint32_t n = affinity->n_threads;

    for (uint32_t i = 0; i < n; i++) {
        double *row = row_of(swaps, i);

        for (uint32_t e = affinity->first[i]; e < affinity->first[i + 1]; e++) {
            row[swaps->node_of[affinity->peers[e]]] += affinity->weights[e];
        }
    }
    cluster_view_list_threads(swaps->problem->view, swaps->node_of,
                              swaps->first, swaps->members);
    for (uint32_t k = 0; k < n; k++) {
        swaps->place[swaps->members[k]] = k;
    }
}

void partition_swap(const struct partition_problem *problem, uint32_t *node_of)
{
    const size_t n_nodes = problem->view->n_nodes;
    const size_t n_threads = problem->view->n_threads;
    struct swaps swaps = {.problem = problem,
                          .node_of = node_of,
                          .n_nodes = problem->view->n_nodes,
                          .least = 1e-9 * problem->affinity->total};

    if (n_nodes * n_threads > TABLE_MAX || problem->affinity->total <= 0) {
        return;
    }
    swaps.to_node = memory_new(n_nodes * n_threads, sizeof *swaps.to_node);
    swaps.first = memory_new(n_nodes + 1, sizeof *swaps.first);
    swaps.members = memory_new(n_threads, sizeof *swaps.members);
    swaps.place = memory_new(n_threads, sizeof *swaps.place);
    fill_in(&swaps);
    for (int k = 0; k < N_PASSES && pass(&swaps); k++) {
    }
    free(swaps.to_node);
    free(swaps.first);
    free(swaps.members);
    free(swaps.place);
}

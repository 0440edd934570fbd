// SPDX-License-Identifier: BSD-3-Clause
//
// After Cohesion, [Cohesion]. Migration phase: from the node with the heaviest
// load to the one with the lightest, the thread whose move shortens the longer
// of the two most; among equals the one whose move leaves fewest pages shared
// between nodes. Exchange phase: the best swaps of pairs that compute equally
// long. A pair is weighted by page: 0 if both only read it, 1 if one writes, 2
// if both do. Memory does not come into it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/counts.h"
#include "place/partition.h"
#include "place/policies.h"

#define EQUAL 0.01 ///< threads whose times differ less compute equally long

struct migration {
    const struct cluster_view *view;
    const struct affinity *affinity;
    const uint32_t *current;
    uint32_t *node_of;
    double *loads; ///< [n_nodes]: seconds
};

static double load_by(const struct migration *migration, uint32_t thread,
                      uint32_t node)
{
    const struct node_view *it = &migration->view->nodes[node];

    return migration->view->threads[thread].computation_s /
           (it->power * it->n_processors);
}

/** Affinity to threads on one node less that to threads on another. */
static double gain_in_sharing(const struct migration *migration,
                              uint32_t thread, uint32_t from, uint32_t to)
{
    const struct affinity *affinity = migration->affinity;
    double gain = 0;

    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        const uint32_t node = migration->node_of[affinity->peers[e]];

        gain += node == to ? affinity->weights[e] : 0;
        gain -= node == from ? affinity->weights[e] : 0;
    }
    return gain;
}

/** @return the thread to go, n_threads if none makes it better */
static uint32_t choose(const struct migration *migration, uint32_t from,
                       uint32_t to)
{
    const uint32_t n = migration->view->n_threads;
    double best_s = migration->loads[from] * (1 - 1e-9);
    double best_gain = 0;
    uint32_t best = n;

    for (uint32_t i = 0; i < n; i++) {
        double longer_s;
        double gain;

        if (migration->node_of[i] != from ||
            (migration->view->threads[i].is_pinned &&
             migration->current[i] == from)) {
            continue;
        }
        longer_s = fmax(migration->loads[from] - load_by(migration, i, from),
                        migration->loads[to] + load_by(migration, i, to));
        if (longer_s > best_s * (1 + 1e-9)) {
            continue;
        }
        gain = gain_in_sharing(migration, i, from, to);
        if (best == n || longer_s < best_s * (1 - 1e-9) || gain > best_gain) {
            best_s = longer_s;
            best_gain = gain;
            best = i;
        }
    }
    return best;
}

/** Move one thread. @return whether one could be */
static int migrate(struct migration *migration)
{
    uint32_t heaviest = 0;
    uint32_t lightest = 0;
    uint32_t thread;

    for (uint32_t x = 1; x < migration->view->n_nodes; x++) {
        const double load_s = migration->loads[x];

        heaviest = load_s > migration->loads[heaviest] ? x : heaviest;
        lightest = load_s < migration->loads[lightest] ? x : lightest;
    }
    if (heaviest == lightest) {
        return 0;
    }
    thread = choose(migration, heaviest, lightest);
    if (thread == migration->view->n_threads) {
        return 0;
    }
    migration->loads[heaviest] -= load_by(migration, thread, heaviest);
    migration->loads[lightest] += load_by(migration, thread, lightest);
    migration->node_of[thread] = lightest;
    return 1;
}

static double mean_time(const struct cluster_view *view)
{
    double sum = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        sum += view->threads[i].computation_s;
    }
    return sum / view->n_threads;
}

static void run(struct migration *migration, uint32_t *counts)
{
    const struct cluster_view *view = migration->view;
    const struct partition_problem problem = {view, migration->affinity, counts,
                                              migration->current,
                                              EQUAL * mean_time(view)};

    for (uint32_t i = 0; i < view->n_threads; i++) {
        migration->loads[migration->node_of[i]] +=
            load_by(migration, i, migration->node_of[i]);
    }
    for (uint32_t k = 0; k < 4 * view->n_threads && migrate(migration); k++) {
    }
    counts_of(view, migration->node_of, counts);
    partition_swap(&problem, migration->node_of);
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    struct affinity affinity;
    struct migration migration = {
        .view = view,
        .affinity = &affinity,
        .current = request->current,
        .node_of = mapping->node_of,
        .loads = memory_new(view->n_nodes, sizeof(double)),
    };
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);

    affinity_init(&affinity, view, AFFINITY_COHESION, 0);
    memcpy(mapping->node_of, request->current,
           view->n_threads * sizeof *mapping->node_of);
    run(&migration, counts);
    affinity_release(&affinity);
    free(migration.loads);
    free(counts);
}

const struct policy policy_cohesion = {
    .name = "cohesion",
    .summary = "as Cohesion: from the heaviest node to the lightest, then "
               "exchanges of pairs that share",
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

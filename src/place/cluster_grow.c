// SPDX-License-Identifier: BSD-3-Clause
//
// Clusters grown one after the other, as CVM does it. The thread that comes next is
// looked for on the *rim* only: threads without a node that have affinity to the
// cluster. Of a chain that is two threads, of a grid the border.
//
// I1  A thread is on the rim, just once, if and only if it has no node and its
//     to_cluster is not 0.
#include <stdlib.h>

#include "place/clusters.h"

#define NOWHERE UINT32_MAX

struct growth {
    const struct affinity *affinity;
    uint32_t *node_of;
    double *to_rest;    ///< [n_threads]: affinity to threads without a node
    double *to_cluster; ///< [n_threads]: of threads without one; to the cluster
    uint32_t *rim;      ///< [n_threads]: n_rim threads, I1
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

/** The thread most related to the cluster, of equals the lowest number; any if none
 * is related. */
static uint32_t pick_next(struct growth *growth)
{
    const double *to_cluster = growth->to_cluster;
    uint32_t *rim = growth->rim;
    uint32_t at = 0;

    if (growth->n_rim == 0) {
        while (growth->node_of[growth->lowest] != NOWHERE) {
            growth->lowest++;
        }
        return growth->lowest;
    }
    for (uint32_t k = 1; k < growth->n_rim; k++) {
        const double more = to_cluster[rim[k]] - to_cluster[rim[at]];

        if (more > 0 || (more == 0 && rim[k] < rim[at])) {
            at = k;
        }
    }
    const uint32_t best = rim[at];

    rim[at] = rim[--growth->n_rim];
    return best;
}

/** A thread, not on the rim any more, joins the cluster on a node. */
static void join_cluster(struct growth *growth, uint32_t thread, uint32_t node)
{
    const struct affinity *affinity = growth->affinity;

    growth->node_of[thread] = node;
    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        const uint32_t peer = affinity->peers[e];

        growth->to_rest[peer] -= affinity->weights[e];
        if (growth->node_of[peer] == NOWHERE) {
            if (growth->to_cluster[peer] == 0) {
                growth->rim[growth->n_rim++] = peer;
            }
            growth->to_cluster[peer] += affinity->weights[e];
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
        growth->to_cluster[growth->rim[--growth->n_rim]] = 0;
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

tm_status clusters_grow(const struct cluster_problem *problem,
                        uint32_t *node_of)
{
    const size_t n = problem->view->n_threads;
    struct growth growth = {
        .affinity = problem->affinity,
        .node_of = node_of,
        .to_rest = calloc(n, sizeof(double)),
        .to_cluster = calloc(n, sizeof(double)),
        .rim = malloc(n * sizeof(uint32_t)),
    };
    tm_status status = TM_ENOMEM;

    if (growth.to_rest && growth.to_cluster && growth.rim) {
        begin(&growth);
        for (uint32_t x = 0; x < problem->view->n_nodes; x++) {
            grow(&growth, x, problem->counts[x]);
        }
        status = TM_OK;
    }
    free(growth.to_rest);
    free(growth.to_cluster);
    free(growth.rim);
    return status;
}

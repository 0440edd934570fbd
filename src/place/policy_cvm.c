// SPDX-License-Identifier: BSD-3-Clause
//
// After CVM, [CVM]: as many threads as a node's power is of all power; clusters
// of these sizes grown by correlation, c(i, j) = pages that both use, each from
// the thread least related to the rest; pairs swapped while that keeps more
// together; clusters given to the nodes that have most of their threads.
// Memory does not come into it.
#include <math.h>
#include <stdlib.h>

#include "place/clusters.h"
#include "place/counts.h"
#include "place/policies.h"

#define GROW_MAX 4096u ///< threads; growing takes up to their square

static tm_status cluster(const struct cluster_problem *problem,
                         uint32_t *node_of)
{
    tm_status status = problem->view->n_threads <= GROW_MAX
                           ? clusters_grow(problem, node_of)
                           : clusters_blocks(problem, node_of);

    if (status == TM_OK) {
        status = clusters_swap(problem, node_of);
    }
    return status == TM_OK ? clusters_relabel(problem, node_of) : status;
}

static tm_status place(const struct place_request *request,
                       struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    double *powers = malloc(view->n_nodes * sizeof *powers);
    uint32_t *counts = malloc(view->n_nodes * sizeof *counts);
    struct affinity affinity = {0};
    tm_status status = TM_ENOMEM;

    if (powers != NULL && counts != NULL) {
        for (uint32_t x = 0; x < view->n_nodes; x++) {
            powers[x] = view->nodes[x].power * view->nodes[x].n_processors;
        }
        status = counts_in_proportion(view->n_threads, powers, view->n_nodes,
                                      counts);
    }
    if (status == TM_OK) {
        status = affinity_init(&affinity, view, AFFINITY_CORRELATION, 0);
    }
    if (status == TM_OK) {
        const struct cluster_problem problem = {view, &affinity, counts,
                                                request->current, INFINITY};

        status = cluster(&problem, mapping->node_of);
    }
    affinity_release(&affinity);
    free(powers);
    free(counts);
    return status;
}

const struct policy policy_cvm = {
    .name = "cvm",
    .summary = "as CVM: threads in proportion to power, those together that "
               "share most",
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

// SPDX-License-Identifier: BSD-3-Clause
#include "place/answer.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "place/partition.h"

#define WORTH 0.005 ///< part of an iteration that a cut is worth

void answer_initial(const struct cluster_view *view, uint32_t *node_of)
{
    const uint32_t share = view->n_threads / view->n_nodes;
    const uint32_t rest = view->n_threads % view->n_nodes;
    uint32_t thread = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        for (uint32_t n = share + (x < rest); n > 0; n--) {
            node_of[thread++] = x;
        }
    }
}

void answer_blocks(const struct cluster_view *view, const uint32_t *counts,
                   uint32_t *node_of)
{
    uint32_t thread = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        for (uint32_t n = counts[x]; n > 0; n--) {
            node_of[thread++] = x;
        }
    }
}

void answer_partition(const struct place_request *request,
                      const uint32_t *counts, double iteration_s, double page_s,
                      uint32_t *node_of)
{
    const struct cluster_view *view = request->view;
    struct affinity affinity;
    const struct partition_problem problem = {view, &affinity, counts,
                                              request->current, INFINITY};

    affinity_init(&affinity, view, AFFINITY_COST, page_s);
    partition_find(&problem, WORTH * view->n_nodes * iteration_s, node_of);
    affinity_release(&affinity);
}

/** The thread to go in exchange for one that comes back to `node`. */
static uint32_t find_exchange(const struct cluster_view *view,
                              const uint32_t *node_of, uint32_t node,
                              double computation_s)
{
    uint32_t best = view->n_threads;
    double least = INFINITY;

    for (uint32_t j = 0; j < view->n_threads; j++) {
        const double difference =
            fabs(view->threads[j].computation_s - computation_s);

        if (node_of[j] == node && !view->threads[j].is_pinned &&
            difference < least) {
            least = difference;
            best = j;
        }
    }
    return best;
}

void answer_pins(const struct cluster_view *view, const uint32_t *current,
                 uint32_t *node_of)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        if (view->threads[i].is_pinned && node_of[i] != current[i]) {
            const uint32_t other = find_exchange(
                view, node_of, current[i], view->threads[i].computation_s);

            if (other < view->n_threads) {
                node_of[other] = node_of[i];
            }
            node_of[i] = current[i];
        }
    }
}

uint32_t answer_moves(const struct cluster_view *view, const uint32_t *current,
                      const uint32_t *node_of)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        n += node_of[i] != current[i];
    }
    return n;
}

double answer_time(const struct place_request *request, const uint32_t *node_of)
{
    const uint32_t n = request->view->n_nodes;
    struct prediction prediction = {
        .nodes = memory_new(n, sizeof *prediction.nodes)};

    ensure(predict(request->view, request->model, node_of, &prediction) ==
           TM_OK);
    free(prediction.nodes);
    return prediction.iteration_s;
}

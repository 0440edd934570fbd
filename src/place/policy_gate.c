// SPDX-License-Identifier: BSD-3-Clause
//
// Memory as a gate, as job schedulers use it ([Xiao02]): threads in
// proportion to power, but no node gets more than fit its memory; what is over
// goes where memory is idle, again by power. Only when all nodes are full do
// threads go where they do not fit.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"

static void find_room(const struct cluster_view *view, uint32_t *room)
{
    const double pages = cluster_view_sum_pages(view) / view->n_threads;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const double fit = pages > 0
                               ? (double)view->nodes[x].memory_pages / pages
                               : view->n_threads;

        room[x] = fit < view->n_threads ? (uint32_t)fit : view->n_threads;
    }
}

/** Share out what is left among nodes with room. @return what is still left */
static uint32_t share_out(const struct cluster_view *view, uint32_t left,
                          const double *weights, uint32_t *room,
                          uint32_t *counts)
{
    double sum = 0;
    const uint32_t n = left;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        sum += room[x] > 0 ? weights[x] : 0;
    }
    for (uint32_t x = 0; sum > 0 && x < view->n_nodes && left > 0; x++) {
        // Rounded up, so that each round shares something out.
        uint32_t share = (uint32_t)(n * weights[x] / sum + 0.999999);

        share = share < room[x] ? share : room[x];
        share = share < left ? share : left;
        counts[x] += share;
        room[x] -= share;
        left -= share;
    }
    return left;
}

/** @param[in,out] counts  in proportion at first; @param room  [n_nodes] */
static uint32_t shut_gates(const struct cluster_view *view,
                           const double *weights, uint32_t *room,
                           uint32_t *counts)
{
    uint32_t left = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (counts[x] > room[x]) {
            left += counts[x] - room[x];
            counts[x] = room[x];
        }
        room[x] -= counts[x];
    }
    for (uint32_t before = left + 1; left > 0 && left < before;) {
        before = left;
        left = share_out(view, left, weights, room, counts);
    }
    return left;
}

static void count(const struct cluster_view *view, double *weights,
                  uint32_t *room, uint32_t *more, uint32_t *counts)
{
    uint32_t left;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        weights[x] = view->nodes[x].power * view->nodes[x].n_processors;
    }
    find_room(view, room);
    counts_in_proportion(view->n_threads, weights, view->n_nodes, counts);
    left = shut_gates(view, weights, room, counts);
    counts_in_proportion(left, weights, view->n_nodes, more);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        counts[x] += more[x];
    }
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const size_t n = request->view->n_nodes;
    double *weights = memory_new(n, sizeof *weights);
    uint32_t *words = memory_new(3 * n, sizeof *words);

    count(request->view, weights, words, words + n, words + 2 * n);
    answer_blocks(request->view, words + 2 * n, mapping->node_of);
    free(weights);
    free(words);
}

const struct policy policy_gate = {
    .name = "gate",
    .summary = "in proportion to power, but not more than fit a node's memory",
    .uses_memory = 1,
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

// SPDX-License-Identifier: BSD-3-Clause
//
// After JIAJIA, [JIAJIA]: a node's power is learned from how long it took for
// what it had, power_x <- power_x / T_x, normalised; shares are in proportion,
// in contiguous blocks, and the homes of pages go along. Nothing is done while
// the times differ little. Whatever made a node slow, paging too, counts as
// lack of power; so it works around memory without knowing it, one step an
// iteration.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"

#define DEVIATION_MAX 0.05 ///< of the times, relative to their mean

/** What the nodes took: as measured, else as predicted. */
static void node_times(const struct place_request *request, double *times)
{
    const uint32_t n = request->view->n_nodes;
    struct prediction prediction = {0};

    if (request->measured != NULL) {
        for (uint32_t x = 0; x < n; x++) {
            times[x] = request->measured->nodes[x].time_s;
        }
        return;
    }
    prediction.nodes = memory_new(n, sizeof *prediction.nodes);
    ensure(predict(request->view, request->model, request->current,
                   &prediction) == TM_OK);
    for (uint32_t x = 0; x < n; x++) {
        times[x] = prediction.nodes[x].time_s;
    }
    free(prediction.nodes);
}

static int differ_little(const double *times, uint32_t n)
{
    double sum = 0;
    double squares = 0;

    for (uint32_t x = 0; x < n; x++) {
        sum += times[x];
        squares += times[x] * times[x];
    }
    const double mean = sum / n;

    return squares / n - mean * mean <
           DEVIATION_MAX * DEVIATION_MAX * mean * mean;
}

/** @param[in,out] times  become the powers */
static void learn_powers(const struct cluster_view *view,
                         const uint32_t *counts, double *times)
{
    double speed = 0; // threads a second, for one unit of power
    double power = 0;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (counts[x] > 0 && times[x] > 0) {
            times[x] = counts[x] / times[x];
            speed += times[x];
            power += view->nodes[x].power * view->nodes[x].n_processors;
        } else {
            times[x] = 0;
        }
    }
    // Of a node without threads only the static power is known.
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        if (counts[x] == 0 && power > 0) {
            times[x] = speed / power * view->nodes[x].power *
                       view->nodes[x].n_processors;
        }
    }
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    double *times = memory_new(view->n_nodes, sizeof *times);
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);

    node_times(request, times);
    if (differ_little(times, view->n_nodes)) {
        memcpy(mapping->node_of, request->current,
               view->n_threads * sizeof *mapping->node_of);
    } else {
        counts_of(view, request->current, counts);
        learn_powers(view, counts, times);
        counts_in_proportion(view->n_threads, times, view->n_nodes, counts);
        answer_blocks(view, counts, mapping->node_of);
        mapping->owners_move = 1;
    }
    free(times);
    free(counts);
}

const struct policy policy_jiajia = {
    .name = "jiajia",
    .summary = "as JIAJIA: blocks in proportion to power learned from "
               "measured times",
    .wants_uses = 1, // so that pages follow their threads
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

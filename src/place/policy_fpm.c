// SPDX-License-Identifier: BSD-3-Clause
//
// Functional performance models, [Lastovetsky07]: the speed of a node is no number but
// a function of how much it has to do, s_x(n) = n / T_x(n), which falls where memory
// ends and paging begins. All nodes end at the same time if the points (n_x, s_x(n_x))
// are on one straight line through the origin, whose slope is 1 / T; of the lines the
// steepest is looked for whose n_x add up to all threads, by halving the angle. That is
// the threshold of threshold.c, at tau = 1 / slope. What is left over by rounding down
// goes, thread by thread, where it is done first.
//
// s_x(n) is not measured point by point, as there, but is that of the demand curve:
// computation, and the paging of what n threads use together. Needed of it is what
// they need as well: no line may meet a curve twice, so T_x(n) must not fall. Shares
// are blocks of thread numbers, as there of an array. Communication does not come into
// it, and threads are taken for alike.
#include <stdlib.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);
    struct demand_curve curve;
    struct node_times times;

    demand_curve_init(&curve, view, request->model, request->current,
                      COUNT_COMP | COUNT_MEM);
    times = demand_curve_times(&curve);
    counts_from_times(&times, counts);
    answer_blocks(view, counts, mapping->node_of);
    demand_curve_release(&curve);
    free(counts);
}

const struct policy policy_fpm = {
    .name = "fpm",
    .summary = "speed as a function of what a node has, paging included; all "
               "end together",
    .uses_memory = 1,
    .wants_uses = 1,
    .place = place,
};

// SPDX-License-Identifier: BSD-3-Clause
//
// [Liang03] 3.2, the forerunner of [Liu06]'s search: one destination, and an
// end as soon as the longest time of all is not shortened. T = Tcomp + Tmem;
// threads are taken as if they shared nothing. Here to be compared with.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/counts.h"
#include "place/partition.h"
#include "place/policies.h"

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    struct affinity none = {
        .n_threads = view->n_threads,
        .first = memory_new(view->n_threads + 1ull, sizeof *none.first)};
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);
    const struct partition_problem problem = {
        .view = view,
        .affinity = &none,
        .counts = counts,
        .current = request->current,
    };
    struct demand_curve curve;

    demand_curve_init(&curve, view, request->model, request->current,
                      COUNT_COMP | COUNT_MEM);
    counts_of(view, request->current, counts);
    counts_search(&curve, STEPS_LIANG03, counts);
    memcpy(mapping->node_of, request->current,
           view->n_threads * sizeof *mapping->node_of);
    partition_repair(&problem, mapping->node_of);
    demand_curve_release(&curve);
    free(none.first);
    free(counts);
}

const struct policy policy_liang03 = {
    .name = "liang03",
    .summary = "the search of [Liang03]: computation and memory, one pair of "
               "nodes after the other",
    .uses_memory = 1,
    .wants_uses = 1,
    .place = place,
};

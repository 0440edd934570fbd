// SPDX-License-Identifier: BSD-3-Clause
//
// After Halda, by which prima.cpp shares out the layers of a language model, [Prima]: a
// node that gets more layers than fit its memory is not forbidden, but pays for it, each
// page that lacks once in each iteration, at the rate of its disk:
//
//     T_x(n) = ceil(n / p_x) t / C_x + max(0, n m - M_x) t_spi + 2 t_packet
//
// with t and m of a layer, here of a mean thread. All layers are alike, none shares
// anything with another, weights are only read, so that nothing is written to the disk;
// a node with layers has one packet to take and one to send. Layers are in order, so
// threads are in blocks.
//
// Different here: a token passes the machines one after the other, so Halda minimises
// the sum of T_x, by integer linear programs, one for each set of nodes that are short.
// Here nodes work side by side, so it is the longest T_x that counts, and for that the
// threshold finds the optimum at once.
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/terms.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"

struct devices {
    const struct cluster_view *view;
    struct node_rates *rates; ///< [n_nodes]
    double layer_s;
    double layer_pages;
};

static double time_of_layers(const void *of, uint32_t node, uint32_t n)
{
    const struct devices *devices = of;
    const struct node_rates *rates = &devices->rates[node];
    const double lack = n * devices->layer_pages - rates->memory_pages;

    if (n == 0) {
        return 0;
    }
    return ceil((double)n / devices->view->nodes[node].n_processors) *
               devices->layer_s * rates->comp +
           fmax(lack, 0) * rates->in_s + 2 * rates->packet_s;
}

static void look_at_layers(struct devices *devices,
                           const struct cost_model *model)
{
    const struct cluster_view *view = devices->view;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        rates_compute(view, model, x, &devices->rates[x]);
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        devices->layer_s += view->threads[i].computation_s / view->n_threads;
    }
    devices->layer_pages = cluster_view_sum_pages(view) / view->n_threads;
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const struct cluster_view *view = request->view;
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);
    uint32_t *floors = memory_new(view->n_nodes, sizeof *floors);
    struct devices devices = {
        .view = view,
        .rates = memory_new(view->n_nodes, sizeof *devices.rates),
    };

    look_at_layers(&devices, request->model);
    counts_of_pinned(view, request->current, floors);
    counts_from_times(&(struct node_times){&devices, time_of_layers,
                                           view->n_nodes, view->n_threads,
                                           floors},
                      counts);
    answer_blocks(view, counts, mapping->node_of);
    free(devices.rates);
    free(counts);
    free(floors);
}

const struct policy policy_halda = {
    .name = "halda",
    .summary = "as prima.cpp's Halda: blocks, and what lacks of memory at the "
               "price of the disk",
    .uses_memory = 1,
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

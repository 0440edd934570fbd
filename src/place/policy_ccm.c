// SPDX-License-Identifier: BSD-3-Clause
//
// After CCM, [Lifflander24]: the work of a node is what it computes and what it sends,
//
//     W_x = alpha Tcomp_x + beta Tcomm_x,    alpha = beta = 1, both being seconds here
//
// and memory is a bound: no mapping may need more than there is, as long as there is one
// that does not. The longest W_x is to be short, by giving threads away and by swaps,
// pages that threads share counting once where they are together. Their further terms
// are left out: traffic within a node, which costs nothing here, and what it costs to
// be away from one's first node.
//
// There nodes hear of each other by gossip and exchange clusters of tasks in pairs; here
// one node knows all: pairs are swapped so that what shares comes together
// (partition_swaps.c), then refine.c exchanges threads. For it the bound is a price: each
// page that does not fit costs BOUND times the whole iteration, so that what lacks is
// got rid of before anything else counts, and where it cannot be, it is spread. It
// begins from the mapping in force and from that of `waterfill`, and takes the better
// one; in clusters that are too large for a load table, that of `waterfill`.
//
// What lack of memory really costs it does not look at.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/load_table.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/partition.h"
#include "place/policies.h"
#include "place/refine.h"

#define BOUND 1e3     ///< iterations, for a page that does not fit
#define TRIALS 10000u ///< by default
#define BETTER (1e-6) ///< part by which more moves must be better

/** From now on a page that does not fit costs more than all else. */
static void make_memory_a_bound(struct load_table *table, double price_s)
{
    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        table->rates[x].in_s = price_s;
        table->rates[x].out_s = price_s;
        table->rates[x].fetch_s = price_s;
    }
}

/** The longest W_x of a mapping, which is in the table then. */
static double work_of(struct load_table *table, const uint32_t *node_of)
{
    load_table_put_all(table, node_of);
    load_table_settle(table);
    return load_table_longest(table, NULL);
}

/** Threads that share come together, by swaps of pairs, if that is better.
 * @param[in,out] node_of  a mapping that may be changed */
static void gather_sharers(struct load_table *table,
                           const struct place_request *request,
                           uint32_t *node_of)
{
    const struct cluster_view *view = request->view;
    uint32_t *counts = memory_new(view->n_nodes, sizeof *counts);
    uint32_t *swapped = memory_new(view->n_threads, sizeof *swapped);
    struct affinity affinity;
    const struct partition_problem problem = {view, &affinity, counts,
                                              request->current, INFINITY};

    affinity_init(&affinity, view, AFFINITY_COST, 0);
    counts_of(view, node_of, counts);
    memcpy(swapped, node_of, view->n_threads * sizeof *node_of);
    partition_swap(&problem, swapped);
    if (work_of(table, swapped) < work_of(table, node_of)) {
        memcpy(node_of, swapped, view->n_threads * sizeof *node_of);
    }
    affinity_release(&affinity);
    free(counts);
    free(swapped);
}

/** Exchange threads, beginning from a mapping, which is changed.
 * @return the longest W_x */
static double exchange(struct load_table *table,
                       const struct place_request *request, uint32_t *node_of)
{
    struct refine_limits limits = {
        request->effort > 0 ? request->effort * 1000ull : TRIALS, 0};

    gather_sharers(table, request, node_of);
    (void)work_of(table, node_of);
    refine(table, request->current, &limits);
    refine_fewer_moves(table, request->current);
    memcpy(node_of, table->node_of, request->view->n_threads * sizeof *node_of);
    return load_table_longest(table, NULL);
}

static void take_better(struct load_table *table,
                        const struct place_request *request, uint32_t *node_of)
{
    const size_t size = request->view->n_threads * sizeof *node_of;
    uint32_t *from_current =
        memory_new(request->view->n_threads, sizeof *from_current);
    const double poured_s = exchange(table, request, node_of);

    memcpy(from_current, request->current, size);
    if (exchange(table, request, from_current) <= poured_s * (1 + BETTER)) {
        memcpy(node_of, from_current, size);
    }
    free(from_current);
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    struct load_table table;

    policy_waterfill.place(request, mapping);
    answer_pins(request->view, request->current, mapping->node_of);
    if (!load_table_fits(request->view)) {
        return;
    }
    load_table_init(&table, request->view, request->model);
    make_memory_a_bound(&table, BOUND * mapping->before_s);
    take_better(&table, request, mapping->node_of);
    load_table_release(&table);
}

const struct policy policy_ccm = {
    .name = "ccm",
    .summary = "computation and communication, with memory as a bound",
    .uses_memory = 1,
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place,
};

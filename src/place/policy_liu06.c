// SPDX-License-Identifier: BSD-3-Clause
//
// The policies of [Liu06] section 5: `cpu`, `mem` and `cpu-mem`, the default.
//
// First subphase: counts by steps (1) to (5), with the plateau walk, for
// T = Tcomp, T = Tmem, or T = Tcomp + Tmem + Tcomm. In large clusters, where
// the steps would take seconds, the threshold gives counts that are as good.
// Second subphase: which threads, so that least is shared between nodes.
//
// `cpu-mem` adds what the papers leave open:
//
// - a third subphase for threads that differ, search.c;
// - all threads on one node, which sends nothing, as a candidate of its own;
// - the mapping in force and the initial one as candidates: the answer is never
//   worse than either under the model;
// - moves that shorten nothing are taken back.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"
#include "place/search.h"

#define STEPS_MAX 200000u ///< nodes times threads that are searched by steps
#define CURVE 1.0075      ///< times the curve's optimum: as good

struct liu06 {
    const struct place_request *request;
    struct demand_curve curve;
    uint32_t *counts; ///< [n_nodes]
};

// ---- the two subphases ----

static void find_counts(struct liu06 *liu06)
{
    const struct cluster_view *view = liu06->request->view;

    const struct node_times times = demand_curve_times(&liu06->curve);

    if ((uint64_t)view->n_nodes * view->n_threads > STEPS_MAX) {
        counts_from_times(&times, liu06->counts);
        return;
    }
    counts_of(view, liu06->request->current, liu06->counts);
    counts_search(&liu06->curve, STEPS_LIU06, liu06->counts);
}

/** Seconds that a page costs which two nodes hold instead of one: what paging
 * costs, in the mean over nodes of which some are short. */
static double page_cost(const struct liu06 *liu06)
{
    const struct demand_curve *curve = &liu06->curve;
    double sum = 0;

    for (uint32_t x = 0; x < curve->n_nodes; x++) {
        if (node_demand(&curve->points[liu06->counts[x]]) >
            curve->rates[x].memory_pages) {
            sum += curve->rates[x].in_s + curve->rates[x].out_s;
        }
    }
    return sum / curve->n_nodes;
}

static void liu06_release(struct liu06 *liu06)
{
    demand_curve_release(&liu06->curve);
    free(liu06->counts);
}

/** Both subphases. @param[out] liu06  liu06_release() frees it */
static void run(struct liu06 *liu06, const struct place_request *request,
                unsigned terms, uint32_t *node_of)
{
    liu06->request = request;
    liu06->counts = memory_new(request->view->n_nodes, sizeof *liu06->counts);
    demand_curve_init(&liu06->curve, request->view, request->model,
                      request->current, terms);
    find_counts(liu06);
    answer_partition(request, liu06->counts,
                     demand_curve_iteration(&liu06->curve, liu06->counts),
                     page_cost(liu06), node_of);
}

static void place_terms(const struct place_request *request,
                        struct mapping *mapping, unsigned terms)
{
    struct liu06 liu06;

    run(&liu06, request, terms, mapping->node_of);
    liu06_release(&liu06);
}

static void place_cpu(const struct place_request *request,
                      struct mapping *mapping)
{
    place_terms(request, mapping, COUNT_COMP);
}

static void place_mem(const struct place_request *request,
                      struct mapping *mapping)
{
    place_terms(request, mapping, COUNT_MEM);
}

// ---- all on one node ----

/** Where this takes least, by the curve but for what is sent, which is nothing then. */
static void offer_one_node(struct search *search, struct liu06 *liu06)
{
    struct demand_curve *curve = &liu06->curve;
    const uint32_t n = curve->n_threads;
    uint32_t best = 0;

    curve->terms = COUNT_COMP | COUNT_MEM;
    for (uint32_t x = 1; x < curve->n_nodes; x++) {
        if (demand_curve_time(curve, x, n) <
            demand_curve_time(curve, best, n)) {
            best = x;
        }
    }
    if (demand_curve_time(curve, best, n) >= search->best_s) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        search->candidate[i] = best;
    }
    search_offer(search);
}

// ---- cpu-mem ----

/** With threads that are alike the curve's optimum is the optimum; if the mapping
 * is about as good, there is nothing to search for. */
static int is_as_the_curve(const struct search *search,
                           const struct liu06 *liu06)
{
    return liu06->curve.are_alike &&
           search->best_s <=
               CURVE * demand_curve_iteration(&liu06->curve, liu06->counts);
}

static void offer_all(struct search *search)
{
    const struct place_request *request = search->request;
    struct liu06 liu06;
    int is_as_the_curve_says;

    answer_initial(request->view, search->candidate);
    if (answer_moves(request->view, request->current, search->candidate) > 0) {
        search_offer(search);
    }
    run(&liu06, request, COUNT_ALL, search->candidate);
    search_offer(search);
    is_as_the_curve_says = is_as_the_curve(search, &liu06);
    offer_one_node(search, &liu06);
    liu06_release(&liu06);
    if (!is_as_the_curve_says) {
        search_refine(search);
    }
}

static void place_cpu_mem(const struct place_request *request,
                          struct mapping *mapping)
{
    const size_t n = request->view->n_threads;
    struct search search = {.request = request,
                            .best = mapping->node_of,
                            .best_s = mapping->before_s,
                            .candidate = memory_new(n, sizeof(uint32_t))};

    memcpy(mapping->node_of, request->current, n * sizeof *request->current);
    offer_all(&search);
    free(search.candidate);
}

const struct policy policy_cpu = {
    .name = "cpu",
    .summary = "[Liu06] with computation alone",
    .wants_uses = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place_cpu,
};

const struct policy policy_mem = {
    .name = "mem",
    .summary = "[Liu06] with memory alone",
    .uses_memory = 1,
    .wants_uses = 1,
    .ignores_power = 1,
    .held_to = HELD_TO_PROMISE,
    .place = place_mem,
};

const struct policy policy_cpu_mem = {
    .name = "cpu-mem",
    .summary = "[Liu06] with computation, memory and communication",
    .uses_memory = 1,
    .wants_uses = 1,
    .place = place_cpu_mem,
};

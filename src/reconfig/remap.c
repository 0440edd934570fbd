// SPDX-License-Identifier: BSD-3-Clause
//
// From the history, the nodes' static information and the tracked pages to a
// cluster_view, and from that to a mapping.
//
//   zeros --remap_begin--> begun --remap_make--> made --remap_release--> zeros
#include "reconfig/remap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/memory.h"
#include "base/robust.h"

/** A thread whose work is so near that of its node's usual thread is like it. */
#define ALIKE 0.25

/** Or so many times as near as its own work is to itself. */
#define NOISE 3.0

/** Of a node's threads so many must be alike for one of them to be usual. */
#define MOST 0.65

/** Nodes whose usual threads differ by more have different threads. */
#define ALIKE_NODES 1.8

/** Or more, if some of them page: there caches are cold, and what faults take is not
 * all known. */
#define ALIKE_PAGING 4.0

/** A node that spends more of its time on paging tells less of its threads. */
#define LITTLE_PAGING 0.2

/** Pages that come with one fetch, of up to 64: what threads go through in order
 * comes in groups, the rest one by one. */
#define FETCHED_TOGETHER 16.0

static void allocate(struct remap *plan, uint32_t n_threads, unsigned n_nodes)
{
    plan->numbers = memory_new(n_threads, sizeof *plan->numbers);
    plan->current = memory_new(n_threads, sizeof *plan->current);
    plan->wanted = memory_new(n_threads, sizeof *plan->wanted);
    plan->measured.nodes = memory_new(n_nodes, sizeof *plan->measured.nodes);
    plan->errors_s = memory_new(n_nodes, sizeof *plan->errors_s);
    plan->before.nodes = memory_new(n_nodes, sizeof *plan->before.nodes);
    plan->after.nodes = memory_new(n_nodes, sizeof *plan->after.nodes);
    ensure(cluster_view_init(&plan->view, n_nodes, n_threads) == TM_OK);
}

static int compare_threads(const void *left, const void *right)
{
    const struct history_thread *a = left;
    const struct history_thread *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

// ---- threads that are alike
//
// Who measures equal threads gets unequal numbers: another job disturbs one of them,
// a node's cache suits one better. A policy that believes them moves threads about
// for differences that stay behind, or were none. So:
//
// - A thread that works about as much as the node's threads in the median, or is off
//   by no more than what its own iterations differ by, is taken to work as much.
// - If that is so for most threads of each node, the medians of nodes are not far
//   apart, and threads are alike, then what they differ by is the node, not the
//   thread: correct() has a factor for it.

// @param works  [n_threads] for those of the node
// @return the median of its threads' works, 0 if it has none
static double usual_work(const struct remap *plan, uint32_t node, double *works)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        if (plan->current[i] == node) {
            works[n++] = plan->view.threads[i].computation_s;
        }
    }
    return robust_median(works, n);
}

static int is_usual(const struct remap *plan, const double *noises_s,
                    uint32_t thread, double usual_s)
{
    double off_s = fabs(plan->view.threads[thread].computation_s - usual_s);

    return off_s <= ALIKE * usual_s || off_s <= NOISE * noises_s[thread];
}

// @return whether most of the node's threads are alike; they are level then
static int level_node(struct remap *plan, uint32_t node, double usual_s,
                      const double *noises_s)
{
    uint32_t n = 0;
    uint32_t n_usual = 0;

    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        if (plan->current[i] == node) {
            n++;
            n_usual += is_usual(plan, noises_s, i, usual_s) != 0;
        }
    }
    if (n_usual < MOST * n) {
        return 0;
    }
    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        if (plan->current[i] == node && is_usual(plan, noises_s, i, usual_s)) {
            plan->view.threads[i].computation_s = usual_s;
        }
    }
    return 1;
}

struct span {
    double least_s, most_s, sum_s;
    uint32_t n;
};

static void span_add(struct span *span, double s)
{
    span->least_s = span->n > 0 ? fmin(span->least_s, s) : s;
    span->most_s = fmax(span->most_s, s);
    span->sum_s += s;
    span->n++;
}

// @param usual_s  [n_nodes] 0: the node has no threads
// @return the mean of a thread, of nodes that page little if there are any; 0 if
//         nodes are too far apart
static double usual_of_all(const struct remap *plan, const double *usual_s)
{
    struct span all = {0};
    struct span calm = {0};

    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        const uint32_t node = plan->current[i];

        span_add(&all, usual_s[node]);
        if (!node_pages_more(&plan->measured.nodes[node], LITTLE_PAGING)) {
            span_add(&calm, usual_s[node]);
        }
    }
    if (calm.n > 0 && calm.n < all.n &&
        calm.most_s <= ALIKE_NODES * calm.least_s &&
        all.most_s <= ALIKE_PAGING * calm.sum_s / calm.n &&
        all.least_s * ALIKE_NODES >= calm.sum_s / calm.n) {
        return calm.sum_s / calm.n;
    }
    return all.most_s <= ALIKE_NODES * all.least_s ? all.sum_s / all.n : 0;
}

static void level_nodes(struct remap *plan, const double *usual_s)
{
    double mean_s = usual_of_all(plan, usual_s);

    for (uint32_t i = 0; mean_s > 0 && i < plan->view.n_threads; i++) {
        plan->view.threads[i].computation_s *=
            mean_s / usual_s[plan->current[i]];
    }
}

// @param noises_s  [n_threads]
static void level_works(struct remap *plan, const double *noises_s)
{
    double *works = memory_new(plan->view.n_threads, sizeof *works);
    double *usual_s = memory_new(plan->view.n_nodes, sizeof *usual_s);
    int are_alike = 1;

    for (uint32_t x = 0; x < plan->view.n_nodes; x++) {
        usual_s[x] = usual_work(plan, x, works);
        are_alike &= level_node(plan, x, usual_s[x], noises_s);
    }
    if (are_alike) {
        level_nodes(plan, usual_s);
    }
    free(works);
    free(usual_s);
}

// In the order of their numbers: policies that make blocks of neighbours, and
// who reads an explanation, expect it.
static void copy_threads(struct remap *plan, const struct history *history)
{
    uint32_t n;
    const struct history_thread *threads = history_threads(history, &n);
    struct history_thread *sorted = memory_new(n, sizeof *sorted);
    double *noises_s = memory_new(n, sizeof *noises_s);

    memcpy(sorted, threads, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_threads);
    for (uint32_t i = 0; i < n; i++) {
        plan->numbers[i] = sorted[i].number;
        plan->current[i] = sorted[i].node;
        plan->view.threads[i].computation_s =
            history_work_s(history, &sorted[i]);
        plan->view.threads[i].is_pinned = (uint32_t)sorted[i].number == 0;
        noises_s[i] = history_noise_s(history, &sorted[i]);
    }
    level_works(plan, noises_s);
    free(sorted);
    free(noises_s);
}

void remap_measure(const struct history *history, unsigned n_nodes,
                   struct measurement *measured)
{
    double busiest_s = 0;

    for (uint32_t x = 0; x < n_nodes; x++) {
        struct node_measurement *node = &measured->nodes[x];
        struct history_node usual;

        history_node(history, (node_id)x, &usual);
        node->time_s = usual.busy_s;
        node->comp_s = usual.comp_s;
        node->mem_s = usual.mem_s;
        node->swap_out_s = fmin(usual.out_s, usual.mem_s);
        node->swap_in_s = usual.mem_s - node->swap_out_s;
        node->lack_pages = (uint64_t)usual.pages_in;
        node->comm_s = fmax(0, usual.busy_s - usual.comp_s - usual.mem_s);
        busiest_s = fmax(busiest_s, usual.busy_s);
    }
    measured->iteration_s = busiest_s;
}

static void measure_errors(struct remap *plan, const struct history *history)
{
    plan->slowest_error_s = history_slowest_error_s(history, HISTORY_WINDOW);
    for (uint32_t x = 0; x < plan->view.n_nodes; x++) {
        plan->errors_s[x] = history_node_error_s(history, (node_id)x);
    }
}

tm_status remap_begin(struct remap *plan, const struct policy *policy,
                      const struct cost_model *equations,
                      const struct history *history,
                      const struct node_view *nodes, unsigned n_nodes,
                      const struct correction *corrections)
{
    uint32_t n_threads;

    history_threads(history, &n_threads);
    if (n_threads == 0) {
        return TM_ESTATE;
    }
    allocate(plan, n_threads, n_nodes);
    memcpy(plan->view.nodes, nodes, n_nodes * sizeof *nodes);
    remap_measure(history, n_nodes, &plan->measured); // levelling wants it
    measure_errors(plan, history);
    copy_threads(plan, history);
    plan->policy = policy;
    plan->n_untracked = plan->view.n_threads;
    plan->iteration = history_n_closed(history);
    plan->model = *equations;
    plan->model.corrections =
        cost_model_is_corrected(equations) ? corrections : NULL;
    return TM_OK;
}

void remap_set_uses(struct remap *plan, remap_uses_fn *uses, void *owner)
{
    plan->uses = uses;
    plan->uses_owner = owner;
}

static tm_status add_uses(struct remap *plan)
{
    uint32_t n = plan->view.n_threads;
    const struct page_use **pages = memory_new(n, sizeof *pages);
    size_t *n_pages = memory_new(n, sizeof *n_pages);
    tm_status status;

    plan->n_untracked = 0;
    for (uint32_t i = 0; i < n; i++) {
        pages[i] = plan->uses(plan->uses_owner, plan->numbers[i], &n_pages[i]);
        plan->n_untracked += pages[i] == NULL;
    }
    status = groups_build(&plan->view, pages, n_pages);
    free(pages);
    free(n_pages);
    return status;
}

// Note the groups of a node's threads, those of one kind: that stay, or that come.
// @return pages of groups that were not noted before
static double note_groups(const struct remap *plan, uint32_t node, int comes,
                          unsigned char *is_noted)
{
    const struct cluster_view *view = &plan->view;
    double pages = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *it = &view->threads[i];

        if (comes ? plan->wanted[i] != node || plan->current[i] == node
                  : plan->current[i] != node) {
            continue;
        }
        for (uint32_t u = 0; u < it->n_uses; u++) {
            uint32_t group = view->uses[it->first_use + u].group;

            pages += is_noted[group] ? 0 : view->group_pages[group];
            is_noted[group] = 1;
        }
    }
    return pages;
}

// A page of those that come in groups.
static double arrival_s(const struct node_view *node)
{
    return node->fetch_s / FETCHED_TOGETHER +
           node->packet_s * TM_PAGE_SIZE / node->packet_bytes;
}

// Nodes fetch at the same time, each one page after the other.
static void compute_warm_up(struct remap *plan)
{
    const size_t n = plan->view.n_groups;
    unsigned char *is_noted = memory_new(n, 1);

    plan->warm_up_s = 0;
    for (uint32_t x = 0; x < plan->view.n_nodes; x++) {
        memset(is_noted, 0, n);
        note_groups(plan, x, 0, is_noted);
        plan->warm_up_s =
            fmax(plan->warm_up_s, note_groups(plan, x, 1, is_noted) *
                                      arrival_s(&plan->view.nodes[x]));
    }
    free(is_noted);
}

static void predict_mapping(const struct remap *plan, const uint32_t *node_of,
                            struct prediction *prediction)
{
    ensure(predict(&plan->view, &plan->model, node_of, prediction) == TM_OK);
}

// What pages are lacking on the reference processor is known once the pages of the mapping
// in force are counted; its costs need not be right for that. (The reference is also for who
// asks a profile about [Liu06]'s model if another one has run.)
static void predict_now(struct remap *plan)
{
    struct reference *reference = &plan->model.reference;
    const uint32_t x =
        reference_choose(&plan->view, &plan->measured, reference);

    predict_mapping(plan, plan->current, &plan->before);
    reference_set_lack(reference, &plan->view.nodes[x],
                       plan->before.nodes[x].demand_pages);
    if (cost_kind_needs_reference(plan->model.kind)) {
        predict_mapping(plan, plan->current, &plan->before);
    }
}

tm_status remap_make(struct remap *plan)
{
    const struct place_request request = {
        .view = &plan->view,
        .model = &plan->model,
        .current = plan->current,
        .measured = &plan->measured,
    };
    struct mapping mapping = {.node_of = plan->wanted};
    const tm_status status = plan->uses != NULL ? add_uses(plan) : TM_OK;

    if (status != TM_OK) {
        return status;
    }
    predict_now(plan);
    ensure(policy_place(plan->policy, &request, &mapping) == TM_OK);
    plan->n_moves = mapping.n_moves;
    plan->owners_move = mapping.owners_move;
    plan->is_proven = mapping.is_proven;
    predict_mapping(plan, plan->wanted, &plan->after);
    compute_warm_up(plan);
    return TM_OK;
}

double remap_gain_error_s(const struct remap *plan)
{
    const uint32_t from = plan->before.slowest;
    const uint32_t to = plan->after.slowest;
    const double before_s = plan->before.nodes[to].time_s;
    double from_s = plan->errors_s[from];
    double to_s = before_s > 0
                      ? plan->errors_s[to] * plan->after.iteration_s / before_s
                      : plan->errors_s[to];

    // One node is off by the same part before and after.
    return from == to ? fabs(from_s - to_s) : hypot(from_s, to_s);
}

void remap_release(struct remap *plan)
{
    cluster_view_release(&plan->view);
    free(plan->numbers);
    free(plan->current);
    free(plan->wanted);
    free(plan->measured.nodes);
    free(plan->errors_s);
    free(plan->before.nodes);
    free(plan->after.nodes);
    memset(plan, 0, sizeof *plan);
}

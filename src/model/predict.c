// SPDX-License-Identifier: BSD-3-Clause
//
// From a mapping to each node's load, and from there to its terms (terms.c).
//
// The threads are sorted by node. One pass over their uses then makes the
// *holdings*, one for each pair of a node and a group that it uses: what its
// threads together do with the group. Sorted by group, the holdings of a group
// name the nodes that share it: they say what is foreign, and who sends updates
// to whom.
//
// I1  A node's holdings follow each other, in the order in which its threads,
//     by number, first use the groups.
// I2  A common group has holdings only of nodes that write it; every node with
//     threads holds it. So it takes no time how many read it.
// I3  The union of diffs of a page is their sum, at most a page: threads of a
//     program without data races write different bytes.
#include "model/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/memory.h"
#include "model/lru.h"
#include "model/terms.h"
#include "model/workers.h"

#define NONE UINT32_MAX

/** What a node's threads together do with a group. */
struct holding {
    uint32_t group;
    uint32_t node;
    uint32_t diff_bytes; ///< of one page, union of its threads'
    uint32_t flags;
};

struct work {
    const struct cluster_view *view;
    const struct cost_model *model;
    uint32_t *first_thread;   ///< [n_nodes + 1]: in `threads`
    uint32_t *threads;        ///< [n_threads], by node, then by number
    double *times;            ///< [n_threads]: t, in that order
    uint32_t n_occupied;      ///< nodes with threads
    double common_pages;      ///< of all common groups
    struct holding *holdings; ///< [n_uses or less], by node (I1)
    uint32_t *first_holding;  ///< [n_nodes + 1]
    uint32_t *first_of_group; ///< [n_groups + 1]: in `by_group`
    uint32_t *by_group;       ///< [holdings]: indices
    uint32_t *last_holding;   ///< [n_groups]
    double *bytes_to;         ///< [n_nodes]
    double bytes_to_all;      ///< to every other node with threads
    double *missed;           ///< [n_groups], for LRU
    uint32_t *order;          ///< [2 n_uses], for LRU
};

// ---- threads by node ----

static void sort_threads(struct work *work, const uint32_t *node_of)
{
    const struct cluster_view *view = work->view;

    cluster_view_list_threads(view, node_of, work->first_thread, work->threads);
    for (uint32_t k = 0; k < view->n_threads; k++) {
        work->times[k] = view->threads[work->threads[k]].computation_s;
    }
}

static int is_occupied(const struct work *work, uint32_t node)
{
    return work->first_thread[node + 1] > work->first_thread[node];
}

static void count_occupied(struct work *work)
{
    for (uint32_t x = 0; x < work->view->n_nodes; x++) {
        work->n_occupied += is_occupied(work, x) != 0;
    }
}

// ---- holdings ----

static void hold(struct work *work, uint32_t node, const struct use *use)
{
    uint32_t *last = &work->last_holding[use->group];

    if (*last == NONE || work->holdings[*last].node != node) {
        *last = work->first_holding[node + 1]++;
        work->holdings[*last] =
            (struct holding){.group = use->group, .node = node};
    }
    struct holding *holding = &work->holdings[*last];

    holding->flags |= use->flags;
    holding->diff_bytes += use->diff_bytes;
    if (holding->diff_bytes > TM_PAGE_SIZE) {
        holding->diff_bytes = TM_PAGE_SIZE; // I3
    }
}

static void gather_holdings(struct work *work)
{
    const struct cluster_view *view = work->view;

    memset(work->last_holding, 0xff, view->n_groups * sizeof(uint32_t));
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        work->first_holding[x + 1] = work->first_holding[x];
        for (uint32_t k = work->first_thread[x]; k < work->first_thread[x + 1];
             k++) {
            const struct thread_view *it = &view->threads[work->threads[k]];

            for (uint32_t u = 0; u < it->n_uses; u++) {
                hold(work, x, &view->uses[it->first_use + u]);
            }
        }
    }
}

static void sort_holdings(struct work *work)
{
    const uint32_t n = work->first_holding[work->view->n_nodes];
    uint32_t *first = work->first_of_group;

    for (uint32_t h = 0; h < n; h++) {
        first[work->holdings[h].group + 1]++;
    }
    for (uint32_t g = 0; g < work->view->n_groups; g++) {
        first[g + 1] += first[g];
    }
    for (uint32_t h = 0; h < n; h++) {
        work->by_group[first[work->holdings[h].group]++] = h;
    }
    memmove(first + 1, first, work->view->n_groups * sizeof *first);
    first[0] = 0;
}

static uint32_t n_holders(const struct work *work, uint32_t group)
{
    if (group_is_common(work->view, group)) {
        return work->n_occupied; // I2
    }
    return work->first_of_group[group + 1] - work->first_of_group[group];
}

// ---- Tmem ----

static void add_demand(const struct work *work, const struct holding *holding,
                       struct node_load *load)
{
    const double pages = work->view->group_pages[holding->group];

    if (holding->flags & USE_WRITE) {
        load->written_pages += pages;
    } else if (n_holders(work, holding->group) > 1) {
        load->foreign_pages += pages;
    } else {
        load->own_pages += pages;
    }
}

/** The common groups that a node only reads. */
static void add_common(const struct work *work, uint32_t node,
                       struct node_load *load)
{
    double pages = work->common_pages;

    for (uint32_t h = work->first_holding[node];
         h < work->first_holding[node + 1]; h++) {
        const uint32_t group = work->holdings[h].group;

        if (group_is_common(work->view, group)) {
            pages -= work->view->group_pages[group];
        }
    }
    if (work->n_occupied > 1) {
        load->foreign_pages += pages;
    } else {
        load->own_pages += pages;
    }
}

/** The groups that threads of a node use, in order; threads backwards or not.
 * @return how many */
static uint32_t write_order(const struct work *work, uint32_t node,
                            int backwards, uint32_t *order)
{
    const struct cluster_view *view = work->view;
    const uint32_t first = work->first_thread[node];
    const uint32_t end = work->first_thread[node + 1];
    uint32_t n = 0;

    for (uint32_t k = first; k < end; k++) {
        const uint32_t thread =
            work->threads[backwards ? end - 1 - (k - first) : k];
        const struct thread_view *it = &view->threads[thread];

        for (uint32_t u = 0; u < it->n_uses; u++) {
            order[n++] = view->uses[it->first_use + u].group;
        }
    }
    return n;
}

static struct replacements run_lru(struct work *work, uint32_t node,
                                   double memory_pages)
{
    const int reversed = work->model->replacement == REPLACEMENT_REVERSED;
    struct use_order orders[2] = {{work->order, 0}, {NULL, 0}};
    struct replacements replaced = {0};

    orders[0].n = write_order(work, node, 0, work->order);
    orders[1].groups = work->order + orders[0].n;
    if (reversed) {
        orders[1].n = write_order(work, node, 1, work->order + orders[0].n);
    }
    lru_missed(orders, reversed ? 2 : 1, work->view->group_pages,
               work->view->n_groups, memory_pages, work->missed);
    for (uint32_t h = work->first_holding[node];
         h < work->first_holding[node + 1]; h++) {
        const struct holding *holding = &work->holdings[h];
        const double pages = work->missed[holding->group] *
                             work->view->group_pages[holding->group];

        if (holding->flags & USE_WRITE) {
            replaced.in += pages;
            replaced.out += pages;
        } else if (n_holders(work, holding->group) > 1) {
            replaced.fetched += pages;
        } else {
            replaced.in += pages;
        }
    }
    return replaced;
}

// ---- Tcomm ----

static double packets_for(double bytes, uint32_t packet_bytes)
{
    return ceil(bytes / packet_bytes);
}

/** [Liu06]'s C_xyk: each page to each node in packets of its own. */
static double packets_by_page(const struct work *work,
                              const struct holding *holding)
{
    return (double)work->view->group_pages[holding->group] *
           (n_holders(work, holding->group) - 1) *
           packets_for(holding->diff_bytes,
                       work->view->nodes[holding->node].packet_bytes);
}

static void add_bytes(struct work *work, const struct holding *holding)
{
    const double bytes =
        (double)work->view->group_pages[holding->group] * holding->diff_bytes;

    if (group_is_common(work->view, holding->group)) {
        work->bytes_to_all += bytes; // I2
        return;
    }
    for (uint32_t k = work->first_of_group[holding->group];
         k < work->first_of_group[holding->group + 1]; k++) {
        const uint32_t peer = work->holdings[work->by_group[k]].node;

        if (peer != holding->node) {
            work->bytes_to[peer] += bytes;
        }
    }
}

/** All updates for one node in one release travel together. */
static double packets_by_peer(struct work *work, uint32_t node)
{
    double packets = 0;

    for (uint32_t y = 0; y < work->view->n_nodes; y++) {
        double bytes = work->bytes_to[y];

        if (work->bytes_to_all > 0 && y != node && is_occupied(work, y)) {
            bytes += work->bytes_to_all;
        }
        if (bytes > 0) { // of thousands of nodes few are sent anything
            packets += packets_for(bytes, work->view->nodes[node].packet_bytes);
            work->bytes_to[y] = 0;
        }
    }
    work->bytes_to_all = 0;
    return packets;
}

// ---- a node ----

static void add_holdings(struct work *work, uint32_t node,
                         struct node_load *load)
{
    const int by_page = work->model->kind != COST_MEASURED;
    int sends = 0;

    if (work->view->n_common > 0 && is_occupied(work, node)) {
        add_common(work, node, load);
    }
    for (uint32_t h = work->first_holding[node];
         h < work->first_holding[node + 1]; h++) {
        const struct holding *holding = &work->holdings[h];

        add_demand(work, holding, load);
        if (n_holders(work, holding->group) < 2) {
            continue;
        }
        if (!by_page && (holding->flags & USE_WRITE)) {
            load->updates += work->view->group_pages[holding->group];
        }
        if (holding->diff_bytes == 0) {
            continue;
        }
        if (by_page) {
            load->packets += packets_by_page(work, holding);
        } else {
            add_bytes(work, holding);
            sends = 1;
        }
    }
    if (sends) {
        load->packets = packets_by_peer(work, node);
    }
}

static double sum_thread_pages(const struct work *work, uint32_t node)
{
    const struct cluster_view *view = work->view;
    double sum = 0;

    for (uint32_t k = work->first_thread[node];
         k < work->first_thread[node + 1]; k++) {
        const struct thread_view *it = &view->threads[work->threads[k]];

        sum += work->common_pages;
        for (uint32_t u = 0; u < it->n_uses; u++) {
            const uint32_t group = view->uses[it->first_use + u].group;

            sum += group_is_common(view, group) ? 0 : view->group_pages[group];
        }
    }
    return sum;
}

static void predict_node(struct work *work, uint32_t node,
                         struct node_prediction *terms)
{
    const uint32_t first = work->first_thread[node];
    struct node_load load = {.n_threads = work->first_thread[node + 1] - first};
    struct node_rates rates;
    struct replacements replaced;

    load.comp_s = workers_makespan(work->times + first, load.n_threads,
                                   work->view->nodes[node].n_processors);
    rates_compute(work->view, work->model, node, &rates);
    add_holdings(work, node, &load);
    if (work->model->kind == COST_CLIFF) {
        load.thread_pages = sum_thread_pages(work, node);
    }
    if (work->order != NULL) {
        replaced = run_lru(work, node, rates.memory_pages);
    }
    terms_compute(&rates, &load, work->order != NULL ? &replaced : NULL, terms);
}

// ---- all nodes ----

static void work_release(struct work *work)
{
    free(work->first_thread);
    free(work->threads);
    free(work->times);
    free(work->holdings);
    free(work->first_holding);
    free(work->first_of_group);
    free(work->by_group);
    free(work->last_holding);
    free(work->bytes_to);
    free(work->missed);
    free(work->order);
}

static void work_init(struct work *work)
{
    const size_t n_nodes = work->view->n_nodes;
    const size_t n_threads = work->view->n_threads;
    const size_t n_groups = work->view->n_groups;
    const size_t n_uses = work->view->n_uses;
    const int needs_order = cost_model_needs_order(work->model);

    work->first_thread = memory_new(n_nodes + 1, sizeof(uint32_t));
    work->threads = memory_new(n_threads, sizeof(uint32_t));
    work->times = memory_new(n_threads, sizeof(double));
    work->holdings = memory_new(n_uses + 1, sizeof *work->holdings);
    work->first_holding = memory_new(n_nodes + 1, sizeof(uint32_t));
    work->first_of_group = memory_new(n_groups + 1, sizeof(uint32_t));
    work->by_group = memory_new(n_uses + 1, sizeof(uint32_t));
    work->last_holding = memory_new(n_groups + 1, sizeof(uint32_t));
    work->bytes_to = memory_new(n_nodes, sizeof(double));
    if (needs_order) {
        work->missed = memory_new(n_groups + 1, sizeof(double));
        work->order = memory_new(2 * n_uses + 1, sizeof(uint32_t));
    }
}

static void find_slowest(struct prediction *prediction, uint32_t n_nodes)
{
    prediction->slowest = 0;
    for (uint32_t x = 1; x < n_nodes; x++) {
        if (prediction->nodes[x].time_s >
            prediction->nodes[prediction->slowest].time_s) {
            prediction->slowest = x;
        }
    }
    prediction->iteration_s = prediction->nodes[prediction->slowest].time_s;
}

tm_status predict(const struct cluster_view *view,
                  const struct cost_model *model, const uint32_t *node_of,
                  struct prediction *prediction)
{
    struct work work = {.view = view, .model = model};

    if (!mapping_is_valid(view, node_of)) {
        return TM_EINVAL;
    }
    ensure(view->n_common == 0 || !cost_model_needs_order(model));
    work.common_pages = cluster_view_common_pages(view);
    work_init(&work);
    sort_threads(&work, node_of);
    count_occupied(&work);
    gather_holdings(&work);
    sort_holdings(&work);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        predict_node(&work, x, &prediction->nodes[x]);
    }
    find_slowest(prediction, view->n_nodes);
    work_release(&work);
    return TM_OK;
}

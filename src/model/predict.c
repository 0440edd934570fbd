// SPDX-License-Identifier: BSD-3-Clause
//
// A prediction is what the load table (load_table.c) tells of a mapping, in terms
// (terms.c). Where the order counts in which pages are used, replacements are found by
// going through it, group by group as the node's threads use them.
#include "model/predict.h"

#include <stdlib.h>

#include "base/memory.h"
#include "model/load_table.h"
#include "model/lru.h"

/** For the order of use. */
struct sweep {
    const struct cost_model *model;
    uint32_t *threads; ///< [n_threads]: of a node
    uint32_t *order;   ///< [2 n_uses]: groups
    double *missed;    ///< [n_groups]
};

static void sweep_init(struct sweep *sweep, const struct cluster_view *view,
                       const struct cost_model *model)
{
    sweep->model = model;
    sweep->threads = memory_new(view->n_threads, sizeof *sweep->threads);
    sweep->order = memory_new(2ull * view->n_uses, sizeof *sweep->order);
    sweep->missed = memory_new(view->n_groups, sizeof *sweep->missed);
}

static void sweep_release(struct sweep *sweep)
{
    free(sweep->threads);
    free(sweep->order);
    free(sweep->missed);
}

/** From the highest number down. */
static uint32_t list_threads(const struct load_table *table, uint32_t node,
                             uint32_t *threads)
{
    uint32_t n = 0;

    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        threads[n++] = i;
    }
    return n;
}

/** The groups that listed threads use, in order; threads backwards or not.
 * @return how many */
static uint32_t write_order(const struct cluster_view *view,
                            const uint32_t *threads, uint32_t n_threads,
                            int backwards, uint32_t *order)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < n_threads; k++) {
        const struct thread_view *it =
            &view->threads[threads[backwards ? k : n_threads - 1 - k]];

        for (uint32_t u = 0; u < it->n_uses; u++) {
            order[n++] = view->uses[it->first_use + u].group;
        }
    }
    return n;
}

/** @return how many of `order` are the first sweep */
static uint32_t find_missed(const struct sweep *sweep,
                            const struct load_table *table, uint32_t node)
{
    const struct cluster_view *view = table->view;
    const int reversed = sweep->model->replacement == REPLACEMENT_REVERSED;
    const uint32_t n_threads = list_threads(table, node, sweep->threads);
    struct use_order orders[2] = {{sweep->order, 0}, {NULL, 0}};

    orders[0].n = write_order(view, sweep->threads, n_threads, 0, sweep->order);
    orders[1].groups = sweep->order + orders[0].n;
    if (reversed) {
        orders[1].n = write_order(view, sweep->threads, n_threads, 1,
                                  sweep->order + orders[0].n);
    }
    lru_missed(orders, reversed ? 2 : 1, view->group_pages, view->n_groups,
               table->rates[node].memory_pages, sweep->missed);
    return orders[0].n;
}

/** What a node replaces in an iteration. */
static struct replacements go_through(const struct sweep *sweep,
                                      struct load_table *table, uint32_t node)
{
    const uint32_t n = find_missed(sweep, table, node);
    struct replacements replaced = {0};

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t g = sweep->order[k];
        const double pages = sweep->missed[g] * table->view->group_pages[g];

        sweep->missed[g] = 0; // each group once
        if (load_table_find(table, g, node)->n_writers > 0) {
            replaced.in += pages;
            replaced.out += pages;
        } else if (table->n_holders[g] > 1) {
            replaced.fetched += pages;
        } else {
            replaced.in += pages;
        }
    }
    return replaced;
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

static void predict_nodes(struct load_table *table,
                          const struct cost_model *model,
                          struct prediction *prediction)
{
    const int needs_order = cost_model_needs_order(model);
    struct sweep sweep = {0};

    if (needs_order) {
        sweep_init(&sweep, table->view, model);
    }
    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        const struct node_load load = load_table_load(table, x);
        struct replacements replaced;

        if (needs_order) {
            replaced = go_through(&sweep, table, x);
        }
        terms_compute(&table->rates[x], &load, needs_order ? &replaced : NULL,
                      &prediction->nodes[x]);
    }
    sweep_release(&sweep);
}

tm_status predict(const struct cluster_view *view,
                  const struct cost_model *model, const uint32_t *node_of,
                  struct prediction *prediction)
{
    struct load_table table;

    if (!mapping_is_valid(view, node_of)) {
        return TM_EINVAL;
    }
    load_table_init(&table, view, model);
    load_table_put_all(&table, node_of);
    predict_nodes(&table, model, prediction);
    find_slowest(prediction, view->n_nodes);
    load_table_release(&table);
    return TM_OK;
}

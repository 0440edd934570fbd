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
    uint32_t *order; ///< [n_uses]: groups
    double *missed;  ///< [n_groups]
};

/** The groups that a node's threads use, in the order of the threads' numbers: its list
 * begins with the highest. @return how many */
static uint32_t write_order(const struct load_table *table, uint32_t node,
                            uint32_t *order)
{
    const struct cluster_view *view = table->view;
    uint32_t n = 0;
    uint32_t at;

    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        n += view->threads[i].n_uses;
    }
    at = n;
    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        const struct thread_view *it = &view->threads[i];

        at -= it->n_uses;
        for (uint32_t u = 0; u < it->n_uses; u++) {
            order[at + u] = view->uses[it->first_use + u].group;
        }
    }
    return n;
}

/** What a node replaces in an iteration. */
static struct replacements go_through(const struct sweep *sweep,
                                      struct load_table *table, uint32_t node)
{
    const uint32_t *pages = table->view->group_pages;
    const uint32_t n = write_order(table, node, sweep->order);
    struct replacements replaced = {0};

    lru_missed(sweep->order, n, pages, table->view->n_groups,
               table->rates[node].memory_pages, sweep->missed);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t g = sweep->order[k];
        const double missed = sweep->missed[g] * pages[g];

        sweep->missed[g] = 0; // each group once
        if (load_table_find(table, g, node)->n_writers > 0) {
            replaced.in += missed;
            replaced.out += missed;
        } else if (table->n_holders[g] > 1) {
            replaced.fetched += missed;
        } else {
            replaced.in += missed;
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
        sweep.order = memory_new(table->view->n_uses, sizeof *sweep.order);
        sweep.missed = memory_new(table->view->n_groups, sizeof *sweep.missed);
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
    free(sweep.order);
    free(sweep.missed);
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

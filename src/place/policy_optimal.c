// SPDX-License-Identifier: BSD-3-Clause
//
// The best mapping there is under the model, to judge the others by: branch
// and bound, from the answer of `cpu-mem`. Threads are placed one after the
// other, the longest first, each on every node in turn; a branch is left when
// some node takes longer already than the best mapping known. What a node
// takes cannot become less by more threads anywhere:
//
// - its computation is at least that of its threads over its processors, and
//   that of its longest;
// - its union and what it sends only grow; to replace a page may become cheaper
//   when others come to hold it, so pages are counted at the cheapest.
//
// Nodes that are equal and still empty are tried once. If the search comes to
// its end within `effort`, the answer is proven; it is also if the time
// reaches the lower bound of lower_bound.c. Otherwise it is the best that was found.
//
// I1  best_s is the time of mapping->node_of, by predict().
// I2  The first `depth` threads of the order are placed, and pinned ones.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/load_table.h"
#include "place/answer.h"
#include "place/lower_bound.h"
#include "place/policies.h"

#define STEPS 1500000u ///< by default
#define CLOSE 1e-9     ///< relative: times that are as good as equal

struct branching {
    const struct place_request *request;
    struct mapping *mapping;
    struct load_table table;
    uint32_t *order; ///< [n_threads]: not pinned, longest first
    uint32_t n_order;
    double *page_s;   ///< [n_nodes]: the cheapest replacement
    double *longest;  ///< [n_nodes]: computation of the longest thread there
    double best_s;    ///< I1
    uint64_t n_steps; ///< left
};

// ---- bounds ----

/** What a node will take at least, whatever threads still come. */
static double at_least(const struct branching *branching, uint32_t node)
{
    const struct load_table *table = &branching->table;
    const struct node_load *load = &table->loads[node];
    const struct node_rates *rates = &table->rates[node];
    const double lack = node_demand(load) - rates->memory_pages;
    const uint32_t p = table->view->nodes[node].n_processors;
    const double comp_s =
        fmax(load->comp_s / p, branching->longest[node]) * rates->comp;
    const double mem_s = lack > 0 ? lack * branching->page_s[node] : 0;
    const double comm_s = (double)table->packets[node] * rates->packet_s +
                          load->updates * rates->update_s;

    if (rates->overlap == OVERLAP_NONE) {
        return comp_s + mem_s + comm_s;
    }
    return fmax(comp_s, comm_s) + mem_s;
}

static int is_hopeless(const struct branching *branching)
{
    const struct load_table *table = &branching->table;
    const double limit_s = branching->best_s * (1 - CLOSE);

    for (unsigned k = 0; k < table->n_changed; k++) {
        if (at_least(branching, table->changed[k]) >= limit_s) {
            return 1;
        }
    }
    return 0;
}

// ---- the tree ----

static void take_leaf(struct branching *branching)
{
    struct load_table *table = &branching->table;
    double longest_s = 0;

    for (uint32_t x = 0; x < table->view->n_nodes; x++) {
        longest_s = fmax(longest_s, load_table_time(table, x));
    }
    // The curve may differ from what predict() finds in the order of use.
    if (branching->request->model->replacement != REPLACEMENT_KEPT_SET) {
        longest_s = answer_time(branching->request, table->node_of);
    }
    if (longest_s < branching->best_s * (1 - CLOSE)) {
        branching->best_s = longest_s;
        memcpy(branching->mapping->node_of, table->node_of,
               table->view->n_threads * sizeof(uint32_t));
    }
}

static int are_equal_nodes(const struct branching *branching, uint32_t a,
                           uint32_t b)
{
    const struct node_view *nodes = branching->table.view->nodes;
    const struct node_rates *first = &branching->table.rates[a];
    const struct node_rates *second = &branching->table.rates[b];

    return first->comp == second->comp &&
           first->memory_pages == second->memory_pages &&
           first->in_s == second->in_s && first->out_s == second->out_s &&
           first->fetch_s == second->fetch_s &&
           first->packet_s == second->packet_s &&
           first->update_s == second->update_s &&
           first->rest_s == second->rest_s &&
           nodes[a].n_processors == nodes[b].n_processors &&
           nodes[a].packet_bytes == nodes[b].packet_bytes;
}

/** Is there an empty node before this one that is just like it? */
static int is_repetition(const struct branching *branching, uint32_t node)
{
    const struct load_table *table = &branching->table;

    for (uint32_t x = 0; x < node && table->head[node] == UNPLACED; x++) {
        if (table->head[x] == UNPLACED && are_equal_nodes(branching, x, node)) {
            return 1;
        }
    }
    return 0;
}

static void branch(struct branching *branching, uint32_t depth);

static void try_node(struct branching *branching, uint32_t depth, uint32_t node)
{
    struct load_table *table = &branching->table;
    const uint32_t thread = branching->order[depth];
    const double comp_s = table->loads[node].comp_s;
    const double longest = branching->longest[node];
    int is_cut;

    load_table_put(table, thread, node);
    branching->longest[node] =
        fmax(longest, table->view->threads[thread].computation_s);
    is_cut = is_hopeless(branching);
    load_table_forget(table);
    if (!is_cut) {
        branch(branching, depth + 1);
    }
    load_table_take(table, thread);
    load_table_forget(table);
    table->loads[node].comp_s = comp_s;
    branching->longest[node] = longest;
}

static void branch(struct branching *branching, uint32_t depth)
{
    if (branching->n_steps == 0) {
        return;
    }
    branching->n_steps--;
    if (depth == branching->n_order) {
        take_leaf(branching);
        return;
    }
    for (uint32_t x = 0; x < branching->table.view->n_nodes; x++) {
        if (!is_repetition(branching, x)) {
            try_node(branching, depth, x);
        }
    }
}

// ---- beginning ----

static int compare_times(const void *left, const void *right, void *view)
{
    const struct thread_view *threads =
        ((const struct cluster_view *)view)->threads;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    if (threads[a].computation_s != threads[b].computation_s) {
        return threads[a].computation_s < threads[b].computation_s ? 1 : -1;
    }
    return (a > b) - (a < b);
}

static void prepare(struct branching *branching)
{
    struct load_table *table = &branching->table;
    const struct cluster_view *view = table->view;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        branching->page_s[x] = rates_cheapest_page(&table->rates[x]);
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        const uint32_t node = branching->request->current[i];

        if (view->threads[i].is_pinned) {
            load_table_put(table, i, node);
            branching->longest[node] =
                fmax(branching->longest[node], view->threads[i].computation_s);
        } else {
            branching->order[branching->n_order++] = i;
        }
    }
    load_table_forget(table);
    qsort_r(branching->order, branching->n_order, sizeof *branching->order,
            compare_times, (void *)view);
}

static void search(struct branching *branching)
{
    const struct place_request *request = branching->request;
    const size_t n_nodes = request->view->n_nodes;

    load_table_init(&branching->table, request->view, request->model);
    branching->order = memory_new(request->view->n_threads, sizeof(uint32_t));
    branching->page_s = memory_new(n_nodes, sizeof(double));
    branching->longest = memory_new(n_nodes, sizeof(double));
    prepare(branching);
    branch(branching, 0);
    free(branching->order);
    free(branching->page_s);
    free(branching->longest);
    load_table_release(&branching->table);
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    struct branching branching = {
        .request = request,
        .mapping = mapping,
        .n_steps = request->effort > 0 ? request->effort * 1000ull : STEPS,
    };

    policy_cpu_mem.place(request, mapping);
    answer_pins(request->view, request->current, mapping->node_of);
    branching.best_s = answer_time(request, mapping->node_of);
    mapping->is_proven =
        branching.best_s <=
        lower_bound_iteration(request->view, request->model) * (1 + 1e-6);
    if (!mapping->is_proven && load_table_fits(request->view)) {
        search(&branching);
        mapping->is_proven = branching.n_steps > 0;
    }
}

const struct policy policy_optimal = {
    .name = "optimal",
    .summary = "the best mapping under the model, proven if the search ends "
               "in time",
    .uses_memory = 1,
    .wants_uses = 1,
    .place = place,
};

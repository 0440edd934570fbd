// SPDX-License-Identifier: BSD-3-Clause
//
// From the book, the nodes' static information and the tracked pages to a
// cluster_view, and from that to a mapping.
//
//   zeros --remap_begin--> begun --remap_make--> made --remap_release--> zeros
#include "reconfig/remap.h"

#include <stdlib.h>
#include <string.h>

/** Standard deviation by mean of works below which threads of a node are alike. */
#define ALIKE 0.15

/** Nodes whose threads' works differ more than so have unlike threads. */
#define ALIKE_NODES 1.8

static tm_status allocate(struct remap *plan, uint32_t n_threads,
                          unsigned n_nodes)
{
    plan->numbers = calloc(n_threads, sizeof *plan->numbers);
    plan->current = calloc(n_threads, sizeof *plan->current);
    plan->wanted = calloc(n_threads, sizeof *plan->wanted);
    plan->measured.nodes = calloc(n_nodes, sizeof *plan->measured.nodes);
    plan->before.nodes = calloc(n_nodes, sizeof *plan->before.nodes);
    plan->after.nodes = calloc(n_nodes, sizeof *plan->after.nodes);
    if (plan->numbers == NULL || plan->current == NULL ||
        plan->wanted == NULL || plan->measured.nodes == NULL ||
        plan->before.nodes == NULL || plan->after.nodes == NULL) {
        return TM_ENOMEM;
    }
    return cluster_view_init(&plan->view, n_nodes, n_threads);
}

static int compare_threads(const void *left, const void *right)
{
    const struct book_thread *a = left;
    const struct book_thread *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

struct spread {
    double sum_s;
    double squares;
    uint32_t n;
};

static double mean_of(const struct spread *spread)
{
    return spread->n == 0 ? 0 : spread->sum_s / spread->n;
}

static int is_narrow(const struct spread *spread)
{
    double mean_s = mean_of(spread);
    double variance = spread->squares / spread->n - mean_s * mean_s;

    return variance < ALIKE * ALIKE * mean_s * mean_s;
}

// Are the threads of each node alike, and nodes not too far apart?
static int are_alike(const struct remap *plan, struct spread *of_node)
{
    double least_s = 0;
    double most_s = 0;

    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        double work_s = plan->view.threads[i].computation_s;
        struct spread *spread = &of_node[plan->current[i]];

        spread->sum_s += work_s;
        spread->squares += work_s * work_s;
        spread->n++;
    }
    for (uint32_t x = 0; x < plan->view.n_nodes; x++) {
        double mean_s = mean_of(&of_node[x]);

        if (of_node[x].n == 0) {
            continue;
        }
        if (!is_narrow(&of_node[x])) {
            return 0;
        }
        least_s = least_s == 0 || mean_s < least_s ? mean_s : least_s;
        most_s = mean_s > most_s ? mean_s : most_s;
    }
    return most_s <= ALIKE_NODES * least_s;
}

// Threads that take equally long on the same node are taken to be alike; if those of
// another node take longer or shorter it is the node, for which correct() has a
// factor. Else policies would move threads about for differences that stay behind.
static tm_status level_works(struct remap *plan)
{
    struct spread *of_node = calloc(plan->view.n_nodes, sizeof *of_node);
    double sum_s = 0;

    if (of_node == NULL) {
        return TM_ENOMEM;
    }
    if (are_alike(plan, of_node)) {
        for (uint32_t i = 0; i < plan->view.n_threads; i++) {
            sum_s += plan->view.threads[i].computation_s;
        }
        for (uint32_t i = 0; i < plan->view.n_threads; i++) {
            plan->view.threads[i].computation_s = sum_s / plan->view.n_threads;
        }
    }
    free(of_node);
    return TM_OK;
}

// In the order of their numbers: policies that make blocks of neighbours, and
// who reads an explanation, expect it.
static tm_status copy_threads(struct remap *plan,
                              const struct book_thread *threads, uint32_t n)
{
    struct book_thread *sorted = malloc(n * sizeof *sorted);

    if (sorted == NULL) {
        return TM_ENOMEM;
    }
    memcpy(sorted, threads, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_threads);
    for (uint32_t i = 0; i < n; i++) {
        plan->numbers[i] = sorted[i].number;
        plan->current[i] = sorted[i].node;
        plan->view.threads[i].computation_s = book_work_s(&sorted[i]);
        plan->view.threads[i].is_pinned = (uint32_t)sorted[i].number == 0;
    }
    free(sorted);
    return level_works(plan);
}

static void copy_measurement(struct remap *plan, const struct book *book)
{
    double busiest_s = 0;

    for (uint32_t x = 0; x < plan->view.n_nodes; x++) {
        struct node_measurement *node = &plan->measured.nodes[x];
        struct book_node mean;
        double other_s;

        book_node(book, (node_id)x, &mean);
        other_s = mean.busy_s - mean.comp_s - mean.mem_s;
        node->time_s = mean.busy_s;
        node->comp_s = mean.comp_s;
        node->mem_s = mean.mem_s;
        node->comm_s = other_s > 0 ? other_s : 0;
        busiest_s = mean.busy_s > busiest_s ? mean.busy_s : busiest_s;
    }
    plan->measured.iteration_s = busiest_s;
}

tm_status remap_begin(struct remap *plan, const struct policy *policy,
                      const struct book *book, const struct node_view *nodes,
                      unsigned n_nodes, const struct correction *corrections)
{
    uint32_t n_threads;
    const struct book_thread *threads = book_threads(book, &n_threads);
    tm_status status;

    if (n_threads == 0) {
        return TM_ESTATE;
    }
    status = allocate(plan, n_threads, n_nodes);
    if (status == TM_OK) {
        memcpy(plan->view.nodes, nodes, n_nodes * sizeof *nodes);
        status = copy_threads(plan, threads, n_threads);
    }
    if (status != TM_OK) {
        remap_release(plan);
        return status;
    }
    copy_measurement(plan, book);
    plan->policy = policy;
    plan->iteration = book_n_closed(book);
    plan->model.corrections = corrections;
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
    const struct page_use **pages = calloc(n, sizeof *pages);
    size_t *n_pages = calloc(n, sizeof *n_pages);
    tm_status status = TM_ENOMEM;

    if (pages != NULL && n_pages != NULL) {
        plan->has_uses = 1;
        for (uint32_t i = 0; i < n; i++) {
            pages[i] =
                plan->uses(plan->uses_owner, plan->numbers[i], &n_pages[i]);
            plan->has_uses &= pages[i] != NULL;
        }
        status = groups_build(&plan->view, pages, n_pages);
    }
    free(pages);
    free(n_pages);
    return status;
}

tm_status remap_make(struct remap *plan)
{
    const struct place_request request = {
        .view = &plan->view,
        .model = &plan->model,
        .current = plan->current,
        .measured = &plan->measured,
    };
    struct placement placement = {.node_of = plan->wanted};
    tm_status status = TM_OK;

    if (plan->uses != NULL) {
        status = add_uses(plan);
    }
    if (status == TM_OK) {
        reference_choose(&plan->view, &plan->measured, &plan->model.reference);
        status = policy_place(plan->policy, &request, &placement);
    }
    if (status == TM_OK) {
        plan->n_moves = placement.n_moves;
        plan->owners_move = placement.owners_move;
        plan->is_proven = placement.is_proven;
        status =
            predict(&plan->view, &plan->model, plan->current, &plan->before);
    }
    if (status == TM_OK) {
        status = predict(&plan->view, &plan->model, plan->wanted, &plan->after);
    }
    return status;
}

void remap_release(struct remap *plan)
{
    cluster_view_release(&plan->view);
    free(plan->numbers);
    free(plan->current);
    free(plan->wanted);
    free(plan->measured.nodes);
    free(plan->before.nodes);
    free(plan->after.nodes);
    memset(plan, 0, sizeof *plan);
}

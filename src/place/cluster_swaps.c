// SPDX-License-Identifier: BSD-3-Clause
//
// Swaps of pairs of threads, and of whole clusters.
//
// I1  to_node[i][x] is the affinity of thread i to the threads on node x.
// I2  A swap keeps the size of each cluster.
// I3  most[y][x] is at least what any thread of y would win on x. It is made anew before
//     each pass and only grows within one.
// I4  What a thread has to win by swaps with threads of y is the same as when it was
//     looked at, if no thread has come to y or its own node since: of a thread's row only
//     the columns of these two count, and they change only then.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place/answer.h"
#include "place/clusters.h"

#define TABLE_MAX (4u << 20) ///< entries of the table of I1
#define N_PASSES 8

struct swaps {
    const struct cluster_problem *problem;
    uint32_t *node_of;
    uint32_t n_nodes;
    double *to_node;   ///< [n_threads][n_nodes], I1
    double *most;      ///< [n_nodes][n_nodes], I3; NULL: there is no room
    uint32_t *first;   ///< [n_nodes + 1]: in `members`
    uint32_t *members; ///< [n_threads], by node
    uint32_t *place;   ///< [n_threads]: in `members`
    double least;      ///< gain that counts as one
    uint32_t n_swaps;  ///< so far
    uint32_t *changed; ///< [n_nodes]: the last swap of one of its threads
    uint32_t *looked;  ///< [n_threads]: the first swap after the last look
};

/** List threads by node.
 * @param[out] first  [n_nodes + 1], zeros: where each node's begin in `members` */
static void list_members(const struct cluster_view *view,
                         const uint32_t *node_of, uint32_t *first,
                         uint32_t *members)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        first[node_of[i] + 1]++;
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        first[x + 1] += first[x];
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        members[first[node_of[i]]++] = i;
    }
    memmove(first + 1, first, view->n_nodes * sizeof *first);
    first[0] = 0;
}

// ---- pairs ----

static double *row_of(const struct swaps *swaps, uint32_t thread)
{
    return swaps->to_node + (size_t)thread * swaps->n_nodes;
}

static int may_move(const struct swaps *swaps, uint32_t thread)
{
    return answer_may_move(swaps->problem->view, swaps->problem->current,
                           swaps->node_of, thread);
}

static int are_alike(const struct swaps *swaps, uint32_t a, uint32_t b)
{
    const struct thread_view *threads = swaps->problem->view->threads;

    return fabs(threads[a].computation_s - threads[b].computation_s) <=
           swaps->problem->swap_within_s;
}

static double edge_between(const struct affinity *affinity, uint32_t a,
                           uint32_t b)
{
    for (uint32_t e = affinity->first[a]; e < affinity->first[a + 1]; e++) {
        if (affinity->peers[e] == b) {
            return affinity->weights[e];
        }
    }
    return 0;
}

// ---- what could be won ----

/** A thread may win more on nodes from x on than others of its node (I3). */
static void raise_most(struct swaps *swaps, uint32_t thread, uint32_t x,
                       uint32_t end)
{
    const double *row = row_of(swaps, thread);
    const uint32_t y = swaps->node_of[thread];
    double *most;

    if (swaps->most == NULL) {
        return;
    }
    most = swaps->most + (size_t)y * swaps->n_nodes;
    for (; x < end; x++) {
        const double gain = row[x] - row[y];

        most[x] = gain > most[x] ? gain : most[x];
    }
}

static void raise_most_anywhere(struct swaps *swaps, uint32_t thread)
{
    raise_most(swaps, thread, 0, swaps->n_nodes);
}

static void find_most(struct swaps *swaps)
{
    const size_t n = (size_t)swaps->n_nodes * swaps->n_nodes;

    for (size_t k = 0; k < n && swaps->most != NULL; k++) {
        swaps->most[k] = -INFINITY;
    }
    for (uint32_t i = 0; i < swaps->problem->view->n_threads; i++) {
        raise_most_anywhere(swaps, i);
    }
}

/** May some thread of y be worth a swap for one of x that wins `gain` there? */
static int may_win(const struct swaps *swaps, uint32_t x, uint32_t y,
                   double gain)
{
    return swaps->most == NULL ||
           gain + swaps->most[(size_t)y * swaps->n_nodes + x] > swaps->least;
}

// ---- swapping ----

/** Tell a thread's peers that it goes from one node to another. */
static void tell_peers(struct swaps *swaps, uint32_t thread, uint32_t from,
                       uint32_t to)
{
    const struct affinity *affinity = swaps->problem->affinity;

    for (uint32_t e = affinity->first[thread]; e < affinity->first[thread + 1];
         e++) {
        const uint32_t peer = affinity->peers[e];
        double *row = row_of(swaps, peer);

        row[from] -= affinity->weights[e];
        row[to] += affinity->weights[e];
        if (swaps->node_of[peer] == from) {
            raise_most_anywhere(swaps, peer);
        } else {
            raise_most(swaps, peer, to, to + 1);
        }
    }
}

static void swap_pair(struct swaps *swaps, uint32_t a, uint32_t b)
{
    const uint32_t x = swaps->node_of[a];
    const uint32_t y = swaps->node_of[b];
    const uint32_t place = swaps->place[a];

    swaps->n_swaps++;
    swaps->changed[x] = swaps->changed[y] = swaps->n_swaps;
    tell_peers(swaps, a, x, y);
    tell_peers(swaps, b, y, x);
    swaps->node_of[a] = y;
    swaps->node_of[b] = x;
    swaps->members[place] = b;
    swaps->members[swaps->place[b]] = a;
    swaps->place[a] = swaps->place[b];
    swaps->place[b] = place;
    raise_most_anywhere(swaps, a);
    raise_most_anywhere(swaps, b);
}

/** The best partner on node y for a thread that would win `gain` there. */
static void swap_with_best(struct swaps *swaps, uint32_t thread, uint32_t y,
                           double gain)
{
    const uint32_t x = swaps->node_of[thread];
    double best_gain = swaps->least;
    uint32_t best = thread;

    for (uint32_t k = swaps->first[y]; k < swaps->first[y + 1]; k++) {
        const uint32_t other = swaps->members[k];
        const double *row = row_of(swaps, other);
        double both = gain + row[x] - row[y];

        if (both <= best_gain || !may_move(swaps, other) ||
            !are_alike(swaps, thread, other)) {
            continue;
        }
        both -= 2 * edge_between(swaps->problem->affinity, thread, other);
        if (both > best_gain) {
            best_gain = both;
            best = other;
        }
    }
    if (best != thread) {
        swap_pair(swaps, thread, best);
    }
}

/** Has one of two nodes changed since a thread was looked at (I4)? */
static int has_changed(const struct swaps *swaps, uint32_t x, uint32_t y,
                       uint32_t looked)
{
    return swaps->changed[x] >= looked || swaps->changed[y] >= looked;
}

/** Swap a thread with others as long as that wins something. */
static void look_at(struct swaps *swaps, uint32_t thread)
{
    const double *row = row_of(swaps, thread);
    const uint32_t looked = swaps->looked[thread];

    swaps->looked[thread] = swaps->n_swaps + 1;
    for (uint32_t y = 0; y < swaps->n_nodes; y++) {
        const uint32_t x = swaps->node_of[thread];
        const double gain = row[y] - row[x];

        if (row[y] > 0 && y != x && has_changed(swaps, x, y, looked) &&
            may_win(swaps, x, y, gain) && may_move(swaps, thread)) {
            swap_with_best(swaps, thread, y, gain);
        }
    }
}

/** @return whether there was a swap */
static int pass(struct swaps *swaps)
{
    const uint32_t n_before = swaps->n_swaps;

    find_most(swaps);
    for (uint32_t i = 0; i < swaps->problem->view->n_threads; i++) {
        look_at(swaps, i);
    }
    return swaps->n_swaps > n_before;
}

static void fill_in(struct swaps *swaps)
{
    const struct affinity *affinity = swaps->problem->affinity;
    const uint32_t n = affinity->n_threads;

    for (uint32_t i = 0; i < n; i++) {
        double *row = row_of(swaps, i);

        for (uint32_t e = affinity->first[i]; e < affinity->first[i + 1]; e++) {
            row[swaps->node_of[affinity->peers[e]]] += affinity->weights[e];
        }
    }
    list_members(swaps->problem->view, swaps->node_of, swaps->first,
                 swaps->members);
    for (uint32_t k = 0; k < n; k++) {
        swaps->place[swaps->members[k]] = k;
    }
}

tm_status clusters_swap(const struct cluster_problem *problem,
                        uint32_t *node_of)
{
    const size_t n_nodes = problem->view->n_nodes;
    const size_t n_threads = problem->view->n_threads;
    struct swaps swaps = {.problem = problem,
                          .node_of = node_of,
                          .n_nodes = problem->view->n_nodes,
                          .least = 1e-9 * problem->affinity->total};
    tm_status status = TM_ENOMEM;

    if (n_nodes * n_threads > TABLE_MAX || problem->affinity->total <= 0) {
        return TM_OK;
    }
    swaps.to_node = calloc(n_nodes * n_threads, sizeof *swaps.to_node);
    swaps.most = n_nodes * n_nodes <= TABLE_MAX
                     ? malloc(n_nodes * n_nodes * sizeof *swaps.most)
                     : NULL;
    swaps.first = calloc(n_nodes + 1, sizeof *swaps.first);
    swaps.members = calloc(n_threads, sizeof *swaps.members);
    swaps.place = calloc(n_threads, sizeof *swaps.place);
    swaps.changed = calloc(n_nodes, sizeof *swaps.changed);
    swaps.looked = calloc(n_threads, sizeof *swaps.looked);
    if (swaps.to_node && swaps.first && swaps.members && swaps.place &&
        swaps.changed && swaps.looked) {
        fill_in(&swaps);
        for (int k = 0; k < N_PASSES && pass(&swaps); k++) {
        }
        status = TM_OK;
    }
    free(swaps.to_node);
    free(swaps.most);
    free(swaps.first);
    free(swaps.members);
    free(swaps.place);
    free(swaps.changed);
    free(swaps.looked);
    return status;
}

// ---- clusters ----

/** How many threads of a cluster are on a node now. */
struct common {
    uint32_t cluster;
    uint32_t node;
    uint32_t n;
};

struct overlaps {
    struct common *list; ///< [n_threads]: n pairs that have threads in common
    uint32_t n;
    uint32_t *last;    ///< [n_nodes]: the node's entry for the cluster at hand
    uint32_t *first;   ///< [n_nodes + 1]: in `members`
    uint32_t *members; ///< [n_threads], by cluster
};

/** Most threads first. */
static int compare_overlaps(const void *left, const void *right)
{
    const struct common *a = left;
    const struct common *b = right;

    if (a->n != b->n) {
        return a->n > b->n ? -1 : 1;
    }
    if (a->cluster != b->cluster) {
        return a->cluster < b->cluster ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

static void add_cluster(struct overlaps *overlaps,
                        const struct cluster_problem *problem, uint32_t cluster)
{
    const uint32_t begin = overlaps->n;

    for (uint32_t k = overlaps->first[cluster];
         k < overlaps->first[cluster + 1]; k++) {
        const uint32_t node = problem->current[overlaps->members[k]];
        uint32_t at = overlaps->last[node];

        if (at < begin || at >= overlaps->n ||
            overlaps->list[at].node != node) {
            at = overlaps->last[node] = overlaps->n++;
            overlaps->list[at] = (struct common){cluster, node, 0};
        }
        overlaps->list[at].n++;
    }
}

static void find_overlaps(struct overlaps *overlaps,
                          const struct cluster_problem *problem,
                          const uint32_t *node_of)
{
    list_members(problem->view, node_of, overlaps->first, overlaps->members);
    for (uint32_t x = 0; x < problem->view->n_nodes; x++) {
        add_cluster(overlaps, problem, x);
    }
    qsort(overlaps->list, overlaps->n, sizeof *overlaps->list,
          compare_overlaps);
}

#define NOWHERE UINT32_MAX

struct count_of_node {
    uint32_t count;
    uint32_t node;
};

static int compare_counts(const void *left, const void *right)
{
    const struct count_of_node *a = left;
    const struct count_of_node *b = right;

    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/** Give clusters that have no node yet the nodes of their size that are left:
 * among nodes sorted by count, the k-th free one to the k-th without. */
static void assign_rest(const struct cluster_problem *problem,
                        struct count_of_node *sorted, uint32_t *node_for,
                        const unsigned char *is_taken)
{
    const uint32_t n = problem->view->n_nodes;
    uint32_t free_at = 0;

    for (uint32_t x = 0; x < n; x++) {
        sorted[x] = (struct count_of_node){problem->counts[x], x};
    }
    qsort(sorted, n, sizeof *sorted, compare_counts);
    for (uint32_t k = 0; k < n; k++) {
        if (node_for[sorted[k].node] != NOWHERE) {
            continue;
        }
        while (is_taken[sorted[free_at].node]) {
            free_at++;
        }
        node_for[sorted[k].node] = sorted[free_at++].node;
    }
}

/** Give clusters to nodes of their size, first where most threads stay. */
static void assign(const struct cluster_problem *problem,
                   const struct overlaps *overlaps, uint32_t *node_for,
                   unsigned char *is_taken)
{
    memset(node_for, 0xff, problem->view->n_nodes * sizeof *node_for);
    for (uint32_t k = 0; k < overlaps->n; k++) {
        const struct common *it = &overlaps->list[k];

        if (node_for[it->cluster] == NOWHERE && !is_taken[it->node] &&
            problem->counts[it->cluster] == problem->counts[it->node]) {
            node_for[it->cluster] = it->node;
            is_taken[it->node] = 1;
        }
    }
}

tm_status clusters_relabel(const struct cluster_problem *problem,
                           uint32_t *node_of)
{
    const size_t n = problem->view->n_nodes;
    const size_t n_threads = problem->view->n_threads;
    struct overlaps overlaps = {
        .list = malloc(n_threads * sizeof *overlaps.list),
        .last = calloc(n, sizeof(uint32_t)),
        .first = calloc(n + 1, sizeof(uint32_t)),
        .members = malloc(n_threads * sizeof(uint32_t)),
    };
    struct count_of_node *sorted = calloc(n, sizeof *sorted);
    uint32_t *node_for = calloc(n, sizeof *node_for);
    unsigned char *is_taken = calloc(n, 1);
    tm_status status = TM_ENOMEM;

    if (overlaps.list && overlaps.last && overlaps.first && overlaps.members &&
        sorted && node_for && is_taken) {
        find_overlaps(&overlaps, problem, node_of);
        assign(problem, &overlaps, node_for, is_taken);
        assign_rest(problem, sorted, node_for, is_taken);
        for (uint32_t i = 0; i < n_threads; i++) {
            node_of[i] = node_for[node_of[i]];
        }
        status = TM_OK;
    }
    free(overlaps.list);
    free(overlaps.last);
    free(overlaps.first);
    free(overlaps.members);
    free(sorted);
    free(node_for);
    free(is_taken);
    return status;
}

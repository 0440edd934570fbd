// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks changes of a mapping by an estimate: of computation exactly, of memory as if
// threads shared no pages, and of nothing else. Thousands are estimated for one that
// is tried, so what the loop over them reads lies in one piece.
#include "base/memory.h"
#include "place/refine_priv.h"

#include <math.h>
#include <stdlib.h>

/** What estimates need of a node. */
struct outlook {
    double unpaged_s;   ///< T_x without what lack of memory costs, about
    double comp;        ///< seconds for a second of computation more
    double lack;        ///< pages that do not fit; < 0: that still do
    double half_page_s; ///< half the seconds for each
};

/** What they need of a thread; of NOBODY it is 0. */
struct item {
    double comp_s;
    double pages;
    uint32_t thread;
};

// ---- estimates ----

/** Pages of groups, divided among their users. */
static void share_pages(struct ranking *ranking)
{
    const struct cluster_view *view = ranking->table->view;
    struct group_users *users = cluster_view_users(view);

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *it = &view->threads[i];

        for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
            const uint32_t g = view->uses[u].group;

            ranking->pages[i] +=
                (double)view->group_pages[g] / users[g].n_users;
        }
    }
    free(users);
}

/** T_x with more computation and pages, about. Without a jump: half of the loop's
 * would be foretold wrong. */
static inline double estimate(const struct outlook *node, double more_comp_s,
                              double more_pages)
{
    const double lack = node->lack + more_pages;

    return node->unpaged_s + more_comp_s * node->comp +
           (fabs(lack) + lack) * node->half_page_s;
}

static void look_at(struct ranking *ranking, uint32_t node)
{
    const struct load_table *table = ranking->table;
    const struct node_load *load = &table->loads[node];
    const struct node_rates *rates = &table->rates[node];
    struct outlook *outlook = &ranking->nodes[node];

    *outlook = (struct outlook){
        .comp = rates->comp / table->view->nodes[node].n_processors,
        .lack = load->written_pages + load->own_pages + load->foreign_pages -
                rates->memory_pages,
        .half_page_s = (rates->in_s + rates->out_s) / 2,
    };
    outlook->unpaged_s = table->times[node] - estimate(outlook, 0, 0);
}

// ---- the list ----

static void list(struct ranking *ranking, const struct change *change)
{
    unsigned at = ranking->n_best;

    at -= at == N_RANKED;
    while (at > 0 && ranking->best[at - 1].score > change->score) {
        ranking->best[at] = ranking->best[at - 1];
        at--;
    }
    ranking->best[at] = *change;
    ranking->n_best += ranking->n_best < N_RANKED;
    if (ranking->n_best == N_RANKED) {
        ranking->limit = ranking->best[N_RANKED - 1].score;
    }
}

/** A thread goes to a node in exchange for each of some there. */
static void rank(struct ranking *ranking, uint32_t from,
                 const struct item *thread, uint32_t node,
                 const struct item *partners, const struct item *end)
{
    const struct outlook here = ranking->nodes[from];
    const struct outlook there = ranking->nodes[node];

    for (const struct item *it = partners; it < end; it++) {
        const double comp_s = thread->comp_s - it->comp_s;
        const double pages = thread->pages - it->pages;
        const double from_s = estimate(&here, -comp_s, -pages);
        const double to_s = estimate(&there, comp_s, pages);
        const double score = from_s > to_s ? from_s : to_s;

        if (score < ranking->limit) {
            list(ranking,
                 &(struct change){thread->thread, it->thread, node, score});
        }
    }
}

/** Gather a node's threads that may move. @return where they end */
static uint32_t gather(const struct ranking *ranking, uint32_t node,
                       uint32_t at)
{
    const struct load_table *table = ranking->table;

    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        if (may_move(table, ranking->current, i)) {
            ranking->items[at++] = (struct item){
                table->view->threads[i].computation_s, ranking->pages[i], i};
        }
    }
    return at;
}

/** Who may come from each target in exchange: nobody, or one of its threads. */
static void gather_partners(struct ranking *ranking, uint32_t node,
                            const uint32_t *targets, uint32_t n_targets,
                            int with_swaps)
{
    uint32_t *first = ranking->first;

    for (uint32_t y = 0; y < n_targets; y++) {
        uint32_t at = first[y];

        if (targets[y] != node) {
            look_at(ranking, targets[y]);
            ranking->items[at++] = (struct item){0, 0, NOBODY};
            at = with_swaps ? gather(ranking, targets[y], at) : at;
        }
        first[y + 1] = at;
    }
}

void ranking_fill(struct ranking *ranking, uint32_t node,
                  const uint32_t *targets, uint32_t n_targets, int with_swaps)
{
    const struct item *items = ranking->items;
    const uint32_t *first = ranking->first;
    const uint32_t n_own = gather(ranking, node, 0);

    look_at(ranking, node);
    ranking->first[0] = n_own;
    gather_partners(ranking, node, targets, n_targets, with_swaps);
    ranking->n_best = 0;
    ranking->limit = ranking->table->times[node] * (1 - EPSILON);
    for (uint32_t k = 0; k < n_own; k++) {
        for (uint32_t y = 0; y < n_targets; y++) {
            rank(ranking, node, &items[k], targets[y], items + first[y],
                 items + first[y + 1]);
        }
    }
}

// ---- making ----

void ranking_init(struct ranking *ranking, const struct load_table *table,
                  const uint32_t *current)
{
    const size_t n_nodes = table->view->n_nodes;
    const size_t n_threads = table->view->n_threads;

    *ranking = (struct ranking){
        .table = table,
        .current = current,
        .pages = memory_new(n_threads, sizeof *ranking->pages),
        .nodes = memory_new(n_nodes, sizeof *ranking->nodes),
        .items = memory_new(n_threads + n_nodes, sizeof *ranking->items),
        .first = memory_new(n_nodes + 1, sizeof *ranking->first),
    };
    share_pages(ranking);
}

void ranking_release(struct ranking *ranking)
{
    free(ranking->pages);
    free(ranking->nodes);
    free(ranking->items);
    free(ranking->first);
}

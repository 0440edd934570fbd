// SPDX-License-Identifier: BSD-3-Clause
//
// Local search: as long as the slowest node can be made quicker, by a move of one of its
// threads or the swap of a pair. A change concerns the times of a few nodes; it is for
// the better if the longest of these becomes shorter, or, that being equal, their sum.
//
// Changes are ranked by an estimate: of computation exactly, of memory as if threads
// shared no pages, and of nothing else. Only the best of the ranking are tried: first
// moves, and if none is for the better, swaps too. Thousands are estimated for one that
// is tried, so what the loop over them reads lies in one piece.
//
// I1  A trial leaves the table as it was, to the bit.
// I2  Each accepted change makes the times of the nodes that it concerns better by more
//     than rounding, and no node slower than the slowest of them was, so the search
//     ends.
#include "place/refine.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "place/answer.h"

#define NOBODY UINT32_MAX
#define EPSILON 1e-9 ///< relative: less is rounding
#define LITTLE 1e-6  ///< of the sum of times: decides among equals
#define N_RANKED 16u ///< changes that are tried

/** A move (partner NOBODY: to `node`) or a swap with a thread on `node`. */
struct change {
    uint32_t thread;
    uint32_t partner;
    uint32_t node;
    double score; ///< the lower the better
};

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
    uint32_t node;
};

struct refiner {
    struct load_table *table;
    const uint32_t *current;
    struct refine_limits *limits;
    double *pages; ///< [n_threads]: share in the union, as if cut up evenly
    struct outlook *nodes;        ///< [n_nodes]
    struct item *items;           ///< [n_threads + n_nodes + 1]
    double limit;                 ///< scores that are listed are below
    struct change best[N_RANKED]; ///< by score, which is an estimate
    unsigned n_best;
};

// ---- trying ----

static void apply(struct load_table *table, const struct change *change)
{
    const uint32_t from = table->node_of[change->thread];

    load_table_move(table, change->thread, change->node);
    if (change->partner != NOBODY) {
        load_table_move(table, change->partner, from);
    }
}

/** The longest time of the changed nodes, and a little of their sum. */
static double score_of(struct load_table *table, int is_tried,
                       double *longest_s)
{
    double sum = 0;

    *longest_s = 0;
    for (unsigned k = 0; k < table->n_changed; k++) {
        const uint32_t x = table->changed[k];
        const double time_s =
            is_tried ? load_table_time(table, x) : table->times[x];

        *longest_s = fmax(*longest_s, time_s);
        sum += time_s;
    }
    return *longest_s + LITTLE * sum;
}

/** Try a change; it has its score then. @param[out] longest_s  of the changed nodes
 * @return whether it is for the better */
static int try_change(struct load_table *table, struct change *change,
                      double *longest_s)
{
    const uint32_t from = table->node_of[change->thread];
    const double from_s = table->loads[from].comp_s;
    const double to_s = table->loads[change->node].comp_s;
    double before_s;
    double before;

    apply(table, change);
    change->score = score_of(table, 1, longest_s);
    load_table_move(table, change->thread, from);
    if (change->partner != NOBODY) {
        load_table_move(table, change->partner, change->node);
    }
    table->loads[from].comp_s = from_s; // I1
    table->loads[change->node].comp_s = to_s;
    before = score_of(table, 0, &before_s);
    load_table_forget(table);
    return change->score < before * (1 - EPSILON);
}

// ---- estimates ----

/** Pages of groups, divided among their users. */
static void share_pages(struct refiner *refiner)
{
    const struct cluster_view *view = refiner->table->view;
    struct group_users *users = cluster_view_users(view);

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const struct thread_view *it = &view->threads[i];

        for (uint32_t u = it->first_use; u < it->first_use + it->n_uses; u++) {
            const uint32_t g = view->uses[u].group;

            refiner->pages[i] +=
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

static void look_at(struct refiner *refiner, uint32_t node)
{
    const struct load_table *table = refiner->table;
    const struct node_rates *rates = &table->rates[node];
    struct outlook *outlook = &refiner->nodes[node];

    *outlook = (struct outlook){
        .comp = rates->comp / table->view->nodes[node].n_processors,
        .lack = node_demand(&table->loads[node]) - rates->memory_pages,
        .half_page_s = (rates->in_s + rates->out_s) / 2,
    };
    outlook->unpaged_s = table->times[node] - estimate(outlook, 0, 0);
}

// ---- ranking ----

static void list(struct refiner *refiner, const struct change *change)
{
    unsigned at = refiner->n_best;

    at -= at == N_RANKED;
    while (at > 0 && refiner->best[at - 1].score > change->score) {
        refiner->best[at] = refiner->best[at - 1];
        at--;
    }
    refiner->best[at] = *change;
    refiner->n_best += refiner->n_best < N_RANKED;
    if (refiner->n_best == N_RANKED) {
        refiner->limit = refiner->best[N_RANKED - 1].score;
    }
}

/** A thread goes to another node, in exchange for each of its threads, or for nobody.
 * @return behind these */
static const struct item *rank(struct refiner *refiner,
                               const struct item *thread,
                               const struct item *partners)
{
    const struct outlook here = refiner->nodes[thread->node];
    const struct outlook there = refiner->nodes[partners->node];
    const struct item *it = partners;

    for (; it->node == partners->node; it++) {
        const double comp_s = thread->comp_s - it->comp_s;
        const double pages = thread->pages - it->pages;
        const double from_s = estimate(&here, -comp_s, -pages);
        const double to_s = estimate(&there, comp_s, pages);
        const double score = from_s > to_s ? from_s : to_s;

        if (score < refiner->limit) {
            list(refiner,
                 &(struct change){thread->thread, it->thread, it->node, score});
        }
    }
    return it;
}

/** Gather a node's threads that may move. @return where they end */
static struct item *gather(const struct refiner *refiner, uint32_t node,
                           struct item *at)
{
    const struct load_table *table = refiner->table;

    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        if (answer_may_move(table->view, refiner->current, table->node_of, i)) {
            *at++ = (struct item){table->view->threads[i].computation_s,
                                  refiner->pages[i], i, node};
        }
    }
    return at;
}

/** List the best changes of a node's threads with other nodes, as the table is now. */
static void rank_all(struct refiner *refiner, uint32_t node, int with_swaps)
{
    struct item *const own_end = gather(refiner, node, refiner->items);
    struct item *end = own_end;

    for (uint32_t y = 0; y < refiner->table->view->n_nodes; y++) {
        look_at(refiner, y);
        if (y != node) {
            *end++ = (struct item){0, 0, NOBODY, y};
            end = with_swaps ? gather(refiner, y, end) : end;
        }
    }
    *end = (struct item){.node = NOBODY};
    refiner->n_best = 0;
    refiner->limit = refiner->table->times[node] * (1 - EPSILON);
    for (const struct item *it = refiner->items; it < own_end; it++) {
        for (const struct item *y = own_end; y < end;) {
            y = rank(refiner, it, y);
        }
    }
}

// ---- the search ----

/** Try what an estimate ranks first. @return whether something was changed */
static int step(struct refiner *refiner, uint32_t node, int with_swaps)
{
    struct change best = {.score = INFINITY};
    double longest_s;

    rank_all(refiner, node, with_swaps);
    for (unsigned k = 0; k < refiner->n_best && refiner->limits->n_trials > 0;
         k++) {
        struct change *change = &refiner->best[k];

        refiner->limits->n_trials--;
        if (try_change(refiner->table, change, &longest_s) &&
            change->score < best.score) {
            best = *change;
        }
    }
    if (best.score == INFINITY) {
        return 0;
    }
    apply(refiner->table, &best);
    load_table_settle(refiner->table);
    return 1;
}

void refine(struct load_table *table, const uint32_t *current,
            struct refine_limits *limits)
{
    const size_t n_nodes = table->view->n_nodes;
    const size_t n_threads = table->view->n_threads;
    struct refiner refiner = {
        .table = table,
        .current = current,
        .limits = limits,
        .pages = memory_new(n_threads, sizeof *refiner.pages),
        .nodes = memory_new(n_nodes, sizeof *refiner.nodes),
        .items = memory_new(n_threads + n_nodes + 1, sizeof *refiner.items),
    };
    uint32_t node;

    share_pages(&refiner);
    while (limits->n_trials > 0 &&
           load_table_longest(table, &node) > limits->good_enough_s &&
           (step(&refiner, node, 0) || step(&refiner, node, 1))) {
    }
    free(refiner.pages);
    free(refiner.nodes);
    free(refiner.items);
}

// ---- fewer moves ----

/** Make a change if no node that it concerns takes longer than limit_s then. */
static int make_if_below(struct load_table *table, struct change *change,
                         double limit_s)
{
    double longest_s;

    try_change(table, change, &longest_s);
    if (longest_s > limit_s) {
        return 0;
    }
    apply(table, change);
    load_table_settle(table);
    return 1;
}

/** A thread that has come to where `thread` was, from where it is now. */
static uint32_t counterpart(const struct load_table *table,
                            const uint32_t *current, uint32_t thread)
{
    for (uint32_t j = table->head[current[thread]]; j != UNPLACED;
         j = table->next[j]) {
        if (current[j] == table->node_of[thread]) {
            return j;
        }
    }
    return NOBODY;
}

void refine_fewer_moves(struct load_table *table, const uint32_t *current)
{
    const double limit_s = load_table_longest(table, NULL) * (1 + EPSILON);

    for (uint32_t i = 0; i < table->view->n_threads; i++) {
        struct change change = {i, NOBODY, current[i], 0};

        if (table->node_of[i] == current[i]) {
            continue;
        }
        if (!make_if_below(table, &change, limit_s)) {
            change.partner = counterpart(table, current, i);
            if (change.partner != NOBODY) {
                make_if_below(table, &change, limit_s);
            }
        }
    }
}

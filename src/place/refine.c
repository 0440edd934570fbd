// SPDX-License-Identifier: BSD-3-Clause
//
// Local search on the vector of all T_x, sorted downwards: a mapping is better
// if its longest time is shorter, or, that being equal, its second longest, and
// so on. A move or swap changes the times of a few nodes; to compare the
// vectors it is enough to compare these few, before and after, because what is
// equal in both vectors does not decide.
//
// Where there are few moves and swaps all are tried. Where there are many, they
// are first ranked by an estimate (refine_rank.c); only the best of the ranking
// are tried, only with the nodes that end first unless nothing is found there, and
// only nodes that are about the slowest are looked at. Where there are very many,
// only the slowest is, and the first of the ranking that is for the better is taken.
//
// I1  A trial leaves the table as it was, to the bit.
// I2  Each accepted change makes the vector smaller by more than rounding, so
//     the search ends.
#include "place/refine_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_MAX 60u   ///< candidates of a node that are all tried
#define N_TARGETS 8u  ///< nodes that they go to at first
#define MANY 2000u    ///< candidates of a node that are very many
#define N_NEAREST 2u  ///< nodes that they go to at first then
#define SLOW 0.99     ///< of the longest time: still among the slowest
#define N_COMPARED 8u ///< changed times that are compared

struct refiner {
    struct load_table *table;
    const uint32_t *current;
    struct refine_limits *limits;
    uint32_t *order;   ///< [n_nodes], slowest first
    uint32_t *threads; ///< [n_threads]: of a node, that may move
    struct ranking ranking;
};

// ---- comparing vectors ----

/** The largest few times of the changed nodes. */
struct tops {
    double times[N_COMPARED];
    unsigned n;
};

static void add_top(struct tops *tops, double time_s)
{
    unsigned at = tops->n;

    if (at == N_COMPARED && time_s <= tops->times[at - 1]) {
        return;
    }
    at -= at == N_COMPARED;
    while (at > 0 && tops->times[at - 1] < time_s) {
        tops->times[at] = tops->times[at - 1];
        at--;
    }
    tops->times[at] = time_s;
    tops->n += tops->n < N_COMPARED;
}

static int is_shorter(const struct tops *after, const struct tops *before)
{
    for (unsigned k = 0; k < after->n; k++) {
        const double least = EPSILON * before->times[0];

        if (after->times[k] < before->times[k] - least) {
            return 1;
        }
        if (after->times[k] > before->times[k] + least) {
            return 0;
        }
    }
    return 0;
}

// ---- trying ----

/** Try a change. @return whether it is for the better; its score is the longest
 * time of the changed nodes then, and a little of their sum */
static int try_change(struct refiner *refiner, struct change *change)
{
    struct load_table *table = refiner->table;
    const uint32_t from = table->node_of[change->thread];
    const double from_s = table->loads[from].comp_s;
    const double to_s = table->loads[change->node].comp_s;
    struct tops before = {.n = 0};
    struct tops after = {.n = 0};
    double sum = 0;

    refiner->limits->n_trials--;
    change_apply(table, change);
    for (unsigned k = 0; k < table->n_changed; k++) {
        const double time_s = load_table_time(table, table->changed[k]);

        add_top(&before, table->times[table->changed[k]]);
        add_top(&after, time_s);
        sum += time_s;
    }
    change_take_back(table, change, from);
    table->loads[from].comp_s = from_s; // I1
    table->loads[change->node].comp_s = to_s;
    change->score = after.times[0] + 1e-6 * sum;
    const int is_better = is_shorter(&after, &before);

    load_table_forget(table);
    return is_better;
}

// ---- candidates of a node ----

/** Try a change and keep it if it is the best. */
static void consider(struct refiner *refiner, struct change *change,
                     struct change *best)
{
    if (refiner->limits->n_trials > 0 && try_change(refiner, change) &&
        change->score < best->score) {
        *best = *change;
    }
}

/** The moves of a thread to a node and its swaps with threads there. */
static void try_target(struct refiner *refiner, uint32_t thread,
                       uint32_t target, struct change *best)
{
    struct load_table *table = refiner->table;
    struct change change = {thread, NOBODY, target, 0};
    uint32_t next;

    consider(refiner, &change, best);
    for (uint32_t j = table->head[target]; j != UNPLACED; j = next) {
        next = table->next[j]; // a trial puts j in front
        change = (struct change){thread, j, target, 0};
        if (may_move(table, refiner->current, j)) {
            consider(refiner, &change, best);
        }
    }
}

static void try_all(struct refiner *refiner, uint32_t node, struct change *best)
{
    const struct load_table *table = refiner->table;
    uint32_t n = 0;

    // Trials relink the list.
    for (uint32_t i = table->head[node]; i != UNPLACED; i = table->next[i]) {
        if (may_move(table, refiner->current, i)) {
            refiner->threads[n++] = i;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t y = 0; y < table->view->n_nodes; y++) {
            if (refiner->order[y] != node) {
                try_target(refiner, refiner->threads[k], refiner->order[y],
                           best);
            }
        }
    }
}

/** Try what an estimate ranks first, among the changes of a node with the
 * n_targets nodes that end first; with take_first only until something is found.
 * @return whether something was */
static int try_ranked(struct refiner *refiner, uint32_t node,
                      uint32_t n_targets, int with_swaps, int take_first,
                      struct change *best)
{
    struct ranking *ranking = &refiner->ranking;
    const uint32_t n_nodes = refiner->table->view->n_nodes;

    ranking_fill(ranking, node, refiner->order + n_nodes - n_targets, n_targets,
                 with_swaps);
    for (unsigned k = 0; k < ranking->n_best; k++) {
        consider(refiner, &ranking->best[k], best);
        if (take_first && best->thread != NOBODY) {
            return 1;
        }
    }
    return best->thread != NOBODY;
}

static uint64_t n_changes(const struct load_table *table, uint32_t node)
{
    const uint64_t n_own = table->loads[node].n_threads;

    return n_own * (table->view->n_nodes - 1 + table->view->n_threads - n_own);
}

/** Where there are very many: a move, a swap with one of the nodes that end
 * first, or any swap. */
static void first_of_many(struct refiner *refiner, uint32_t node,
                          struct change *best)
{
    const uint32_t n_nodes = refiner->table->view->n_nodes;
    const uint32_t n_nearest = N_NEAREST < n_nodes ? N_NEAREST : n_nodes;

    if (!try_ranked(refiner, node, n_nodes, 0, 1, best) &&
        !try_ranked(refiner, node, n_nearest, 1, 1, best)) {
        try_ranked(refiner, node, n_nodes, 1, 1, best);
    }
}

/** Find the best change of a node's threads; its thread is NOBODY if there is
 * none for the better. */
static struct change best_change(struct refiner *refiner, uint32_t node)
{
    const uint32_t n_nodes = refiner->table->view->n_nodes;
    const uint64_t n = n_changes(refiner->table, node);
    const uint32_t n_targets = N_TARGETS < n_nodes ? N_TARGETS : n_nodes;
    struct change best = {NOBODY, NOBODY, NOBODY, INFINITY};

    if (n <= ALL_MAX) {
        try_all(refiner, node, &best);
    } else if (n > MANY) {
        first_of_many(refiner, node, &best);
    } else if (!try_ranked(refiner, node, n_targets, 1, 0, &best) &&
               n_targets < n_nodes) {
        try_ranked(refiner, node, n_nodes, 1, 0, &best);
    }
    return best;
}

// ---- the search ----

static void order_nodes(struct refiner *refiner)
{
    const double *times = refiner->table->times;

    for (uint32_t x = 0; x < refiner->table->view->n_nodes; x++) {
        uint32_t at = x;

        while (at > 0 && times[refiner->order[at - 1]] < times[x]) {
            refiner->order[at] = refiner->order[at - 1];
            at--;
        }
        refiner->order[at] = x;
    }
}

/** Is it of use to look at a node when slower ones cannot be helped? */
static int is_worth_trying(const struct load_table *table, uint32_t node,
                           double longest_s)
{
    const uint64_t n = n_changes(table, node);
    const double limit = n > MANY ? 1 - EPSILON : n > ALL_MAX ? SLOW : 0;

    return table->times[node] >= limit * longest_s;
}

/** @return whether something was changed */
static int step(struct refiner *refiner)
{
    const double longest_s = load_table_longest(refiner->table, NULL);

    order_nodes(refiner);
    for (uint32_t k = 0; k < refiner->table->view->n_nodes; k++) {
        const uint32_t node = refiner->order[k];
        struct change best;

        if (refiner->limits->n_trials == 0 ||
            !is_worth_trying(refiner->table, node, longest_s)) {
            return 0;
        }
        best = best_change(refiner, node);
        if (best.thread != NOBODY) {
            change_apply(refiner->table, &best);
            load_table_settle(refiner->table);
            return 1;
        }
    }
    return 0;
}

static void refiner_release(struct refiner *refiner)
{
    ranking_release(&refiner->ranking);
    free(refiner->order);
    free(refiner->threads);
}

static tm_status refiner_init(struct refiner *refiner)
{
    const size_t n_nodes = refiner->table->view->n_nodes;
    const size_t n_threads = refiner->table->view->n_threads;

    refiner->order = malloc(n_nodes * sizeof(uint32_t));
    refiner->threads = malloc(n_threads * sizeof(uint32_t));
    if (!refiner->order || !refiner->threads) {
        return TM_ENOMEM;
    }
    return ranking_init(&refiner->ranking, refiner->table, refiner->current);
}

tm_status refine(struct load_table *table, const uint32_t *current,
                 struct refine_limits *limits)
{
    struct refiner refiner = {
        .table = table, .current = current, .limits = limits};
    tm_status status = refiner_init(&refiner);

    while (status == TM_OK && limits->n_trials > 0 &&
           load_table_longest(table, NULL) > limits->good_enough_s &&
           step(&refiner)) {
    }
    refiner_release(&refiner);
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Local search: as long as the slowest node can be made quicker, by a move of one of its
// threads or the swap of a pair. A change concerns the times of a few nodes; it is for
// the better if the longest of these becomes shorter, or, that being equal, their sum.
//
// Changes are ranked by an estimate (refine_rank.c), and only the best of the ranking
// are tried: first moves, then also swaps with the nodes that end first, then swaps
// with all.
//
// I1  A trial leaves the table as it was, to the bit.
// I2  Each accepted change makes the times of the nodes that it concerns better by more
//     than rounding, and no node slower than the slowest of them was, so the search
//     ends.
#include "base/memory.h"
#include "place/refine_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_NEAREST 2u ///< nodes that threads are swapped with at first
#define LITTLE 1e-6  ///< of the sum of times: decides among equals

struct refiner {
    struct load_table *table;
    const uint32_t *current;
    struct refine_limits *limits;
    uint32_t *order; ///< [n_nodes], slowest first
    struct ranking ranking;
};

// ---- trying ----

/** The longest time of the changed nodes, and a little of their sum. */
static double score_of(struct load_table *table, int is_tried)
{
    double longest_s = 0;
    double sum = 0;

    for (unsigned k = 0; k < table->n_changed; k++) {
        const uint32_t x = table->changed[k];
        const double time_s =
            is_tried ? load_table_time(table, x) : table->times[x];

        longest_s = fmax(longest_s, time_s);
        sum += time_s;
    }
    return longest_s + LITTLE * sum;
}

/** Try a change; it has its score then. @return whether it is for the better */
static int try_change(struct refiner *refiner, struct change *change)
{
    struct load_table *table = refiner->table;
    const uint32_t from = table->node_of[change->thread];
    const double from_s = table->loads[from].comp_s;
    const double to_s = table->loads[change->node].comp_s;
    double before;

    refiner->limits->n_trials--;
    change_apply(table, change);
    change->score = score_of(table, 1);
    change_take_back(table, change, from);
    table->loads[from].comp_s = from_s; // I1
    table->loads[change->node].comp_s = to_s;
    before = score_of(table, 0);
    load_table_forget(table);
    return change->score < before * (1 - EPSILON);
}

/** Try what an estimate ranks first, among the changes of a node with the
 * n_targets nodes that end first. @param[out] best  if there is one for the better
 * @return whether there is */
static int try_ranked(struct refiner *refiner, uint32_t node,
                      uint32_t n_targets, int with_swaps, struct change *best)
{
    struct ranking *ranking = &refiner->ranking;
    const uint32_t n_nodes = refiner->table->view->n_nodes;

    best->score = INFINITY;
    ranking_fill(ranking, node, refiner->order + n_nodes - n_targets, n_targets,
                 with_swaps);
    for (unsigned k = 0; k < ranking->n_best && refiner->limits->n_trials > 0;
         k++) {
        struct change *change = &ranking->best[k];

        if (try_change(refiner, change) && change->score < best->score) {
            *best = *change;
        }
    }
    return best->score < INFINITY;
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

/** @return whether something was changed */
static int step(struct refiner *refiner)
{
    const uint32_t n_nodes = refiner->table->view->n_nodes;
    const uint32_t n_nearest = N_NEAREST < n_nodes ? N_NEAREST : n_nodes;
    struct change best;
    uint32_t node;

    order_nodes(refiner);
    node = refiner->order[0];
    if (!try_ranked(refiner, node, n_nodes, 0, &best) &&
        !try_ranked(refiner, node, n_nearest, 1, &best) &&
        !try_ranked(refiner, node, n_nodes, 1, &best)) {
        return 0;
    }
    change_apply(refiner->table, &best);
    load_table_settle(refiner->table);
    return 1;
}

void refine(struct load_table *table, const uint32_t *current,
            struct refine_limits *limits)
{
    struct refiner refiner = {
        .table = table,
        .current = current,
        .limits = limits,
        .order = memory_new(table->view->n_nodes, sizeof(uint32_t)),
    };

    ranking_init(&refiner.ranking, table, current);
    while (limits->n_trials > 0 &&
           load_table_longest(table, NULL) > limits->good_enough_s &&
           step(&refiner)) {
    }
    ranking_release(&refiner.ranking);
    free(refiner.order);
}

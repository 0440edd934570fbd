// SPDX-License-Identifier: BSD-3-Clause
//
// Searches for the number of threads of each node.
//
// **Steps (1) to (5) of [Liu06]**: the source is the node that ends last, the
// destination the one that ends first; threads go from one to the other as long
// as the later of the two ends earlier than before; if none can go, the
// destination that ends next is tried; if none is left, that is it. With T_x
// strictly increasing this is optimal: if the source s is above the optimum,
// some d has fewer threads than in the optimum, and step (4) comes to it.
//
// **Plateaus.** With p processors T_x(n) is constant over p values of n. One
// thread less does not make s faster, so the papers' condition refuses all
// moves. Here a move is good if d stays below what s took before it, whether s
// is faster or not. Nodes at the top then only lose threads, so this ends; and
// it ends at the optimum by the argument above.
//
// A curve that decreases somewhere could make the search go round; so the number
// of moves is limited.
//
// I1  The sum of the counts is n_threads, and no count is below its floor.
// I2  `best` are the first counts with the shortest longest time so far.
#include "place/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct search {
    const struct demand_curve *curve;
    uint32_t *counts;    ///< [n_nodes]
    uint32_t *best;      ///< [n_nodes], I2
    double *times;       ///< [n_nodes]: T_x of counts
    unsigned char *done; ///< [n_nodes]: tried as destination
    double best_s;
    uint64_t n_left; ///< moves until the search is given up
};

void counts_of(const struct cluster_view *view, const uint32_t *node_of,
               uint32_t *counts)
{
    memset(counts, 0, view->n_nodes * sizeof *counts);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        counts[node_of[i]]++;
    }
}

void counts_of_pinned(const struct cluster_view *view, const uint32_t *current,
                      uint32_t *counts)
{
    memset(counts, 0, view->n_nodes * sizeof *counts);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        counts[current[i]] += view->threads[i].is_pinned != 0;
    }
}

// ---- the steps ----

static uint32_t slowest(const struct search *search)
{
    uint32_t best = 0;

    for (uint32_t x = 1; x < search->curve->n_nodes; x++) {
        if (search->times[x] > search->times[best]) {
            best = x;
        }
    }
    return best;
}

/** The node that ends first of those not yet tried; n_nodes if there is none. */
static uint32_t earliest(const struct search *search)
{
    uint32_t best = search->curve->n_nodes;

    for (uint32_t x = 0; x < search->curve->n_nodes; x++) {
        if (!search->done[x] && (best == search->curve->n_nodes ||
                                 search->times[x] < search->times[best])) {
            best = x;
        }
    }
    return best;
}

static double longest_of(const struct search *search)
{
    return search->times[slowest(search)];
}

/** Would one more thread from s to d be for the better? */
static int is_good(const struct search *search, uint32_t s, uint32_t d)
{
    return demand_curve_time(search->curve, d, search->counts[d] + 1) <
           search->times[s];
}

static void move_one(struct search *search, uint32_t s, uint32_t d)
{
    search->counts[s]--;
    search->counts[d]++;
    search->times[s] = demand_curve_time(search->curve, s, search->counts[s]);
    search->times[d] = demand_curve_time(search->curve, d, search->counts[d]);
}

/** Step (2). @return how many went */
static uint32_t move_some(struct search *search, uint32_t s, uint32_t d)
{
    uint32_t n = 0;

    while (search->counts[s] > search->curve->floors[s] && search->n_left > 0 &&
           is_good(search, s, d)) {
        move_one(search, s, d);
        search->n_left--;
        n++;
    }
    return n;
}

static void note_best(struct search *search)
{
    const double longest_s = longest_of(search);

    if (longest_s < search->best_s) {
        search->best_s = longest_s;
        memcpy(search->best, search->counts,
               search->curve->n_nodes * sizeof *search->best);
    }
}

/** Steps (1) to (5). */
static void search_liu06(struct search *search)
{
    uint32_t s = slowest(search);

    memset(search->done, 0, search->curve->n_nodes);
    for (;;) {
        uint32_t d;

        search->done[s] = 1;
        d = earliest(search); // (1), (4)
        if (d == search->curve->n_nodes) {
            return; // (5)
        }
        if (move_some(search, s, d) == 0) { // (2)
            search->done[d] = 1;
            continue;
        }
        note_best(search); // (3)
        s = slowest(search);
        memset(search->done, 0, search->curve->n_nodes);
    }
}

/** [Liang03] 3.2: the measure is the longest time of all nodes, and the first
 * pair that does not shorten it ends the search. */
static void search_liang03(struct search *search)
{
    for (;;) {
        const uint32_t s = slowest(search);
        uint32_t n = 0;
        uint32_t d;

        memset(search->done, 0, search->curve->n_nodes);
        search->done[s] = 1;
        d = earliest(search);
        if (d == search->curve->n_nodes) {
            return;
        }
        while (search->counts[s] > search->curve->floors[s]) {
            const double before_s = longest_of(search);

            move_one(search, s, d);
            if (longest_of(search) >= before_s) {
                move_one(search, d, s);
                break;
            }
            n++;
        }
        note_best(search);
        if (n == 0) {
            return;
        }
    }
}

static void search_release(struct search *search)
{
    free(search->best);
    free(search->times);
    free(search->done);
}

static void search_init(struct search *search)
{
    const size_t n = search->curve->n_nodes;

    search->best = memory_new(n, sizeof *search->best);
    search->times = memory_new(n, sizeof *search->times);
    search->done = memory_new(n, 1);
    memcpy(search->best, search->counts, n * sizeof *search->best);
    for (uint32_t x = 0; x < n; x++) {
        search->times[x] =
            demand_curve_time(search->curve, x, search->counts[x]);
    }
    search->best_s = longest_of(search);
    search->n_left = (n + 1) * search->curve->n_threads;
}

void counts_search(const struct demand_curve *curve, enum count_steps steps,
                   uint32_t *counts)
{
    struct search search = {.curve = curve, .counts = counts};

    search_init(&search);
    if (steps == STEPS_LIANG03) {
        search_liang03(&search);
    } else {
        search_liu06(&search);
    }
    memcpy(counts, search.best, curve->n_nodes * sizeof *counts);
    search_release(&search);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Stochastic, after [Peris94]: how long a node takes is not known but has a
// distribution, which memory widens, and an iteration ends with the last of them. So
// what is to be small is not the longest mean but the mean of the longest,
//
//     E[max T_x] = integral of 1 - product over x of P(T_x <= t)
//
// where nodes that are nearly as slow as the slowest count as well. T_x(n) is taken for
// normal, and for independent of the others:
//
// - n threads of t seconds, each off by SPREAD of t as a standard deviation: what the
//   runtime takes for granted before it has samples (docs/model.md);
// - the W pages that they use together are replaced at random, so each is away when it
//   is needed with the probability p, 1 - p = exp(-p W / M) for W > M: W p faults in the
//   mean, with the variance W p (1 - p), at the mean price of the node's pages;
// - what is sent, as in the demand curve, without variance.
//
// There the pages that a program misses come from a model of its localities, measured;
// the rule for random replacement is the one that needs nothing measured. Which counts:
// those of the least longest mean, then single threads from one of the slowest nodes to
// one of the quickest, each the one that shortens E[max] most, until none does. Which
// threads: the second subphase of [Liu06]. Threads are taken for alike.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/counts.h"
#include "place/policies.h"

#define SPREAD 0.1    ///< of a thread's time, as a standard deviation
#define REACH 6.0     ///< deviations beyond which nothing happens
#define N_POINTS 128u ///< of the integral
#define N_NEAREST 16u ///< nodes that give, and that take
#define WORTH 1e-4    ///< part by which a step must shorten
#define N_PROBES 50u  ///< for p
#define N_STEPS 64u   ///< of the search, for each of these nodes

/** A normal distribution. */
struct spread {
    double mean;
    double deviation;
};

struct chances {
    struct demand_curve curve;
    uint32_t *counts;      ///< [n_nodes]
    struct spread *times;  ///< [n_nodes]: T_x(counts[x])
    uint32_t *by_time;     ///< [n_nodes]: the slowest first
    uint32_t n_candidates; ///< at both ends of by_time
};

// ---- the distribution of one node's time ----

/** p with 1 - p = exp(-p a), for a = W / M. */
static double miss_ratio(double a)
{
    double low = 0;
    double high = 1;

    for (unsigned k = 0; k < N_PROBES && a > 1; k++) {
        const double p = low + (high - low) / 2;

        if (1 - exp(-p * a) > p) { // still below it
            low = p;
        } else {
            high = p;
        }
    }
    return low;
}

/** Seconds that replacing one of a node's pages costs, in the mean. */
static double mean_price(const struct node_rates *rates,
                         const struct node_load *point, double pages)
{
    return (point->written_pages * (rates->in_s + rates->out_s) +
            point->own_pages * rates->in_s +
            point->foreign_pages * rates->fetch_s) /
           pages;
}

static struct spread spread_of(const struct demand_curve *curve, uint32_t node,
                               uint32_t n)
{
    const struct node_rates *rates = &curve->rates[node];
    const struct node_load *point = &curve->points[n];
    const double pages = node_demand(point);
    const double thread_s = SPREAD * curve->thread_s * rates->comp;
    struct spread spread = {demand_curve_time(curve, node, n), 0};
    double variance =
        thread_s * thread_s * ceil((double)n / curve->n_processors[node]);

    if (pages > rates->memory_pages) {
        const double p = miss_ratio(pages / fmax(rates->memory_pages, 1));
        const double price_s = mean_price(rates, point, pages);

        spread.mean += pages * p * price_s;
        variance += pages * p * (1 - p) * price_s * price_s;
    }
    spread.deviation = sqrt(variance);
    return spread;
}

static double mean_time(const void *curve, uint32_t node, uint32_t n)
{
    return spread_of(curve, node, n).mean;
}

// ---- the mean of the longest ----

/** P(T <= t) */
static double chance_by(const struct spread *spread, double t)
{
    if (spread->deviation <= 0) {
        return t >= spread->mean;
    }
    return erfc((spread->mean - t) / spread->deviation * M_SQRT1_2) / 2;
}

/** From where on it may be over, and where it is. */
static void find_ends(const struct spread *times, uint32_t n, double *low,
                      double *high)
{
    *low = 0;
    *high = 0;
    for (uint32_t x = 0; x < n; x++) {
        *low = fmax(*low, times[x].mean - REACH * times[x].deviation);
        *high = fmax(*high, times[x].mean + REACH * times[x].deviation);
    }
}

static double mean_longest(const struct spread *times, uint32_t n)
{
    double low;
    double high;
    double sum = 0;

    find_ends(times, n, &low, &high);
    for (unsigned k = 0; k < N_POINTS; k++) {
        const double t = low + (high - low) * (k + 0.5) / N_POINTS;
        double chance = 1;

        for (uint32_t x = 0; x < n && chance > DBL_EPSILON; x++) {
            if (t < times[x].mean + REACH * times[x].deviation) {
                chance *= chance_by(&times[x], t);
            }
        }
        sum += 1 - chance;
    }
    return low + sum * (high - low) / N_POINTS;
}

// ---- the search ----

static void order_nodes(struct chances *chances)
{
    for (uint32_t x = 0; x < chances->curve.n_nodes; x++) {
        uint32_t at = x;

        while (at > 0 && chances->times[chances->by_time[at - 1]].mean <
                             chances->times[x].mean) {
            chances->by_time[at] = chances->by_time[at - 1];
            at--;
        }
        chances->by_time[at] = x;
    }
}

static void set_count(struct chances *chances, uint32_t node, uint32_t n)
{
    chances->counts[node] = n;
    chances->times[node] = spread_of(&chances->curve, node, n);
}

static void move_one(struct chances *chances, uint32_t from, uint32_t to)
{
    set_count(chances, from, chances->counts[from] - 1);
    set_count(chances, to, chances->counts[to] + 1);
}

/** The mean of the longest if a thread went; nothing has changed afterwards. */
static double try_one(struct chances *chances, uint32_t from, uint32_t to)
{
    double longest_s;

    move_one(chances, from, to);
    longest_s = mean_longest(chances->times, chances->curve.n_nodes);
    move_one(chances, to, from);
    return longest_s;
}

/** Move the one thread that shortens most. @return whether there was one */
static int step(struct chances *chances, double *longest_s)
{
    const uint32_t n_nodes = chances->curve.n_nodes;
    double best_s = *longest_s * (1 - WORTH);
    uint32_t best_from = n_nodes;
    uint32_t best_to = 0;

    order_nodes(chances);
    for (uint32_t a = 0; a < chances->n_candidates; a++) {
        const uint32_t from = chances->by_time[a];

        for (uint32_t b = 0; b < chances->n_candidates; b++) {
            const uint32_t to = chances->by_time[n_nodes - 1 - b];
            const double after_s = from != to && chances->counts[from] >
                                                     chances->curve.floors[from]
                                       ? try_one(chances, from, to)
                                       : INFINITY;

            if (after_s < best_s) {
                best_s = after_s;
                best_from = from;
                best_to = to;
            }
        }
    }
    if (best_from == n_nodes) {
        return 0;
    }
    move_one(chances, best_from, best_to);
    *longest_s = best_s;
    return 1;
}

static void find_counts(struct chances *chances)
{
    const uint32_t n_nodes = chances->curve.n_nodes;
    const uint32_t n_steps = N_STEPS * chances->n_candidates;
    struct node_times times = demand_curve_times(&chances->curve);
    double longest_s;

    times.time = mean_time;
    counts_from_times(&times, chances->counts);
    for (uint32_t x = 0; x < n_nodes; x++) {
        set_count(chances, x, chances->counts[x]);
    }
    longest_s = mean_longest(chances->times, n_nodes);
    for (uint32_t k = 0; k < n_steps && step(chances, &longest_s); k++) {
    }
}

static void place(const struct place_request *request, struct mapping *mapping)
{
    const uint32_t n = request->view->n_nodes;
    struct chances chances = {
        .counts = memory_new(n, sizeof *chances.counts),
        .times = memory_new(n, sizeof *chances.times),
        .by_time = memory_new(n, sizeof *chances.by_time),
        .n_candidates = n < N_NEAREST ? n : N_NEAREST,
    };

    demand_curve_init(&chances.curve, request->view, request->model,
                      request->current, COUNT_COMP | COUNT_COMM);
    find_counts(&chances);
    answer_partition(request, chances.counts, mapping->before_s, 0,
                     mapping->node_of);
    demand_curve_release(&chances.curve);
    free(chances.counts);
    free(chances.times);
    free(chances.by_time);
}

const struct policy policy_peris = {
    .name = "peris",
    .summary = "the mean of the longest time of all nodes, times and paging "
               "left to chance",
    .uses_memory = 1,
    .wants_uses = 1,
    .place = place,
};

// SPDX-License-Identifier: BSD-3-Clause
//
// Counts by their threshold. Node x has room for cap_x(tau) threads if all of
// them are to be done after tau; the smallest tau with room for all threads is
// the best iteration time there is. tau is found by bisection, each cap by bisection
// between those of the two ends, so that a probe costs less and less.
//
// I1  cap_x(low) <= cap_x(high); high has room for all threads, low has not.
// I2  No node gets more than its cap, so the longest time is at most tau.
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/memory.h"
#include "place/counts.h"

#define N_PROBES 60 ///< halve the interval to the last bit of a double

struct threshold {
    struct node_times times;
    uint32_t *low;    ///< [n_nodes]: threads that end in less than tau
    uint32_t *middle; ///< [n_nodes], for its own use
    uint32_t *high;   ///< [n_nodes]: that end with tau
};

static double time_of(const struct threshold *threshold, uint32_t x, uint32_t n)
{
    return threshold->times.time(threshold->times.of, x, n);
}

static uint32_t floor_of(const struct threshold *threshold, uint32_t x)
{
    return threshold->times.floors != NULL ? threshold->times.floors[x] : 0;
}

static void threshold_init(struct threshold *threshold,
                           const struct node_times *times)
{
    const size_t n = times->n_nodes;

    threshold->times = *times;
    threshold->low = memory_new(n, sizeof *threshold->low);
    threshold->middle = memory_new(n, sizeof *threshold->middle);
    threshold->high = memory_new(n, sizeof *threshold->high);
}

static void threshold_release(struct threshold *threshold)
{
    free(threshold->low);
    free(threshold->middle);
    free(threshold->high);
}

// ---- tau ----

/** The most threads that node x ends with by tau, between low and high. */
static uint32_t cap_of(const struct threshold *threshold, uint32_t x,
                       double tau_s, uint32_t low, uint32_t high)
{
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;

        if (time_of(threshold, x, middle) <= tau_s) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low > floor_of(threshold, x) ? low : floor_of(threshold, x);
}

static uint64_t room_at(struct threshold *threshold, double tau_s)
{
    uint64_t room = 0;

    for (uint32_t x = 0; x < threshold->times.n_nodes; x++) {
        threshold->middle[x] =
            cap_of(threshold, x, tau_s, threshold->low[x], threshold->high[x]);
        room += threshold->middle[x];
    }
    return room;
}

static void swap(uint32_t **a, uint32_t **b)
{
    uint32_t *const held = *a;

    *a = *b;
    *b = held;
}

static double find_tau(struct threshold *threshold, double high_s)
{
    double low_s = 0;

    for (uint32_t x = 0; x < threshold->times.n_nodes; x++) {
        threshold->low[x] = 0;
        threshold->high[x] =
            cap_of(threshold, x, high_s, 0, threshold->times.n_threads);
    }
    for (unsigned k = 0; k < N_PROBES; k++) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (middle_s <= low_s || middle_s >= high_s) {
            break;
        }
        if (room_at(threshold, middle_s) >= threshold->times.n_threads) {
            high_s = middle_s;
            swap(&threshold->middle, &threshold->high);
        } else {
            low_s = middle_s;
            swap(&threshold->middle, &threshold->low);
        }
    }
    return low_s;
}

double counts_threshold(const struct node_times *times, double high_s)
{
    struct threshold threshold;
    double tau_s;

    threshold_init(&threshold, times);
    tau_s = find_tau(&threshold, high_s);
    threshold_release(&threshold);
    return tau_s;
}

// ---- sharing out ----

/** Give the threads that are left to nodes with room (I2). @return how many still are */
static uint32_t fill_up(const uint32_t *caps, uint32_t n_nodes, uint32_t left,
                        uint32_t *counts)
{
    for (uint32_t x = 0; x < n_nodes; x++) {
        const uint32_t room = caps[x] > counts[x] ? caps[x] - counts[x] : 0;
        const uint32_t n = room < left ? room : left;

        counts[x] += n;
        left -= n;
    }
    return left;
}

/** The node that so many threads more take least on. @param next_s  [n_nodes] */
static uint32_t find_first_done(const double *next_s, uint32_t n_nodes)
{
    uint32_t best = 0;

    for (uint32_t x = 1; x < n_nodes; x++) {
        best = next_s[x] < next_s[best] ? x : best;
    }
    return best;
}

/** @return T_x(n), INFINITY if there are no n threads */
static double time_of_some(const struct threshold *threshold, uint32_t x,
                           uint32_t n)
{
    return n <= threshold->times.n_threads ? time_of(threshold, x, n)
                                           : INFINITY;
}

/** Hand threads out, not more than there are nodes, each to the node that is done with it
 * first. @return how many are left */
static uint32_t hand_out(const struct threshold *threshold, uint32_t left,
                         uint32_t *counts)
{
    const uint32_t n = threshold->times.n_nodes;
    double *next_s = memory_new(n, sizeof *next_s);

    for (uint32_t x = 0; x < n; x++) {
        next_s[x] = time_of_some(threshold, x, counts[x] + 1);
    }
    for (uint32_t k = 0; k < n && left > 0; k++, left--) {
        const uint32_t x = find_first_done(next_s, n);

        counts[x]++;
        next_s[x] = time_of_some(threshold, x, counts[x] + 1);
    }
    free(next_s);
    return left;
}

static double floor_time(const struct threshold *threshold, uint32_t x)
{
    return time_of(threshold, x, floor_of(threshold, x));
}

/** One node does all that it may. @return the time; which node */
static double time_of_one_node(const struct threshold *threshold,
                               uint32_t *node)
{
    const uint32_t n = threshold->times.n_nodes;
    uint32_t longest =
        0; // with its pinned threads, and the longest but for that one
    double longest_s = 0;
    double second_s = 0;
    uint32_t n_free = threshold->times.n_threads;
    double least_s = INFINITY;

    for (uint32_t x = 0; x < n; x++) {
        const double time_s = floor_time(threshold, x);

        n_free -= floor_of(threshold, x);
        second_s = fmax(second_s, fmin(time_s, longest_s));
        longest = time_s > longest_s ? x : longest;
        longest_s = fmax(longest_s, time_s);
    }
    *node = 0;
    for (uint32_t x = 0; x < n; x++) {
        const double time_s =
            fmax(time_of(threshold, x, floor_of(threshold, x) + n_free),
                 x == longest ? second_s : longest_s);

        *node = time_s < least_s ? x : *node;
        least_s = fmin(least_s, time_s);
    }
    return least_s;
}

static double longest_of(const struct threshold *threshold,
                         const uint32_t *counts)
{
    double longest_s = 0;

    for (uint32_t x = 0; x < threshold->times.n_nodes; x++) {
        longest_s = fmax(longest_s, time_of(threshold, x, counts[x]));
    }
    return longest_s;
}

/** @return how many threads no floor has */
static uint32_t set_floors(const struct threshold *threshold, uint32_t *counts)
{
    uint32_t left = threshold->times.n_threads;

    for (uint32_t x = 0; x < threshold->times.n_nodes; x++) {
        counts[x] = floor_of(threshold, x);
        left -= counts[x];
    }
    return left;
}

static void share_out(const struct threshold *threshold, uint32_t *counts)
{
    const uint32_t n = threshold->times.n_nodes;
    uint32_t left = set_floors(threshold, counts);

    left = fill_up(threshold->low, n, left, counts);
    left = hand_out(threshold, left, counts);
    left = fill_up(threshold->high, n, left, counts); // plateaus only
    for (uint32_t x = 0; left > 0; x = (x + 1) % n, left--) {
        counts[x]++; // only if a T_x decreases somewhere
    }
}

void counts_from_times(const struct node_times *times, uint32_t *counts)
{
    struct threshold threshold;
    uint32_t node;
    double one_s;

    threshold_init(&threshold, times);
    one_s = time_of_one_node(&threshold, &node);
    find_tau(&threshold, one_s);
    share_out(&threshold, counts);
    if (one_s < longest_of(&threshold, counts)) { // as where a T_x decreases
        counts[node] += set_floors(&threshold, counts);
    }
    threshold_release(&threshold);
}

// ---- in proportion ----

void counts_in_proportion(uint32_t n_threads, const double *weights,
                          uint32_t n_nodes, uint32_t *counts)
{
    struct ranked *remainders = memory_new(n_nodes, sizeof *remainders);
    uint32_t left = n_threads;
    double sum = 0;

    for (uint32_t x = 0; x < n_nodes; x++) {
        sum += weights[x];
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        const double share = sum > 0 ? n_threads * (weights[x] / sum) : 0;

        counts[x] = (uint32_t)share < left ? (uint32_t)share : left;
        left -= counts[x];
        remainders[x] = (struct ranked){share - counts[x], x};
    }
    qsort(remainders, n_nodes, sizeof *remainders, compare_falling);
    for (uint32_t k = 0; left > 0; k = (k + 1) % n_nodes) {
        counts[remainders[k].number]++;
        left--;
    }
    free(remainders);
}

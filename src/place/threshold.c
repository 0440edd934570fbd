// SPDX-License-Identifier: BSD-3-Clause
//
// Counts by their threshold. Node x has room for cap_x(tau) threads if all of
// them are to be done after tau; the smallest tau with room for all threads is
// the best iteration time there is. tau is found by bisection between 0 and
// what the present counts take, each cap by bisection between those of the two
// ends, so that a probe costs less and less.
//
// I1  cap_x(low) <= cap_x(high); high has room for all threads, low has not.
// I2  No node gets more than its cap, so the longest time is at most tau.
#include "place/counts.h"

#include <stdlib.h>
#include <string.h>

#define N_PROBES 60 ///< halve the interval to the last bit of a double

struct caps {
    uint32_t *low;    ///< [n_nodes]: at the lower end of the interval
    uint32_t *high;   ///< [n_nodes]: at the upper end
    uint32_t *middle; ///< [n_nodes]
};

/** A node and when it would end with one thread more. */
struct offer {
    double time_s;
    uint32_t node;
};

// ---- tau ----

/** The most threads that node x ends with by tau, between low and high. */
static uint32_t cap_of(const struct demand_curve *curve, uint32_t x,
                       double tau_s, uint32_t low, uint32_t high)
{
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;

        if (demand_curve_time(curve, x, middle) <= tau_s) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low > curve->floors[x] ? low : curve->floors[x];
}

static uint64_t room_at(const struct demand_curve *curve, double tau_s,
                        const struct caps *caps)
{
    uint64_t room = 0;

    for (uint32_t x = 0; x < curve->n_nodes; x++) {
        caps->middle[x] = cap_of(curve, x, tau_s, caps->low[x], caps->high[x]);
        room += caps->middle[x];
    }
    return room;
}

static void swap(uint32_t **a, uint32_t **b)
{
    uint32_t *const held = *a;

    *a = *b;
    *b = held;
}

/** Narrow the interval; the caps at its upper end remain. */
static void find_caps(const struct demand_curve *curve, double high_s,
                      struct caps *caps)
{
    double low_s = 0;

    for (uint32_t x = 0; x < curve->n_nodes; x++) {
        caps->low[x] = 0;
        caps->high[x] = cap_of(curve, x, high_s, 0, curve->n_threads);
    }
    for (unsigned k = 0; k < N_PROBES; k++) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (memcmp(caps->low, caps->high, curve->n_nodes * sizeof *caps->low) ==
                0 ||
            middle_s <= low_s || middle_s >= high_s) {
            return;
        }
        if (room_at(curve, middle_s, caps) >= curve->n_threads) {
            high_s = middle_s;
            swap(&caps->middle, &caps->high);
        } else {
            low_s = middle_s;
            swap(&caps->middle, &caps->low);
        }
    }
}

// ---- sharing out ----

static int is_before(const struct offer *a, const struct offer *b)
{
    return a->time_s < b->time_s ||
           (a->time_s == b->time_s && a->node < b->node);
}

static void sink(struct offer *heap, uint32_t n, uint32_t at)
{
    const struct offer moved = heap[at];

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (child >= n || !is_before(&heap[child], &moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/** Give the threads that are left, one by one, to who ends earliest (I2). */
static void share_out(const struct demand_curve *curve, const uint32_t *caps,
                      uint32_t left, struct offer *heap, uint32_t *counts)
{
    uint32_t n = 0;

    for (uint32_t x = 0; x < curve->n_nodes; x++) {
        if (counts[x] < caps[x]) {
            heap[n++] =
                (struct offer){demand_curve_time(curve, x, counts[x] + 1), x};
        }
    }
    for (uint32_t k = n / 2; k-- > 0;) {
        sink(heap, n, k);
    }
    while (left > 0 && n > 0) {
        const uint32_t x = heap[0].node;

        counts[x]++;
        left--;
        if (counts[x] < caps[x]) {
            heap[0].time_s = demand_curve_time(curve, x, counts[x] + 1);
        } else {
            heap[0] = heap[--n];
        }
        sink(heap, n, 0);
    }
    for (uint32_t x = 0; left > 0; x = (x + 1) % curve->n_nodes) {
        counts[x]++; // only if a curve decreases somewhere
        left--;
    }
}

tm_status counts_threshold(const struct demand_curve *curve, uint32_t *counts)
{
    const size_t n = curve->n_nodes;
    uint32_t *words = malloc(3 * n * sizeof *words);
    struct offer *heap = malloc(n * sizeof *heap);
    struct caps caps;
    uint32_t left = curve->n_threads;

    if (words == NULL || heap == NULL) {
        free(words);
        free(heap);
        return TM_ENOMEM;
    }
    caps = (struct caps){words, words + n, words + 2 * n};
    find_caps(curve, demand_curve_iteration(curve, counts), &caps);
    for (uint32_t x = 0; x < n; x++) {
        if (counts[x] > caps.high[x]) {
            counts[x] = caps.high[x];
        }
        left -= counts[x];
    }
    share_out(curve, caps.high, left, heap, counts);
    free(words);
    free(heap);
    return TM_OK;
}

// ---- in proportion ----

struct remainder {
    double part;
    uint32_t node;
};

static int compare_remainders(const void *left, const void *right)
{
    const struct remainder *a = left;
    const struct remainder *b = right;

    if (a->part != b->part) {
        return a->part < b->part ? 1 : -1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

tm_status counts_in_proportion(uint32_t n_threads, const double *weights,
                               uint32_t n_nodes, uint32_t *counts)
{
    struct remainder *remainders = malloc(n_nodes * sizeof *remainders);
    uint32_t left = n_threads;
    double sum = 0;

    if (remainders == NULL) {
        return TM_ENOMEM;
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        sum += weights[x];
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        const double share = sum > 0 ? n_threads * (weights[x] / sum) : 0;

        counts[x] = (uint32_t)share < left ? (uint32_t)share : left;
        left -= counts[x];
        remainders[x] = (struct remainder){share - counts[x], x};
    }
    qsort(remainders, n_nodes, sizeof *remainders, compare_remainders);
    for (uint32_t k = 0; left > 0; k = (k + 1) % n_nodes) {
        counts[remainders[k].node]++;
        left--;
    }
    free(remainders);
    return TM_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What the history tells: medians over its samples, and how far these may be off.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "reconfig/history_priv.h"

/** The standard error of a median, by the median deviation of n values: with a normal
 * distribution's numbers, 1.2533 * 1.4826 / sqrt(n). */
#define ERROR_OF_MEDIAN 1.858

double history_median(double *values, unsigned n)
{
    if (n == 0) {
        return 0;
    }
    qsort(values, n, sizeof *values, compare_doubles);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static unsigned slot_back(const struct history *history, unsigned distance)
{
    return (unsigned)((history->n_samples - 1 - distance) % HISTORY_WINDOW);
}

// A thread is in each sample since its first, so those kept are the latest ones.
static unsigned copy_work(const struct history *history,
                          const struct history_thread *thread, double *work)
{
    unsigned n = thread->n_kept;

    if (history->n_since >= HISTORY_FEW && history->n_since < n) {
        n = history->n_since;
    }
    for (unsigned i = 0; i < n; i++) {
        work[i] = thread->work[slot_back(history, i)];
    }
    return n;
}

double history_work_s(const struct history *history,
                      const struct history_thread *thread)
{
    double work[HISTORY_WINDOW];

    return history_median(work, copy_work(history, thread, work));
}

// @param values  [n] are made deviations, and sorted
static double median_deviation(double *values, unsigned n)
{
    double middle = history_median(values, n);

    for (unsigned i = 0; i < n; i++) {
        values[i] = fabs(values[i] - middle);
    }
    return history_median(values, n);
}

double history_noise_s(const struct history *history,
                       const struct history_thread *thread)
{
    double work[HISTORY_WINDOW];

    return median_deviation(work, copy_work(history, thread, work));
}

// Samples that the medians are of.
static unsigned n_window(const struct history *history)
{
    return history->n_since < HISTORY_WINDOW ? history->n_since
                                             : HISTORY_WINDOW;
}

double history_latest_s(const struct history *history)
{
    return history->n_since == 0 ? 0 : history->times_s[slot_back(history, 0)];
}

double history_iteration_s(const struct history *history)
{
    unsigned n = n_window(history);
    double times_s[HISTORY_WINDOW];

    if (n == history->n_samples && n > 0) {
        n--; // nobody knows when the first one began
    }
    for (unsigned i = 0; i < n; i++) {
        times_s[i] = history->times_s[slot_back(history, i)];
    }
    return history_median(times_s, n);
}

// Of one of the values of a node, at `offset` in struct history_node.
// @param n  samples, the latest ones
static double node_median(const struct history *history, node_id node,
                          unsigned n, size_t offset)
{
    double values[HISTORY_WINDOW];

    for (unsigned i = 0; i < n; i++) {
        const struct history_node *kept =
            &history->nodes[node].kept[slot_back(history, i)];

        memcpy(&values[i], (const char *)kept + offset, sizeof values[i]);
    }
    return history_median(values, n);
}

// ---- errors

static double error_of_median(double *values, unsigned n)
{
    return n < HISTORY_FEW
               ? 0
               : ERROR_OF_MEDIAN * median_deviation(values, n) / sqrt(n);
}

static double mean_busy_s(const struct history *history, unsigned slot)
{
    double sum_s = 0;

    for (unsigned i = 0; i < history->n_nodes; i++) {
        sum_s += history->nodes[i].kept[slot].busy_s;
    }
    return sum_s / history->n_nodes;
}

double history_node_error_s(const struct history *history, node_id node)
{
    double parts[HISTORY_WINDOW];
    double means_s[HISTORY_WINDOW];
    unsigned n = n_window(history);

    for (unsigned i = 0; i < n; i++) {
        unsigned slot = slot_back(history, i);

        means_s[i] = mean_busy_s(history, slot);
        parts[i] = means_s[i] > 0
                       ? history->nodes[node].kept[slot].busy_s / means_s[i]
                       : 0;
    }
    return error_of_median(parts, n) * history_median(means_s, n);
}

double history_slowest_error_s(const struct history *history)
{
    double times_s[HISTORY_WINDOW];
    unsigned n = n_window(history);

    for (unsigned i = 0; i < n; i++) {
        times_s[i] = 0;
        for (unsigned x = 0; x < history->n_nodes; x++) {
            times_s[i] =
                fmax(times_s[i],
                     history->nodes[x].kept[slot_back(history, i)].busy_s);
        }
    }
    return error_of_median(times_s, n);
}

void history_node(const struct history *history, node_id node,
                  struct history_node *usual)
{
    unsigned n = n_window(history);

#define MEDIAN(value)                                                          \
    .value =                                                                   \
        node_median(history, node, n, offsetof(struct history_node, value)),
    *usual = (struct history_node){HISTORY_VALUES(MEDIAN)};
#undef MEDIAN
}

uint64_t history_free_bytes(const struct history *history, node_id node)
{
    return history->nodes[node].free_bytes;
}

double history_sent_bytes(const struct history *history, node_id from,
                          node_id to)
{
    const uint64_t n = history->n_closed - history->n_closed_before;

    return n > 0 ? history->sent_bytes[(size_t)from * history->n_nodes + to] /
                       (double)n
                 : 0;
}

double history_busy_s(const struct history *history, node_id node, unsigned n)
{
    return node_median(history, node,
                       n < n_window(history) ? n : n_window(history),
                       offsetof(struct history_node, busy_s));
}

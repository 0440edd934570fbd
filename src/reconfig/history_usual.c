// SPDX-License-Identifier: BSD-3-Clause
//
// What the history tells: medians over its samples, and how far these may be off.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/robust.h"
#include "reconfig/history_priv.h"

/** Until there are so many samples, what they differ by is in part what they did before
 * the restart; at the start, so much of what is usual. */
#define PRIOR_UNTIL 8u
#define PRIOR_SAMPLES 3.0 ///< that it is worth at the start, less and less
#define PRIOR_LEAST 0.02
#define PRIOR_MOST 0.3

/** A time that is off by more than so many standard deviations, and than this part of what
 * is usual, is another one. */
#define SHIFT 4.0
#define SHIFT_LEAST 0.15
#define SHIFT_BEFORE 4u ///< samples that it was usual in, at least

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

    return robust_median(work, copy_work(history, thread, work));
}

double history_noise_s(const struct history *history,
                       const struct history_thread *thread)
{
    double work[HISTORY_WINDOW];

    return robust_deviation(work, copy_work(history, thread, work));
}

// Samples that the medians are of.
static unsigned n_window(const struct history *history)
{
    return history->n_since < HISTORY_WINDOW ? history->n_since
                                             : HISTORY_WINDOW;
}

double history_latest_s(const struct history *history)
{
    return history->latest_s;
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
    return robust_median(times_s, n);
}

// One of the values of a node, at `offset` in struct history_node.
// @param n            samples, the latest ones
// @param[out] values  [n] the latest first
static void copy_values(const struct history *history, node_id node, unsigned n,
                        size_t offset, double *values)
{
    for (unsigned i = 0; i < n; i++) {
        const struct history_node *kept =
            &history->nodes[node].kept[slot_back(history, i)];

        memcpy(&values[i], (const char *)kept + offset, sizeof values[i]);
    }
}

static double node_median(const struct history *history, node_id node,
                          unsigned n, size_t offset)
{
    double values[HISTORY_WINDOW];

    copy_values(history, node, n, offset, values);
    return robust_median(values, n);
}

static void copy_busy(const struct history *history, node_id node, unsigned n,
                      double *times_s)
{
    copy_values(history, node, n, offsetof(struct history_node, busy_s),
                times_s);
}

// ---- errors

// The standard deviation of what n values were drawn from, as far as they tell.
// @param values  [n] are made deviations, and sorted
static double spread(const struct history *history, double *values, unsigned n,
                     double usual)
{
    const double told = ROBUST_OF_DEVIATION * robust_deviation(values, n);
    const double prior = history->prior * usual;
    const double weight =
        n < PRIOR_UNTIL ? PRIOR_SAMPLES * (PRIOR_UNTIL - n) / PRIOR_UNTIL : 0;

    return sqrt((weight * prior * prior + (n - 1) * told * told) /
                (weight + n - 1));
}

// Of a single one nothing is known.
// @param n  of those from whose median they are off
static double error_of_median(const struct history *history, double *values,
                              unsigned n_values, unsigned n)
{
    const double usual = robust_median(values, n_values);

    return n_values <= 1
               ? usual
               : ROBUST_OF_MEDIAN * spread(history, values, n_values, usual) /
                     sqrt(n);
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
    return error_of_median(history, parts, n, n) * robust_median(means_s, n);
}

double history_slowest_error_s(const struct history *history, unsigned latest)
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
    return error_of_median(history, times_s, n, latest < n ? latest : n);
}

double history_spread(const struct history *history)
{
    const unsigned n = n_window(history);
    double most = 0;

    for (unsigned x = 0; x < history->n_nodes; x++) {
        double times_s[HISTORY_WINDOW];
        double usual_s;

        copy_busy(history, (node_id)x, n, times_s);
        usual_s = robust_median(times_s, n);
        if (usual_s > 0) {
            most = fmax(most, ROBUST_OF_DEVIATION *
                                  robust_deviation(times_s, n) / usual_s);
        }
    }
    return most;
}

void history_learn_spread(struct history *history)
{
    if (n_window(history) >= PRIOR_UNTIL) {
        history->prior =
            fmin(fmax(history_spread(history), PRIOR_LEAST), PRIOR_MOST);
    }
}

// ---- what is usual no longer

// Is a time longer than it was, 1, or shorter, -1, and that no chance?
static int side_of(double time_s, double usual_s, double deviation_s)
{
    const double most_s = fmax(SHIFT * deviation_s, SHIFT_LEAST * usual_s);

    return (time_s > usual_s + most_s) - (time_s < usual_s - most_s);
}

// Of a node: are its latest n samples all off, to the same side?
// @param[out] is_rough  whether others have been off for once
static int node_has_shifted(const struct history *history, node_id node,
                            unsigned n, int *is_rough)
{
    const unsigned n_all = n_window(history);
    double times_s[HISTORY_WINDOW];
    double before_s[HISTORY_WINDOW];
    double usual_s;
    double deviation_s;
    int side;

    copy_busy(history, node, n_all, times_s);
    memcpy(before_s, times_s + n, (n_all - n) * sizeof *before_s);
    usual_s = robust_median(before_s, n_all - n);
    deviation_s = spread(history, before_s, n_all - n, usual_s);
    for (unsigned i = n; i < n_all; i++) {
        *is_rough |= side_of(times_s[i], usual_s, deviation_s) != 0;
    }
    side = side_of(times_s[0], usual_s, deviation_s);
    for (unsigned i = 1; i < n; i++) {
        if (side_of(times_s[i], usual_s, deviation_s) != side) {
            return 0;
        }
    }
    return side != 0;
}

int history_has_shifted(const struct history *history, unsigned n,
                        int *is_rough)
{
    int has = 0;

    *is_rough = 0;
    for (unsigned i = 0;
         n_window(history) >= n + SHIFT_BEFORE && i < history->n_nodes; i++) {
        has |= node_has_shifted(history, (node_id)i, n, is_rough);
    }
    return has;
}

static void node_medians(const struct history *history, node_id node,
                         unsigned n, struct history_node *usual)
{
#define MEDIAN(value)                                                          \
    .value =                                                                   \
        node_median(history, node, n, offsetof(struct history_node, value)),
    *usual = (struct history_node){HISTORY_VALUES(MEDIAN)};
#undef MEDIAN
}

void history_node(const struct history *history, node_id node,
                  struct history_node *usual)
{
    node_medians(history, node, n_window(history), usual);
}

void history_node_lately(const struct history *history, node_id node,
                         struct history_node *usual)
{
    unsigned n = n_window(history);

    if (n == 0) {
        n = (unsigned)(history->n_samples < HISTORY_WINDOW ? history->n_samples
                                                           : HISTORY_WINDOW);
    }
    node_medians(history, node, n, usual);
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

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_COUNTS_H
#define PLACE_COUNTS_H

#include "model/terms.h"

/*
 * First subphase of [Liu06] 4.2: how many threads each node should have, as if
 * all were alike. What n threads make of node x is its demand curve T_x(n).
 */

/** Which terms count; the policies `cpu` and `mem` look at one only. */
enum count_terms {
    COUNT_COMP = 1,
    COUNT_MEM = 2,
    COUNT_COMM = 4,
    COUNT_ALL = 7,
};

/** T_x(n) of all nodes. */
struct demand_curve {
    uint32_t n_nodes;
    uint32_t n_threads;
    unsigned terms;           ///< of enum count_terms
    int are_alike;            ///< computation times vary by less than a tenth
    double thread_s;          ///< their mean, at power 1.0
    struct node_rates *rates; ///< [n_nodes]
    uint32_t *n_processors;   ///< [n_nodes]
    uint32_t *packet_bytes;   ///< [n_nodes]
    int by_page;              ///< packets are counted page by page
    uint32_t *floors;         ///< [n_nodes]: pinned threads, the fewest a
                              ///< node can have
    struct node_load *points; ///< [n_threads + 1]: what n threads that are
                              ///< placed well use, the same on all nodes; for
    ///< packets the bytes, or packets of node 0's size
};

/**
 * Make the curves. Of pages that q threads use, a node whose n threads are chosen
 * well holds the q-th part of n threads' worth, at least one thread's worth:
 * the union counts what is shared once. What its threads send goes through the
 * two ends of such a run of threads. docs/mapping.md has the formulas.
 * With threads that share nothing, or pages that all read, it is exact.
 *
 * @param current  [n_threads]: where pinned threads are
 * @param terms    of enum count_terms
 * @param[out] curve  demand_curve_release() frees it
 *
 * Context: any thread; allocates. O(uses + threads).
 */
void demand_curve_init(struct demand_curve *curve,
                       const struct cluster_view *view,
                       const struct cost_model *model, const uint32_t *current,
                       unsigned terms);
void demand_curve_release(struct demand_curve *curve);

/** T_x(n) in seconds. n at most n_threads. 0 threads take no time. */
double demand_curve_time(const struct demand_curve *curve, uint32_t node,
                         uint32_t n);

/** The largest T_x(n_x). @param counts  [n_nodes] */
double demand_curve_iteration(const struct demand_curve *curve,
                              const uint32_t *counts);

/** How far a search by the papers' steps goes. */
enum count_steps {
    STEPS_LIANG03, ///< one destination; ends when the longest time of all
                   ///< is not shortened
    STEPS_LIU06, ///< steps (1) to (5); and threads leave a node as long as the
    ///< destination stays below it: over plateaus of several processors
};

/**
 * Change counts by the papers' steps. STEPS_LIU06 finds the optimum if no T_x decreases.
 *
 * @param[in,out] counts  [n_nodes]: where the search starts, sum n_threads, no
 *                        count below its floor; where it ends. Threads are not
 *                        moved for nothing: what did not shorten the longest
 *                        time in the end is not kept
 *
 * Context: any thread; allocates n_nodes words; O(n_nodes) a step.
 * Source: [Liu06] 4.2; [Liang03] 3.2.
 */
void counts_search(const struct demand_curve *curve, enum count_steps steps,
                   uint32_t *counts);

/** How long nodes take for how many threads. */
struct node_times {
    const void *of;
    double (*time)(const void *of, uint32_t node, uint32_t n); ///< T_x(n)
    uint32_t n_nodes;
    uint32_t n_threads;
    const uint32_t *floors; ///< [n_nodes]: the fewest there can be; NULL: 0
};

/** Those of a curve. */
struct node_times demand_curve_times(const struct demand_curve *curve);

/**
 * Find the smallest tau at which all nodes together have room for all threads, by
 * bisection to the last bit.
 *
 * @param high_s  a time in which there is room
 * @return a time in which there is none, or 0
 *
 * Context: any thread; allocates; O(n_nodes log^2 n_threads).
 */
double counts_threshold(const struct node_times *times, double high_s);

/**
 * Share threads out anew so that the longest T_x is as short as can be: each node gets
 * what it ends with by the largest tau at which there is not yet room for all, and what is
 * left goes, thread by thread, to the node that is done first. If it is shorter all go to
 * one node: pages that all threads use become its own then, so its T_x decreases.
 *
 * @param[out] counts  [n_nodes], sum n_threads
 *
 * Context: any thread; allocates; O(n_nodes log^2 n_threads + n_nodes^2). Exact if no
 * T_x decreases.
 */
void counts_from_times(const struct node_times *times, uint32_t *counts);

/** Count the threads on each node. @param[out] counts  [n_nodes] */
void counts_of(const struct cluster_view *view, const uint32_t *node_of,
               uint32_t *counts);

/** Count those that must stay on each node. @param[out] counts  [n_nodes] */
void counts_of_pinned(const struct cluster_view *view, const uint32_t *current,
                      uint32_t *counts);

/** Share n_threads out in proportion to weights by largest remainder; equal
 * weights give the first nodes one more.
 * @param weights  [n_nodes], >= 0, not all 0 */
void counts_in_proportion(uint32_t n_threads, const double *weights,
                          uint32_t n_nodes, uint32_t *counts);

#endif

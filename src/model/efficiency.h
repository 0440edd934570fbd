// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_EFFICIENCY_H
#define MODEL_EFFICIENCY_H

#include <stdint.h>

/*
 * Where the time went, as factors of one efficiency: those of POP (Performance Optimisation
 * and Productivity), for nodes that are not alike. docs/report.md derives them. Pure
 * arithmetic.
 */

/** What a node did in a part of a run. Seconds. */
struct efficiency_node {
    double power;       ///< C of [Liu06], above 0
    double n_workers;   ///< above 0
    double computing_s; ///< its threads' computation, summed
    double paging_s;    ///< its threads' waits for memory, summed
};

/** Sums over the parts of a run. Zeros to begin with. */
struct efficiency_sums {
    double time_s; ///< T
    double mean_s; ///< what a worker computed in the mean of all nodes' workers
    double
        longest_s; ///< of a part, what a worker of the node computed where it was most
    double longest_busy_s; ///< the same of computing and paging together
    double work_s;         ///< computation times power, of all nodes
    double capacity_s;     ///< T times power, of all workers
};

/** The factors. 1: nothing is lost by this. */
struct efficiency {
    double total;         ///< work over capacity
    double load_balance;  ///< do all compute for equally long?
    double paging;        ///< what waiting for memory leaves
    double communication; ///< what waiting for other nodes leaves
    double
        speed; ///< do fast nodes compute for as long as slow ones? Above 1: for longer
};

/**
 * Add a part of a run, as short as it was measured.
 *
 * @param nodes   [n_nodes], those that were there
 * @param time_s  how long it was, by the clock; a part of length 0 adds nothing
 *
 * Context: any thread; pure.
 */
void efficiency_add(struct efficiency_sums *sums,
                    const struct efficiency_node *nodes, uint32_t n_nodes,
                    double time_s);

/**
 * The factors of what was added. Their product is `total`, but for rounding.
 *
 * @return 1; 0 if nothing was computed: then there are none
 *
 * Context: any thread; pure.
 * Source: docs/report.md, after [Rosas14].
 */
int efficiency_of(const struct efficiency_sums *sums,
                  struct efficiency *efficiency);

#endif

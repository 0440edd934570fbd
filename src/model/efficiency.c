// SPDX-License-Identifier: BSD-3-Clause
//
// Factors of an efficiency. POP's load balance is the mean computing time over the longest,
// its communication efficiency the longest computing time over the time by the clock. Here
// are two more between and beside them: what waiting for memory adds to the longest, and what
// the mean would be if each node's time counted by its power. Sums are taken over parts of the
// run, of which each has its own longest: who is slowest changes when threads move.
//
// E1 load_balance * paging * communication * speed = total: each factor's denominator is
//    another one's numerator.
#include "model/efficiency.h"

#include <math.h>

void efficiency_add(struct efficiency_sums *sums,
                    const struct efficiency_node *nodes, uint32_t n_nodes,
                    double time_s)
{
    double computing_s = 0;
    double n_workers = 0;
    double longest_s = 0;
    double longest_busy_s = 0;
    double power = 0;
    double work_s = 0;

    if (time_s <= 0 || n_nodes == 0) {
        return;
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        const struct efficiency_node *node = &nodes[x];
        const double worker_s = node->computing_s / node->n_workers;

        computing_s += node->computing_s;
        n_workers += node->n_workers;
        longest_s = fmax(longest_s, worker_s);
        longest_busy_s =
            fmax(longest_busy_s, worker_s + node->paging_s / node->n_workers);
        work_s += node->power * node->computing_s;
        power += node->power * node->n_workers;
    }
    sums->time_s += time_s;
    sums->mean_s += computing_s / n_workers;
    sums->longest_s += longest_s;
    sums->longest_busy_s += longest_busy_s;
    sums->work_s += work_s;
    sums->capacity_s += power * time_s;
}

int efficiency_of(const struct efficiency_sums *sums,
                  struct efficiency *efficiency)
{
    if (sums->work_s <= 0 || sums->mean_s <= 0 || sums->time_s <= 0) {
        return 0;
    }
    *efficiency = (struct efficiency){
        .total = sums->work_s / sums->capacity_s,
        .load_balance = sums->mean_s / sums->longest_s,
        .paging = sums->longest_s / sums->longest_busy_s,
        .communication = sums->longest_busy_s / sums->time_s,
        .speed = sums->work_s / sums->capacity_s * sums->time_s / sums->mean_s,
    };
    return 1;
}

// SPDX-License-Identifier: BSD-3-Clause
#ifndef TASKS_SHARES_H
#define TASKS_SHARES_H

#include <stdint.h>

/*
 * Which node does which part of a loop's range: its *share*. Pure arithmetic.
 */

/** A share is measured in so many parts. */
#define SHARE_BINS 64u

struct share {
    uint16_t node;
    double power;     ///< of a worker of that node beside others'
    double n_workers; ///< of it
    int64_t first;
    int64_t end;
    uint64_t bin_ns[SHARE_BINS]; ///< processor time in each part, as measured
};

/** The parts of the first time: by power and workers.
 * @param shares  [n]  node, power and n_workers are set; neighbours follow each other */
void shares_begin(struct share *shares, unsigned n, int64_t first, int64_t end);

/** The parts of the next time, perhaps of another range, which is then taken for the same one
 * drawn out: such that all nodes end together, if the iterations cost as much as they did,
 * and as much more on another node as its power is less. As they were if that gains less
 * than 2 %. What was measured is forgotten.
 * @param shares  [n] */
void shares_adapt(struct share *shares, unsigned n, int64_t first, int64_t end);

/** The same cuts for another range, in proportion. What was measured is forgotten.
 * @param shares  [n] */
void shares_keep(struct share *shares, unsigned n, int64_t first, int64_t end);

/** How long a share has taken or, with its workers, would have taken, ns. */
double share_ns(const struct share *share);

#endif

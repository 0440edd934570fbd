// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_REPLICATE_H
#define PLANNER_REPLICATE_H

#include "planner/scenario.h"

/**
 * Another number of threads, each like one of those there are. Whole copies of
 * the program's threads follow each other, then a part of one, of threads spread
 * evenly over it. Copies share no pages with each other, but for those that all
 * threads read and none writes: they are there once. A thread's copies are where
 * it is.
 *
 * @param n_threads  at least 1
 * @param[out] error [size] one line, set on failure
 * @return TM_OK
 * @return TM_ELIMIT  more than 10^8 threads, or 2^32 - 1 groups or uses; unchanged
 */
TM_CHECKED tm_status replicate_threads(struct scenario *scenario,
                                       uint64_t n_threads, char *error,
                                       size_t size);

/**
 * A cluster and a program that are `factor` times as large: copy c of the threads
 * is on copy c of the nodes, named "n1-2" and so on.
 *
 * @return as replicate_threads()
 */
TM_CHECKED tm_status replicate_all(struct scenario *scenario, uint32_t factor,
                                   char *error, size_t size);

#endif

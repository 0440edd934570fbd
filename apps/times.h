// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_TIMES_H
#define APPS_TIMES_H

#include <stdint.h>

/** @return seconds of a monotonic clock */
double now_s(void);

/**
 * Print the total time and the time per iteration: the mean over the steady ones,
 * all but the first five or the first quarter. No median: a node may run its
 * threads in another order each time, so that each of them ends iterations early
 * and late in turn.
 *
 * @param start_s   when the program began with its data
 * @param ends_s    [n_iterations + 1]  when the start values were ready, then
 *                  when each iteration ended
 * @param n_points  points changed per iteration
 */
void times_print(double start_s, const double *ends_s, unsigned n_iterations,
                 double n_points);

/** Print the checksum of a result, see stencil.h. */
void checksum_print(uint64_t sum);

#endif

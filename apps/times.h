// SPDX-License-Identifier: BSD-3-Clause
#ifndef APPS_TIMES_H
#define APPS_TIMES_H

#include <stdbool.h>

/** @return seconds of a monotonic clock */
double now_s(void);

/**
 * An iteration has ended: note when, and print what it took if `report`.
 * @param ends_s  [iteration + 1]  set but for the last
 */
void times_note(double *ends_s, unsigned iteration, bool report);

/**
 * Print the total time and the time per iteration: the mean over the steady
 * ones, all but the first five or the first quarter. No median: a node may run
 * its threads in another order each time, so that each of them ends iterations
 * early and late in turn.
 *
 * @param start_s  when the program began with its data
 * @param ends_s   [n_iterations + 1]  when the start values were ready, then
 *                 when each iteration ended
 * @param amount   what is done per iteration, for the rate; 0: none is printed
 * @param unit     of the amount
 */
void times_print(double start_s, const double *ends_s, unsigned n_iterations,
                 double amount, const char *unit);

/**
 * Print `iteration_ms=T median_ms=T iterations=N`, for programs to read: mean
 * and median time of an iteration of the last half, and how many those are.
 */
void last_half_print(const double *ends_s, unsigned n_iterations);

#endif

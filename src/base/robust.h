// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_ROBUST_H
#define BASE_ROBUST_H

/* Robust statistics: what few values, of which some are off by chance, tell. Context: any;
 * pure. */

/** With a normal distribution's numbers: a standard deviation by the median deviation,
 * and how much more than a mean a median is off. */
#define ROBUST_OF_DEVIATION 1.4826
#define ROBUST_OF_MEDIAN 1.2533

/** @param values  [n], are sorted. @return their median, 0 if there are none */
double robust_median(double *values, unsigned n);

/** The median of what values are off from their median.
 * @param values  [n], are made deviations, and sorted. @return 0 if there are none */
double robust_deviation(double *values, unsigned n);

#endif

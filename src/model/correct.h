// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_CORRECT_H
#define MODEL_CORRECT_H

#include "model/predict.h"

/** No correction: all 1.0. */
void correction_init(struct correction *correction);

/**
 * Learn from an iteration: change the factors of each node so that the
 * prediction for the mapping in force comes nearer to what was measured. Each
 * factor goes `gain` of the way (in logarithms) to measured / predicted, and
 * stays within [1/8, 8], Tmem's below 8 times the sweeps counted. A term that
 * is below 1 % of the iteration on both sides is left alone. Where a node
 * paged and its lack was measured, the factor of M is set so that the lack
 * comes out, within [1/4, 2]; Tmem is learned from what a page of it cost.
 * Where no lack was measured (0), but paging was and none predicted, or the
 * other way round, or where the factor of Tmem is at its bound, the lack must
 * be wrong: then M is set so that the time comes out.
 *
 * Repeated for one mapping with the same measurement it converges: the
 * prediction's terms come to what was measured, as far as the bounds allow.
 *
 * @param view        as in the prediction
 * @param prediction  made with these corrections, for the mapping measured
 * @param measured    that iteration, or the mean of several
 * @param gain        0 to 1: 1 believes the measurement, 0.5 is usual
 * @param[in,out] corrections  [n_nodes]
 *
 * Context: any thread; pure.
 */
void correct(const struct cluster_view *view,
             const struct prediction *prediction,
             const struct measurement *measured, double gain,
             struct correction *corrections);

/**
 * How far a prediction was off: predicted / measured - 1 of the iteration time;
 * 0.1 is 10 % too long. 0 if nothing was measured.
 */
double prediction_error(const struct prediction *prediction,
                        const struct measurement *measured);

#endif

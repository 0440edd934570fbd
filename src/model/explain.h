// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_EXPLAIN_H
#define MODEL_EXPLAIN_H

#include "model/predict.h"

/*
 * Predictions in words, for --explain and `teamster plan`. As snprintf() these
 * return how long the whole text is, without the 0 at its end, and write what
 * fits: a call with size 0 asks for the length.
 */

/**
 * A table, one line a node, of all terms of a prediction, and the iteration
 * time below it. Times in milliseconds, memory in MiB, columns that are zero
 * everywhere left out.
 *
 * @param measured  adds the measured time of each node and the error; NULL
 *                  leaves them out
 *
 * Context: any thread; does not allocate.
 */
size_t explain_prediction(const struct cluster_view *view,
                          const struct prediction *prediction,
                          const struct measurement *measured, char *text,
                          size_t size);

/**
 * The change from one mapping to another: a table of each node's threads and
 * predicted terms before and after, then the iteration time before and after.
 *
 * Context: any thread; does not allocate.
 */
size_t explain_change(const struct cluster_view *view,
                      const struct prediction *before,
                      const struct prediction *after, char *text, size_t size);

/**
 * The moves from one mapping to another, by pair of nodes:
 * "n0 -> n2: threads 3-5 9".
 *
 * @param numbers  [n_threads] by which the program's threads are known; NULL: by
 *                 their places in the view
 * @param from     [n_threads]
 * @param to       [n_threads]
 * Context: any thread; allocates.
 */
size_t explain_moves(const struct cluster_view *view, const uint64_t *numbers,
                     const uint32_t *from, const uint32_t *to, char *text,
                     size_t size);

#endif

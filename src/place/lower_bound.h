// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_LOWER_BOUND_H
#define PLACE_LOWER_BOUND_H

#include "model/cost_model.h"

/**
 * A time that no mapping of the view can beat under the model: the largest of
 *
 *  - all computation over the power of all processors, where the memory that
 *    all nodes together lack is paid for where it costs least;
 *  - the longest thread where it runs fastest;
 *  - the smallest tau for which every node could take, of the threads that
 *    compute least and of those that bring fewest pages, so many that all K
 *    are taken.
 *
 * Communication counts 0. Pinned threads are treated as free ones.
 *
 *
 * Context: any thread; allocates; O(K log K + N log K).
 */
double lower_bound_iteration(const struct cluster_view *view,
                             const struct cost_model *model);

#endif

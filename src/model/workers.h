// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_WORKERS_H
#define MODEL_WORKERS_H

#include "base/status.h"

/**
 * Deal threads out to the workers of a node by list scheduling, longest first,
 * each to the worker with least so far (the lowest number among equals): at
 * most 4/3 of the best possible. With equal threads it is ceil(n / p) t.
 *
 * @param time_s      [n_threads], >= 0
 * @param n_workers   p, at least 1
 * @return seconds until the last worker is done
 *
 * Context: any thread; allocates. Deterministic.
 * Source: [Graham69].
 */
double workers_makespan(const double *time_s, uint32_t n_threads,
                        uint32_t n_workers);

#endif

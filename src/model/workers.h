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
 * @param[out] worker_of  [n_threads], < n_workers; NULL if not wanted
 * @param[out] makespan_s seconds until the last worker is done
 * @return TM_OK, TM_ENOMEM
 *
 * Context: any thread; allocates. Deterministic.
 * Source: [Graham69].
 */
TM_CHECKED tm_status workers_makespan(const double *time_s, uint32_t n_threads,
                                      uint32_t n_workers, uint32_t *worker_of,
                                      double *makespan_s);

#endif

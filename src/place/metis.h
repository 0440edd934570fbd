// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_METIS_H
#define PLACE_METIS_H

#include "place/clusters.h"

/**
 * Let METIS partition the affinity graph, in parts of about the sizes asked
 * for. METIS is loaded with dlopen() at the first call.
 *
 * @param seed   of METIS's random numbers
 * @param[out] node_of  [n_threads]; sizes may be off by a few threads
 * @return TM_OK
 * @return TM_EUNKNOWN  libmetis is not there; node_of is untouched
 * @return TM_ENOMEM    also if METIS gives up
 *
 * Context: any thread, one at a time in a process (METIS uses rand() and
 * catches signals; see docs/decisions/0010-metis.md). Allocates.
 */
TM_CHECKED tm_status metis_partition(const struct cluster_problem *problem,
                                     uint64_t seed, uint32_t *node_of);

/** Can METIS be used? Loads it. */
int metis_is_there(void);

#endif

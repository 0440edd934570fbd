// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_PLAN_CLUSTER_H
#define CLI_PLAN_CLUSTER_H

#include "hostfile.h"
#include "planner/scenario.h"

/** Of a question; a run has at most TM_MAX_NODES. */
#define PLAN_NODES_MOST 65536u

/**
 * Have a scenario's nodes be those of a hostfile.
 *
 * @param n_most      nodes that it may have
 * @param[out] hosts  what the file says, in the order of the nodes, to be released with
 *                    hosts_release(); set on success; NULL: is not wanted
 * @param[out] error  [size] one line, set on failure
 * @return TM_OK, TM_ECONFIG, TM_ENOMEM
 */
TM_CHECKED tm_status plan_cluster_use(const char *path, unsigned n_most,
                                      struct hosts *hosts,
                                      struct scenario *scenario, char *error,
                                      size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_HOSTS_H
#define PLANNER_HOSTS_H

#include "planner/scenario.h"

/** A node as a cluster description has it; 0 is what it does not say. */
struct plan_host {
    char name[VIEW_NAME_MAX];
    double speed;
    uint64_t memory_bytes;
    uint32_t n_processors;
};

/**
 * Ask about these nodes instead of those there are. A host with the name of a
 * node keeps what the description does not say; of several with one name the
 * first is the first. A new one must have speed and memory; it has one processor
 * if nothing is said, and of each cost the median of all nodes.
 *
 * Speeds are of the run's unit; if the run had none, the unit is such that the
 * nodes of the same names keep their power on the geometric mean.
 *
 * @param hosts  [n_hosts], at least one
 * @param[out] error  [size] one line, set on failure
 * @return TM_OK
 * @return TM_ECONFIG  something is missing, or a thread is pinned to a node that
 *                     is not there
 */
TM_CHECKED tm_status scenario_use_hosts(struct scenario *scenario,
                                        const struct plan_host *hosts,
                                        uint32_t n_hosts, char *error,
                                        size_t size);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PART_ROWS_H
#define RUNTIME_PART_ROWS_H

#include "runtime/parts.h"

/* The rows of all parts, each at the end of its file; for registry.c only. */

extern const struct part part_races;      ///< race_reports.c
extern const struct part part_deadlock;   ///< deadlock.c
extern const struct part part_numbers;    ///< stats.c
extern const struct part part_liveness;   ///< lifesigns.c
extern const struct part part_membership; ///< members.c
extern const struct part part_balancing;  ///< distribution.c
extern const struct part part_tracking;   ///< tracking.c
extern const struct part part_paging;     ///< paging.c
extern const struct part part_offers;     ///< cluster_capacity.c

#endif

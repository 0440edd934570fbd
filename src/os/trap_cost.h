// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_TRAP_COST_H
#define OS_TRAP_COST_H

#include <stdint.h>

#include "base/status.h"

/**
 * Measure what the kernel takes for a trap: from an access until its handler runs, and
 * for the return from it. Machines differ several times in that, virtual ones above all.
 *
 * @param[out] cost_ns  the least of some, at least 1
 * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged)
 *
 * Context: a process whose faults nobody handles yet: uses trap_install(), whose
 * handlers the next call of that replaces. Takes less than a millisecond.
 */
TM_CHECKED tm_status trap_cost_measure(uint64_t *cost_ns);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_WHAT_IF_H
#define PLANNER_WHAT_IF_H

#include "planner/scenario.h"

/**
 * Make one change:
 *
 *     NODE.memory=AMOUNT     64M; +32M, -32M, 2x: of what there is
 *     NODE.speed=AMOUNT      500, +100, -100 in the run's unit; 2x
 *     NODE.power=AMOUNT      of the reference, 1.0
 *     NODE.workers=AMOUNT
 *     add:NAME,speed=500,memory=64M[,workers=2][,power=1.2][,like=NODE]
 *     remove:NODE
 *     threads=N
 *
 * NODE is a name, "@3" for the fourth node, or "all".
 *
 * @param[out] error  [size] one line that begins with the change and ends with a
 *                    hint; set on failure
 * @return TM_OK
 * @return TM_EINVAL  it is no change, or not one of this cluster; unchanged
 */
TM_CHECKED tm_status scenario_change(struct scenario *scenario,
                                     const char *text, char *error,
                                     size_t size);

#endif

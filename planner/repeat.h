// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_REPEAT_H
#define PLANNER_REPEAT_H

#include "planner/plan.h"

/**
 * Where a policy's answer is another than the one that the run had. Times are
 * compared bit by bit: the arithmetic is the same.
 *
 * @param profile  with a decision
 * @param plan     of the profile, nothing changed
 * @param answer   of the plan, by the decision's policy
 * @param[out] text  [size]: a line for each difference, empty if there is none;
 *                   what does not fit is left out
 * @return the number of differences
 */
unsigned repeat_compare(const struct profile *profile, const struct plan *plan,
                        const struct answer *answer, char *text, size_t size);

#endif

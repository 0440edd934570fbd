// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_GUESS_SCRIPT_H
#define PLANNER_GUESS_SCRIPT_H

#include "place/profile.h"

/**
 * Give a profile without a script one that is made of its page groups: each group is a block
 * of its own, all iterations are alike, and have one barrier. What a program does in turn,
 * grid by grid, and which pages are neighbours, is lost.
 *
 * @param profile  released as one that was read
 * @return TM_OK
 * @return TM_ESTATE  nobody knows who uses what: it has no groups
 */
TM_CHECKED tm_status profile_guess_script(struct profile *profile);

#endif

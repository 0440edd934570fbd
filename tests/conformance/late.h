// SPDX-License-Identifier: BSD-3-Clause
#ifndef LATE_H
#define LATE_H

#include "world.h"

/** Play with the word of the atomic operations of two nodes with pagers, until
 * everything is over. */
void late_play(struct world *world);

#endif

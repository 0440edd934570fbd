// SPDX-License-Identifier: BSD-3-Clause
#ifndef PENDING_PLAY_H
#define PENDING_PLAY_H

#include "world.h"

/** Play with the word of the atomic operations of two nodes with pagers, until
 * everything is over. */
void pending_play(struct world *world);

#endif

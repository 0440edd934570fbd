// SPDX-License-Identifier: BSD-3-Clause
#ifndef DISK_H
#define DISK_H

#include "world.h"

/** Give a node a swap file and a pager, with 2 to 25 pages of memory.
 * @param answers  the disk answers some time later; else when it is asked to: pending_play.c */
void disk_open(struct world *world, unsigned node, int answers);

/** Nothing else happens any more, but something may wait for a disk still.
 * @return whether something did */
int disk_answers_last(struct world *world);

#endif

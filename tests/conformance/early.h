// SPDX-License-Identifier: BSD-3-Clause
#ifndef EARLY_H
#define EARLY_H

#include "world.h"

/** A step of the network is over: now and then a node fetches ahead what there is. */
void early_fetch(struct world *world);

/** Two nodes ask for small blocks at once. */
void early_allocate_two(struct world *world);

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLOSING_H
#define CLOSING_H

#include "world.h"

/** Who is going to free the block writes to it once more. */
void closing_begin(struct world *world, node_id node);

/** A step of the network is over: the block is being freed, and a release begins. */
void closing_release(struct world *world);

/** B1 of blocks.c: what comes names pages that are in blocks. */
void closing_check(const struct world *world, node_id node,
                   const struct message *message);

#endif

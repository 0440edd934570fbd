// SPDX-License-Identifier: BSD-3-Clause
#ifndef DEATH_H
#define DEATH_H

#include <setjmp.h>

#include "world.h"

/*
 * A node that dies at its Nth message; death.c says what must hold then.
 */

/** Run a world again and again; in the first a node dies at the first message that comes
 * to it, in the next `step` messages later, and so on to the last. */
void death_at_each_message(uint64_t (*run)(tm_protocol protocol),
                           tm_protocol protocol, unsigned step);

/** Nodes begin to look after each other. */
void death_open(struct world *world);

/** A message comes. @return 1 if nobody takes it, or only death.c does */
int death_takes(struct world *world, node_id at, node_id from,
                const struct message *message);

/** Is this node dead, or has it ended because another one is? */
int death_is_gone(const struct world *world, node_id node);

/** If a node is dead, and all others have ended, go on at `death_exit`. */
void death_end_if_over(const struct world *world);
extern jmp_buf death_exit;

#endif

// SPDX-License-Identifier: BSD-3-Clause
#ifndef DEATH_H
#define DEATH_H

#include <setjmp.h>

#include "world.h"

/*
 * A node that dies at its Nth message; death.c says what must hold then.
 */

/** Run a world again and again: first nobody dies, then a node at the first message that
 * comes to it, then `step` messages later, and so on to the last. */
void death_at_each_message(uint64_t (*run)(tm_protocol protocol),
                           tm_protocol protocol, unsigned step);

/** Need nobody look at the records again: are they as in the run in which nobody dies, or
 * has no message come since this was asked last? */
int death_leaves_unchanged(const struct world *world);

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

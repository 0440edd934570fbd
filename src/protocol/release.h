// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_RELEASE_H
#define PROTOCOL_RELEASE_H

#include "pages/engine.h"

/** Push what this node has written; wakes the waiter when every copy has it (at
 * once if there is nothing to do).
 * @param next  the node that hears of this release first, by a message that the
 *              waiter's wake() sends: its copies may still lack updates that are
 *              on the way to it, ahead of that message. NODE_NONE: nobody */
void engine_release(struct engine *engine, node_id next, struct waiter *waiter);

#endif

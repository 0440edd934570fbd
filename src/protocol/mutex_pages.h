// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_MUTEX_PAGES_H
#define PROTOCOL_MUTEX_PAGES_H

#include "protocol/updates.h"

/*
 * Pages that migrate (migration.c) go along with the token of the mutex that guards them
 * (guards.h). Slots of update_rules; under the node lock.
 */

/** token_goes */
void mutex_pages_send(struct engine *engine, node_id to, uint64_t mutex);

/** came_along */
tm_status mutex_pages_receive(struct engine *engine, node_id from,
                              const struct message *message);

#endif
